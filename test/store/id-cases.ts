// Cases of the store of ids and names, over the tables of all modules.
import { expect } from "bun:test";
import { NAMED_KINDS, TOP } from "../../src/inventory/index.ts";
import { makeApproval, makeRecord } from "../support/runs.ts";
import { create as createLinks } from "./approval-link-cases.ts";
import type { Case, Stores } from "./cases.ts";
import { create as createConnection } from "./connection-cases.ts";
import { makeKey } from "./inventory-cases.ts";
import { claimRuns, start } from "./run-acts.ts";
import { fill as fillTriggers } from "./trigger-acts.ts";
import { addEndpoint, deliver } from "./webhook-acts.ts";

const NOW = Date.UTC(2026, 10, 20);

const IDS = [1, 2, 3].map((n) => `0198a6f2-0000-7000-8000-0000000abc0${n}`);

const addKeys = async ({ keys }: Stores) => {
  for (const id of IDS) {
    const secret = {
      ...{ hash: `hash of ${id}`, key_id: id, created_at: NOW, expires_at: null },
      ends_in: null,
    };
    await keys.create(makeKey(id), secret);
  }
};
const END = { part: "0abc02", before: TOP, limit: 100 };
const KINDS = ["agent", "run", "approval", "connection", "trigger", "endpoint", "session"] as const;

const idCases: Case[] = [
  {
    method: "ids.findByBegin",
    title: "finds by the first characters, the newest first, up to a limit",
    setup: addKeys,
    act: ({ ids }) => ids.findByBegin("key", "0198a6f2-00", 2),
    async check(answer, { ids }) {
      expect(answer).toEqual([IDS[2], IDS[1]]);
      expect(await ids.findByBegin("key", IDS[0]!.slice(0, 35), 9)).toEqual(IDS.toReversed());
      expect(await ids.findByBegin("key", "-7000-8", 9)).toEqual([]);
      for (const kind of KINDS) expect(await ids.findByBegin(kind, "0198a6f2", 9)).toEqual([]);
    },
  },
  {
    method: "ids.searchByEnd",
    title: "finds by the last characters, and by none before them",
    setup: addKeys,
    act: ({ ids }) => ids.searchByEnd("key", END),
    async check(answer, { ids }) {
      expect(answer).toEqual({ found: [IDS[1]], lastId: null });
      for (const part of ["-7000-8", "0198a6f2"]) {
        const none = { found: [], lastId: null };
        expect(await ids.searchByEnd("key", { ...END, part })).toEqual(none);
      }
    },
  },
  {
    method: "ids.searchByEnd",
    title: "goes on behind the last id that it has searched",
    setup: addKeys,
    act: ({ ids }) => ids.searchByEnd("key", { ...END, limit: 2 }),
    async check(answer, { ids }) {
      expect(answer).toEqual({ found: [IDS[1]!], lastId: IDS[1]! });
      const rest = await ids.searchByEnd("key", { part: "0abc01", before: IDS[1]!, limit: 2 });
      expect(rest).toEqual({ found: [IDS[0]!], lastId: null });
    },
  },
  {
    method: "ids.searchByEnd",
    title: "searches every kind of object",
    act: ({ ids }) =>
      Promise.all([...KINDS, "delivery" as const].map((kind) => ids.searchByEnd(kind, END))),
    check: (answer) => expect(answer).toEqual(Array(8).fill({ found: [], lastId: null })),
  },
];

/** The first of each kind: its id, and its name where it has one. */
const FIRST = {
  agent: ["g-1", "Agent g-1"],
  run: ["r-1", null],
  approval: ["p-1", "pay"],
  trigger: ["t-1", 'Of t-1 "ä"'],
  endpoint: ["w-1", "https://w-1.example.com/hooks"],
  connection: ["c-1"],
  session: ["l-1"],
} as const;
const addFirst = async (stores: Stores) => {
  await fillTriggers(stores);
  await start(stores, "r-1");
  await claimRuns(stores);
  const request = { approval: makeApproval("p-1", "r-1"), event_id: "event of p-1" };
  await stores.runs.plan(makeRecord("r-1"), [request]);
  await addEndpoint(stores, "w-1");
  await deliver(stores, 1);
  await createConnection(stores, "c-1");
  await createLinks(stores);
};

const kindCases: Case[] = [
  {
    method: "ids.findByBegin",
    title: "finds each kind among its own",
    setup: addFirst,
    act: ({ ids }) => Promise.all(KINDS.map((kind) => ids.findByBegin(kind, FIRST[kind][0], 9))),
    async check(answer, { ids, sent }) {
      expect(answer).toEqual(KINDS.map((kind) => [FIRST[kind][0]]));
      const { id } = (await sent.deliveries())[0]!;
      expect(await ids.findByBegin("delivery", id, 9)).toEqual([id]);
    },
  },
  {
    method: "ids.searchNames",
    title: "names an object of each kind and its owner",
    setup: addFirst,
    act: ({ ids }) => Promise.all(NAMED.map((kind) => ids.searchNames(kind, byId(FIRST[kind][0])))),
    check: (answer) =>
      expect(answer).toEqual(
        NAMED.map((kind) => [{ id: FIRST[kind][0], name: FIRST[kind][1], account_id: "a-1" }]),
      ),
  },
];
const NAMED = ["agent", "run", "approval", "trigger", "endpoint"] as const;
const byId = (text: string) => ({ text, isIdPart: true, searched: 100, limit: 9 });

const byName = { text: "ab_", isIdPart: false, searched: 100, limit: 9 };

const nameCases: Case[] = [
  {
    method: "ids.searchNames",
    title: "finds by a part of the name in any case, whose signs mean themselves",
    async setup({ accounts }) {
      for (const [id, name] of ["Ab_c", "abxc", "drab_", "none", "oh!"].entries()) {
        await accounts.create({ id: `a-${id}`, name, created_at: NOW });
      }
    },
    act: ({ ids }) => ids.searchNames("account", byName),
    async check(answer, { ids }) {
      expect(answer).toEqual([
        { id: "a-2", name: "drab_", account_id: null },
        { id: "a-0", name: "Ab_c", account_id: null },
      ]);
      const first = await ids.searchNames("account", { ...byName, limit: 1 });
      expect(first.map(({ id }) => id)).toEqual(["a-2"]);
      expect(await ids.searchNames("account", { ...byName, searched: 1 })).toEqual([]);
      const marked = await ids.searchNames("account", { ...byName, text: "h!" });
      expect(marked.map(({ id }) => id)).toEqual(["a-4"]);
    },
  },
  {
    method: "ids.searchNames",
    title: "finds by the first or last characters of an id",
    setup: addKeys,
    act: ({ ids }) => ids.searchNames("key", { ...byName, text: "0abc02", isIdPart: true }),
    async check(answer, { ids }) {
      expect(answer).toEqual([{ id: IDS[1]!, name: null, account_id: null }]);
      const begin = { ...byName, text: "0198a6f2", isIdPart: true };
      expect(await ids.searchNames("key", begin)).toHaveLength(3);
      expect(await ids.searchNames("key", { ...begin, isIdPart: false })).toEqual([]);
    },
  },
  {
    method: "ids.searchNames",
    title: "searches every kind of object",
    act: ({ ids }) => Promise.all(NAMED_KINDS.map((kind) => ids.searchNames(kind, byName))),
    check: (answer) => expect(answer).toEqual(NAMED_KINDS.map(() => [])),
  },
];

export const inventoryIdCases: Case[] = [...idCases, ...nameCases, ...kindCases];
