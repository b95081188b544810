// Cases of the counters of stored bytes, and of limits on them.
import { expect } from "bun:test";
import { FREE, makeApproval, makeMessage, makeRecord, makeStep } from "../support/runs.ts";
import { makeFan } from "../support/webhooks.ts";
import { AMPLE, create, makeVersionPlan } from "./agent-cases.ts";
import type { Case, Stores } from "./cases.ts";
import { claimRuns, codeOf, count, end, start } from "./run-acts.ts";
import { makeRevision } from "./tool-cases.ts";
import { addEndpoint, fillOne, LATER, recordEvent } from "./webhook-acts.ts";
import { settleNext } from "./webhook-sending-acts.ts";

const HOST = "api.example.com";
const LONG = "ä".repeat(2_000);
const KEPT = 768;

/** Starts and ends a run with steps, a result, messages and an approval. */
const runOnce = async (stores: Stores, id: string) => {
  await start(stores, id, { input: { message: LONG } });
  await claimRuns(stores);
  const approval = makeApproval(`approval of ${id}`, id);
  await stores.runs.plan(
    makeRecord(id, {
      steps: [makeStep(`plan of ${id}`, LONG)],
      messages: [makeMessage(`reply of ${id}`, { content: LONG })],
      outputs: [{ tool_call_id: "call-1", content: LONG }],
    }),
    [{ approval, event_id: `request of ${id}` }],
  );
  await end(stores, id);
};

const countingCases: Case[] = [
  {
    method: "storage.find",
    title: "returns nothing for a new account",
    act: ({ storage }) => storage.find("a-1"),
    check: (answer) => expect(answer).toBe(0),
  },
  {
    method: "storage.find",
    title: "counts every row of ended runs, and nothing of another account",
    async setup(stores) {
      await runOnce(stores, "r-1");
      await runOnce(stores, "r-2");
      await start(stores, "r-3", { account_id: "a-2" });
      await stores.runs.cancel("r-3", null, ["event of r-3"], LATER);
      // A thread that is there already is counted once.
      const thread_id = "thread of r-1";
      await start(stores, "r-4", { thread_id }, { thread_id });
      await stores.runs.cancel("r-4", null, ["event of r-4"], LATER);
    },
    act: ({ storage }) => Promise.all([storage.find("a-1"), storage.find("a-2")]),
    check: async (answer, { rows }) =>
      expect(answer).toEqual([await rows.add("a-1"), await rows.add("a-2")]),
  },
  {
    method: "storage.find",
    title: "subtracts swept rows: a run's thread stays counted, its events do not",
    setup: (stores) => runOnce(stores, "r-1"),
    async act({ runs, outbox, storage }) {
      const before = await storage.find("a-1");
      await runs.sweep("", LATER, 100);
      await outbox.sweep(LATER, 100);
      return { before, after: await storage.find("a-1") };
    },
    async check(answer, { rows }) {
      const { before, after } = answer as { before: number; after: number };
      expect(await rows.add("a-1")).toBe(after);
      // Its message and the reply, two thousand letters of two bytes each.
      expect(after).toBe(256 + 2 * (256 + 4_000));
      expect(before).toBeGreaterThan(after + 3 * 4_000);
    },
  },
  {
    method: "storage.find",
    title: "counts a continuing run a mebibyte at a time, and a waiting run at once",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
    },
    async act({ runs, storage }) {
      const seen: number[] = [];
      for (const n of count(3)) {
        const content = "x".repeat(450_000);
        await runs.settle(makeRecord("r-1", { outputs: [{ tool_call_id: `c-${n}`, content }] }));
        seen.push(await storage.find("a-1"));
      }
      const approval = makeApproval("p-1", "r-1");
      await runs.plan(makeRecord("r-1"), [{ approval, event_id: "e-1" }]);
      await runs.wait("r-1", 1, 5);
      return seen;
    },
    async check(answer, { rows, storage }) {
      const [first, second, third] = answer as [number, number, number];
      expect(second).toBe(first);
      expect(third).toBeGreaterThan(first + 3 * 450_000);
      expect(await storage.find("a-1")).toBe(await rows.add("a-1"));
    },
  },
  {
    method: "storage.find",
    title: "counts the current notes",
    async setup({ noted }) {
      const set = (key: string, content: string) =>
        noted.apply("g-1", { set: { key, content } }, false, 0);
      await set("a", LONG);
      await set("a", "short");
      await set("b", LONG);
      await noted.apply("g-1", { delete: { key: "b" } }, false, 0);
      await noted.apply("g-1", { delete: { key: "c" } }, false, 0);
    },
    act: ({ storage }) => storage.find("a-1"),
    check: (answer) => expect(answer).toBe(256 + 5),
  },
  {
    method: "storage.find",
    title: "counts deliveries and attempts until a sweep or the deletion of their endpoint",
    async setup(stores) {
      await fillOne(stores);
      // Beyond the limit a delivery is stored as failed.
      await recordEvent(stores, "e-6");
      await stores.webhooks.fanOut("a-1", makeFan(2, { waitingMax: 5 }));
      await addEndpoint(stores, "w-2");
    },
    async act(stores) {
      const { storage, webhooks, rows } = stores;
      const seen: number[] = [];
      const see = async () => seen.push((await storage.find("a-1")) - (await rows.add("a-1")));
      await see();
      await settleNext(stores, "delivered");
      await see();
      await webhooks.sweep(LATER * 2, 1);
      await see();
      await webhooks.remove("w-1", "a-1");
      await see();
      await webhooks.sweepGone(100);
      await see();
      return seen;
    },
    check(answer) {
      const [made, tried, swept, removed, gone] = answer as number[];
      expect(made).toBe(6 * KEPT);
      expect(tried).toBe(made! + 256 + "https://w-1.example.com/hooks".length);
      expect(swept).toBe(5 * KEPT);
      expect([removed, gone]).toEqual([0, 0]);
    },
  },
  {
    method: "storage.find",
    title: "follows an agent's texts as they grow and shrink",
    setup: (stores) => create(stores, "g-1"),
    async act({ agents, storage }) {
      const seen: number[] = [];
      for (const description of ["x", `x${LONG}`, "y"]) {
        await agents.update("g-1", "a-1", { description }, LATER, 9);
        seen.push(await storage.find("a-1"));
      }
      return seen;
    },
    check(answer) {
      const [short, long, shortAgain] = answer as number[];
      expect([long! - short!, shortAgain]).toEqual([4_000, short]);
    },
  },
  {
    method: "storage.list",
    title: "lists every account with stored bytes",
    async setup(stores) {
      await create(stores, "g-1");
      await create(stores, "g-2", { account_id: "a-2" });
    },
    act: ({ storage }) => storage.list(),
    check: async (answer, { storage }) =>
      expect(answer).toEqual([
        { account_id: "a-1", bytes: await storage.find("a-1") },
        { account_id: "a-2", bytes: await storage.find("a-2") },
      ]),
  },
];

