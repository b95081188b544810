// Cases of the store of secrets.
import { expect } from "bun:test";
import type { SealedSecret } from "../../src/crypto/store.ts";
import { failureOf } from "../support/database.ts";
import type { Case, Stores } from "./cases.ts";

const NOW = Date.UTC(2026, 10, 20);

const secret = (row_id: string, fields: Partial<SealedSecret> = {}): SealedSecret => ({
  kind: "connection",
  row_id,
  account_id: "a-1",
  sealed: `sealed of ${row_id}`,
  key_id: "old",
  set_at: NOW,
  ...fields,
});
const fill = async ({ secrets, keeper }: Stores) => {
  await secrets.claim("old");
  for (const row_id of ["b", "a", "é", "C"]) await keeper.put(secret(row_id));
  await keeper.put(secret("a", { kind: "webhook" }));
};
const placesOf = (rows: readonly SealedSecret[]) =>
  rows.map(({ kind, row_id }) => `${kind} ${row_id}`);
const listAll = ({ secrets }: Stores, key_id = "none") => secrets.listOthers(key_id, null, 100);

const other = secret("nobody's", { kind: "trigger", sealed: "decoy", set_at: 0 });

export const secretCases: readonly Case[] = [
  {
    method: "secrets.find",
    title: "finds the latest secret by kind and row",
    async setup({ secrets, keeper }) {
      await secrets.claim("old");
      await keeper.put(secret("a"));
      await keeper.put(secret("a", { sealed: "again", set_at: NOW + 9 }));
    },
    act: ({ secrets }) => secrets.find("connection", "a"),
    async check(answer, { secrets }) {
      expect(answer).toEqual(secret("a", { sealed: "again", set_at: NOW + 9 }));
      expect(await secrets.find("webhook", "a")).toBeUndefined();
      expect(await secrets.find("connection", "b")).toBeUndefined();
    },
  },
  {
    method: "secrets.find",
    title: "does not find a dropped secret, and finds all others",
    async setup(stores) {
      await fill(stores);
      await stores.keeper.drop("connection", "a");
    },
    act: ({ secrets }) => secrets.find("connection", "a"),
    async check(answer, { secrets }) {
      expect(answer).toBeUndefined();
      expect(await secrets.find("webhook", "a")).toEqual(secret("a", { kind: "webhook" }));
    },
  },
  {
    method: "secrets.findOr",
    title: "finds the stored secret, or the given fallback",
    setup: fill,
    act: ({ secrets }) =>
      Promise.all(["a", "nowhere"].map((id) => secrets.findOr("connection", id, other))),
    async check(answer, { secrets }) {
      expect(answer).toEqual([(await secrets.find("connection", "a"))!, other]);
    },
  },
  {
    method: "secrets.findKey",
    title: "returns nothing before the first key",
    act: ({ secrets }) => secrets.findKey(),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "secrets.claim",
    title: "keeps the first key",
    act: ({ secrets }) => secrets.claim("old"),
    async check(answer, { secrets }) {
      expect(answer).toBe("old");
      expect(await secrets.claim("new")).toBe("old");
      expect(await secrets.findKey()).toBe("old");
    },
  },
  {
    method: "secrets.turn",
    title: "replaces the key if the current one is given, and keeps nothing of the old one",
    setup: fill,
    act: ({ secrets }) => secrets.turn("old", "new"),
    async check(answer, stores) {
      const { secrets, keeper } = stores;
      expect(answer).toBe(true);
      expect(await secrets.turn("old", "newer")).toBe(false);
      expect(await secrets.findKey()).toBe("new");
      const before = await listAll(stores);
      for (const [kind, code] of [
        ["connection", "connections_unavailable"],
        ["trigger", "triggers_unavailable"],
        ["webhook", "webhooks_unavailable"],
      ] as const) {
        expect(await failureOf(keeper.put(secret("a", { kind })))).toMatchObject({ code });
      }
      expect(await listAll(stores)).toEqual(before);
      await keeper.put(secret("a", { key_id: "new" }));
    },
  },
  {
    method: "secrets.turn",
    title: "creates no key if none was claimed",
    act: ({ secrets }) => secrets.turn("old", "new"),
    async check(answer, { secrets, keeper }) {
      expect(answer).toBe(false);
      expect(await secrets.findKey()).toBeUndefined();
      expect(await failureOf(keeper.put(secret("a", { key_id: "new" })))).toBeInstanceOf(Error);
    },
  },
  {
    method: "secrets.listOthers",
    title: "lists secrets of other keys in pages",
    setup: fill,
    act: ({ secrets }) => secrets.listOthers("new", null, 2),
    async check(answer, stores) {
      const { listOthers } = stores.secrets;
      const pages = [answer as SealedSecret[]];
      while (pages.at(-1)!.length > 0) {
        pages.push(await listOthers("new", pages.at(-1)!.at(-1)!, 2));
      }
      expect(pages.map(({ length }) => length)).toEqual([2, 2, 1, 0]);
      const all = ["C", "a", "b", "é"].map((row_id) => `connection ${row_id}`);
      expect(placesOf(pages.flat())).toEqual([...all, "webhook a"]);
      expect(await listOthers("old", null, 100)).toEqual([]);
    },
  },
  {
    method: "secrets.reseal",
    title: "reseals secrets that are unchanged since their read, and counts those of other keys",
    async setup(stores) {
      await fill(stores);
      await stores.secrets.turn("old", "new");
      await stores.keeper.put(secret("b", { sealed: "fresh", key_id: "new" }));
      await stores.keeper.drop("connection", "C");
    },
    act: ({ secrets }) =>
      secrets.reseal("new", [
        { old: secret("a"), sealed: "again" },
        { old: secret("b"), sealed: "again" },
        { old: secret("C"), sealed: "again" },
        { old: secret("é"), sealed: null },
      ]),
    async check(answer, stores) {
      expect(answer).toEqual({ resealed: 1, dropped: 1, left: 1 });
      const others = [{ old: secret("a", { kind: "webhook" }), sealed: "of another" }];
      expect(await stores.secrets.reseal("other", others)).toBeNull();
      expect(await listAll(stores)).toEqual([
        secret("a", { sealed: "again", key_id: "new" }),
        secret("b", { sealed: "fresh", key_id: "new" }),
        secret("a", { kind: "webhook" }),
      ]);
    },
  },
];