const definitionCases: Case[] = [
  {
    method: "agents.create",
    title: "creates concurrent agents only up to the account's limit",
    setup: (stores) => create(stores, "theirs", { account_id: "a-2" }),
    act: (stores) =>
      Promise.all(
        count(8).map((n) => codeOf(create(stores, `g-${n}`, {}, false, { ...AMPLE, agents: 3 }))),
      ),
    async check(answer, { agents }) {
      const codes = answer as string[];
      expect(codes.filter((code) => code === "accepted")).toHaveLength(3);
      expect(codes.filter((code) => code === "agent_limit_reached")).toHaveLength(5);
      expect(await agents.list("a-1")).toHaveLength(3);
    },
  },
  {
    method: "agents.update",
    title: "frees a slot for an archived agent, and restores it only within the limit",
    setup: (stores) => create(stores, "g-1"),
    async act(stores) {
      const { agents } = stores;
      const turn = (id: string, status: "active" | "archived") =>
        codeOf(agents.update(id, "a-1", { status }, LATER, 1));
      const add = () => codeOf(create(stores, "g-2", {}, false, { ...AMPLE, agents: 1 }));
      return [
        await add(),
        await turn("g-1", "archived"),
        await add(),
        await turn("g-1", "active"),
        await turn("g-2", "archived"),
        await turn("g-1", "active"),
        // The row already counts.
        await turn("g-1", "active"),
      ];
    },
    check: (answer) =>
      expect(answer).toEqual([
        ...["agent_limit_reached", "accepted", "accepted", "agent_limit_reached"],
        ...["accepted", "accepted", "accepted"],
      ]),
  },
  {
    method: "agents.addVersion",
    title: "creates concurrent versions only up to the agent's limit",
    setup: (stores) => create(stores, "g-1"),
    act: ({ agents }) =>
      Promise.all(
        count(6).map(() =>
          codeOf(agents.addVersion(makeVersionPlan({ limits: { ...AMPLE, versions: 3 } }))),
        ),
      ),
    async check(answer, { agents }) {
      const codes = (answer as string[]).toSorted();
      expect(codes).toEqual([
        ...["accepted", "accepted"],
        ...Array.from({ length: 4 }, () => "version_limit_reached"),
      ]);
      expect(await agents.listVersions("g-1", 10, null)).toHaveLength(3);
    },
  },
];

/** A budget with this many bytes left. */
const left = async ({ storage }: Stores, bytes: number) => (await storage.find("a-1")) + bytes;

const budgetCases: Case[] = [
  {
    method: "agents.create",
    title: "refuses an agent above the account's budget, and stores nothing of it",
    setup: (stores) => create(stores, "g-1"),
    async act(stores) {
      const stored_bytes = await left(stores, 300);
      const limits = { ...AMPLE, stored_bytes };
      return [
        await codeOf(create(stores, "g-2", {}, false, limits)),
        await codeOf(stores.agents.addVersion(makeVersionPlan({ limits }))),
        await codeOf(create(stores, "g-3", { account_id: "a-2" }, false, limits)),
        (await left(stores, 300)) - stored_bytes,
      ];
    },
    check: async (answer, { agents }) => {
      expect(answer).toEqual(["storage_limit_reached", "storage_limit_reached", "accepted", 0]);
      expect(await agents.find("g-2", "a-1")).toBeUndefined();
      expect((await agents.find("g-1", "a-1"))!.agent.current_version).toBe(1);
    },
  },
  {
    method: "agents.addVersion",
    title: "creates concurrent versions only up to the account's budget",
    setup: (stores) => create(stores, "g-1"),
    async act(stores) {
      const before = await stores.storage.find("a-1");
      await stores.agents.addVersion(makeVersionPlan());
      const each = (await stores.storage.find("a-1")) - before;
      const stored_bytes = await left(stores, 3 * each);
      const made = await Promise.all(
        count(9).map(() =>
          codeOf(stores.agents.addVersion(makeVersionPlan({ limits: { ...AMPLE, stored_bytes } }))),
        ),
      );
      return [made.filter((code) => code === "accepted").length, await left(stores, -stored_bytes)];
    },
    check: (answer) => expect(answer).toEqual([3, 0]),
  },
  {
    method: "tools.register",
    title: "refuses tools and revisions above the account's budget",
    setup: ({ tools }) =>
      tools.register(makeRevision("one"), HOST, { tools: 9, stored_bytes: 1e9 }),
    async act(stores) {
      const stored_bytes = await left(stores, 300);
      const { tools } = stores;
      return [
        await codeOf(tools.register(makeRevision("two"), HOST, { tools: 9, stored_bytes })),
        await codeOf(tools.revise(makeRevision("one"), HOST, stored_bytes)),
        await codeOf(tools.revise(makeRevision("one"), HOST, stored_bytes + 10_000)),
      ];
    },
    check: (answer) =>
      expect(answer).toEqual(["storage_limit_reached", "storage_limit_reached", "accepted"]),
  },
  {
    method: "runs.start",
    title: "refuses a run above the account's budget; active runs continue and are counted",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
    },
    async act(stores) {
      await end(stores, "r-1");
      const stored_bytes = await left(stores, 4_000);
      const ask = (id: string, message: string) =>
        codeOf(start(stores, id, { input: { message } }, { limits: { ...FREE, stored_bytes } }));
      const first = await ask("r-2", LONG);
      const others = await Promise.all(count(6).map((n) => ask(`of ${n}`, "Hi.")));
      return [first, others.filter((code) => code === "accepted").length];
    },
    check: (answer) => expect(answer).toEqual(["storage_limit_reached", 2]),
  },
  {
    method: "runs.start",
    title: "refuses the first run of an account whose definitions have used up its budget",
    setup: (stores) => create(stores, "g-1"),
    act: (stores) => codeOf(start(stores, "r-1", {}, { limits: { ...FREE, stored_bytes: 1_600 } })),
    check: (answer) => expect(answer).toBe("storage_limit_reached"),
  },
  {
    method: "webhooks.test",
    title: "refuses a test above the account's budget",
    setup: fillOne,
    async act(stores) {
      const { webhooks } = stores;
      const storedMax = await left(stores, 300);
      const request = { webhookId: "w-1", accountId: "a-1", now: LATER, waitingMax: 99 };
      const fresh = { eventId: "e-test", deliveryId: "d-test", storedMax };
      return codeOf(webhooks.test(request, fresh));
    },
    check: (answer) => expect(answer).toBe("storage_limit_reached"),
  },
];

export const storageCases: readonly Case[] = [...countingCases, ...definitionCases, ...budgetCases];
