// Cases of cancels and pages in the store of runs.
import { expect } from "bun:test";
import type { RunFilter } from "../../src/agents/runs/store/reads.ts";
import { BEGIN, makeApproval, makeRecord, makeRun } from "../support/runs.ts";
import type { Case } from "./cases.ts";
import { claimRuns, EVERY, end, start, startMany } from "./run-acts.ts";

const cancelCases: Case[] = [
  {
    method: "runs.cancel",
    title: "ends a queued run at once, and counts it as inactive",
    setup: (stores) => start(stores, "r-1"),
    act: ({ runs }) => runs.cancel("r-1", "a-1", ["i-1", "i-2", "i-3"], BEGIN + 7),
    async check(answer, { runs, ran, outbox }) {
      const cancelled = {
        ...{ status: "cancelled", finished_at: BEGIN + 7, started_at: null },
        ...{ error: { code: "cancelled" }, last_seq: 0 },
      };
      expect(answer).toMatchObject(cancelled);
      expect(await runs.find("r-1", "a-1")).toMatchObject(cancelled);
      expect(await ran.counts()).toMatchObject([{ started: 1, active: 0 }]);
      expect(await ran.days()).toMatchObject([{ runs: 1, cancelled: 1, cost_sar: 0 }]);
      expect(await runs.listWaiting()).toEqual([]);
      expect(await outbox.list("a-1")).toMatchObject([{ type: "run.failed" }]);
    },
  },
  {
    method: "runs.cancel",
    title: "requests the cancel of a running run once, with a step",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
    },
    act: ({ runs }) => runs.cancel("r-1", "a-1", ["i-1"], BEGIN + 7),
    async check(answer, { runs, ran }) {
      expect(answer).toMatchObject({ status: "running", cancel_requested: true, last_seq: 1 });
      expect(await runs.listSteps("r-1", 0, null)).toMatchObject([
        { id: "i-1", seq: 1, kind: "system", data: { event: "cancel_requested" } },
      ]);
      expect(await runs.listCancelled(1)).toEqual(["r-1"]);
      await runs.cancel("r-1", "a-1", ["i-2"], BEGIN + 8);
      expect(await runs.listSteps("r-1", 0, null)).toHaveLength(1);
      expect(await ran.counts()).toMatchObject([{ active: 1 }]);
    },
  },
  {
    method: "runs.cancel",
    title: "ends a waiting run, and closes its approvals",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
      const requests = ["p-1", "p-2"].map((id) => {
        return { approval: makeApproval(id, "r-1"), event_id: `requested ${id}` };
      });
      await stores.runs.plan(makeRecord("r-1"), requests);
      await stores.runs.wait("r-1", 1, 9);
    },
    act: ({ runs }) => runs.cancel("r-1", null, ["i-1", "i-2", "i-3", "i-4", "i-5"], BEGIN + 70),
    async check(answer, { runs, ran, outbox }) {
      expect(answer).toMatchObject({ status: "cancelled", pending_approvals: [], last_seq: 2 });
      const closed = (seq: number, id: string) => {
        const data = { event: "closed", approval: { id, status: "closed" } };
        return { seq, kind: "approval", data, status: "waiting_approval" };
      };
      expect(await runs.listSteps("r-1", 0, null)).toMatchObject([
        ...[closed(1, "p-1"), closed(2, "p-2")],
      ]);
      const approval = { status: "closed", decided_at: BEGIN + 70 };
      expect(await ran.approvals()).toMatchObject([approval, approval]);
      expect(await ran.counts()).toMatchObject([{ started: 1, active: 0 }]);
      const types: string[] = (await outbox.list("a-1")).map(({ type }) => type);
      expect(types.toSorted()).toEqual([
        ...["approval.decided", "approval.decided"],
        ...["approval.requested", "approval.requested", "run.failed"],
      ]);
    },
  },
  {
    method: "runs.cancel",
    title: "leaves an ended run unchanged, and does not find another account's",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
      await end(stores, "r-1");
      await start(stores, "r-2", { account_id: "a-2" });
    },
    act: async ({ runs }) => [
      await runs.cancel("r-1", "a-1", ["i-1"], BEGIN + 99),
      await runs.cancel("r-2", "a-1", ["i-2"], BEGIN + 99),
      await runs.cancel("r-3", null, ["i-3"], BEGIN + 99),
    ],
    async check(answer, { ran }) {
      const [final, ...others] = answer as unknown[];
      expect(final).toMatchObject({ status: "succeeded", finished_at: BEGIN + 10 });
      expect(others).toEqual([undefined, undefined]);
      expect(await ran.days()).toMatchObject([{ runs: 1, succeeded: 1, cancelled: 0 }]);
    },
  },
];

const readCases: Case[] = [
  {
    method: "runs.find",
    title: "finds a run of one account or of any",
    setup: (stores) => start(stores, "r-1"),
    act: async ({ runs }) => [
      await runs.find("r-1", "a-1"),
      await runs.find("r-1", null),
      await runs.find("r-1", "a-2"),
      await runs.find("r-2", null),
    ],
    check(answer) {
      const run = makeRun("r-1", { number: 1, message_seq: 1 });
      expect(answer).toEqual([run, run, undefined, undefined]);
    },
  },
  {
    method: "runs.listFailures",
    title: "lists failures of one account since a time, the newest run first",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2", "r-3"]);
      await claimRuns(stores);
      for (const id of ["r-1", "r-2"]) await end(stores, id, "failed");
      await end(stores, "r-3");
    },
    act: ({ runs }) => runs.listFailures("a-1", BEGIN, 9),
    async check(answer, { runs }) {
      const error = { code: "failed", message: "It ended." };
      const failure = { error, finished_at: BEGIN + 10 };
      expect(answer).toEqual([failure, failure]);
      expect(await runs.listFailures("a-1", BEGIN, 1)).toHaveLength(1);
      expect(await runs.listFailures("a-1", BEGIN + 10, 9)).toHaveLength(2);
      expect(await runs.listFailures("a-1", BEGIN + 11, 9)).toEqual([]);
      expect(await runs.listFailures("a-2", BEGIN, 9)).toEqual([]);
    },
  },
  {
    method: "runs.countStarted",
    title: "counts runs of a range of ids by every group, and only those of a filter",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2", "r-3"]);
      await start(stores, "r-4", { account_id: "a-2", agent_id: "g-2" });
      await claimRuns(stores);
      await end(stores, "r-1", "failed");
    },
    act: ({ runs }) => runs.countStarted({ from: "r-1", before: "r-3" }),
    async check(answer, { runs }) {
      const group = { account_id: "a-1", key_id: "k-1", model: "stub-1", agent_id: "g-1" };
      expect(answer).toEqual([{ ...group, runs: 2, failed: 1 }]);
      const ask = async (filter: object) => {
        const found = await runs.countStarted({ from: "r", before: "s", ...filter });
        return found.reduce((sum, { runs: count }) => sum + count, 0);
      };
      expect(await ask({})).toBe(4);
      expect(await ask({ account_id: "a-2" })).toBe(1);
      expect(await ask({ agent_id: "g-1" })).toBe(3);
      expect(await ask({ key_id: "k-2" })).toBe(0);
      expect(await ask({ model: "stub-1" })).toBe(4);
    },
  },
  {
    method: "runs.listMarks",
    title: "lists the newest runs of each agent, the newest first",
    async setup(stores) {
      for (const [i, agent_id] of ["g-1", "g-2", "g-1", "g-1"].entries()) {
        await start(stores, `r-${i + 1}`, { agent_id });
      }
    },
    act: ({ runs }) => runs.listMarks(["g-1", "g-2", "g-9"], 2),
    async check(answer, { runs }) {
      expect(answer).toMatchObject([
        { id: "r-4", agent_id: "g-1", status: "queued" },
        { id: "r-3", agent_id: "g-1" },
        { id: "r-2", agent_id: "g-2" },
      ]);
      expect(await runs.listMarks([], 2)).toEqual([]);
      const many = Array.from({ length: 120 }, (_, n) => `none-${n}`);
      expect(await runs.listMarks([...many, "g-2"], 2)).toHaveLength(1);
    },
  },
  {
    method: "runs.list",
    title: "lists an account's runs, newest first, by each filter and from each position",
    async setup(stores) {
      const fields = [
        {},
        { agent_id: "g-2", created_at: BEGIN + 10 },
        { trigger_kind: "cron", created_at: BEGIN + 20 },
        { created_at: BEGIN + 20 },
        { created_at: BEGIN + 30 },
        { created_at: BEGIN + 40, started_by_key_id: "k-own" },
      ];
      for (const [i, one] of fields.entries()) await start(stores, `r-${i + 1}`, one);
      await start(stores, "r-7", { account_id: "a-2" });
      await claimRuns(stores, 4);
      await end(stores, "r-1");
      await end(stores, "r-2", "failed");
      const requests = [{ approval: makeApproval("p-1", "r-3"), event_id: "requested" }];
      await stores.runs.plan(makeRecord("r-3"), requests);
      await stores.runs.wait("r-3", 1, 0);
      await stores.runs.cancel("r-6", "a-1", ["i-1", "i-2", "i-3"], BEGIN + 70);
      await start(stores, "r-8", { created_at: BEGIN + 50 }, { thread_id: "thread of r-1" });
    },
    async act({ runs }) {
      const ask = async (filter: Partial<RunFilter>) =>
        (await runs.list({ ...EVERY, ...filter })).map(({ id }) => id.slice(2)).join("");
      return {
        all: await ask({}),
        page: await ask({ limit: 2 }),
        next: await ask({ limit: 2, before: 6 }),
        agent: await ask({ agent_id: "g-2" }),
        thread: await ask({ thread_id: "thread of r-1" }),
        queued: await ask({ status: "queued" }),
        running: await ask({ status: "running" }),
        waiting: await ask({ status: "waiting_approval" }),
        succeeded: await ask({ status: "succeeded" }),
        failed: await ask({ status: "failed" }),
        cancelled: await ask({ status: "cancelled" }),
        exceeded: await ask({ status: "budget_exceeded" }),
        asleep: await ask({ status: "sleeping" }),
        cron: await ask({ trigger_kind: "cron" }),
        manual: await ask({ trigger_kind: "manual" }),
        hook: await ask({ trigger_kind: "webhook" }),
        after: await ask({ created_after: BEGIN + 20 }),
        before: await ask({ created_before: BEGIN + 20 }),
        between: await ask({ created_after: BEGIN + 1, created_before: BEGIN + 31 }),
        late: await ask({ created_after: BEGIN + 51 }),
        several: await ask({ agent_id: "g-1", status: "queued", trigger_kind: "manual" }),
        key: await ask({ started_by_key_id: "k-own" }),
        other: await ask({ account_id: "a-2" }),
        unknown: await ask({ account_id: "a-3", created_after: BEGIN }),
      };
    },
    check(answer) {
      expect(answer).toEqual({
        ...{ all: "8654321", page: "86", next: "54", agent: "2", thread: "81" },
        ...{ queued: "85", running: "4", waiting: "3", succeeded: "1", failed: "2" },
        ...{ cancelled: "6", exceeded: "", asleep: "", cron: "3", manual: "865421", hook: "" },
        ...{ after: "86543", before: "21", between: "5432", late: "", several: "85" },
        ...{ key: "6", other: "7", unknown: "" },
      });
    },
  },
  {
    method: "runs.list",
    title: "lists runs whose metadata has exactly these pairs, whatever stands around them",
    async setup(stores) {
      for (const [i, metadata] of [
        { ticket: "A-17", team: "blue" },
        { team: "blue", ticket: "A-17" },
        { ticket: "a-17" },
        { ticket: "A-170" },
        { 'my","ticket': "A-17" },
        { note: '{"ticket":"A-17"' },
        { 'a"b\\': "ü\u0000%_", "": "" },
      ].entries()) {
        await start(stores, `r-${i + 1}`, { metadata });
      }
      await start(stores, "r-8", { metadata: { ticket: "A-17" }, account_id: "a-2" });
    },
    async act({ runs }) {
      const ask = async (metadata: Record<string, string>, more: Partial<RunFilter> = {}) =>
        (await runs.list({ ...EVERY, metadata, ...more })).map(({ id }) => id.slice(2)).join("");
      return {
        one: await ask({ ticket: "A-17" }),
        both: await ask({ ticket: "A-17", team: "blue" }),
        odd: await ask({ 'a"b\\': "ü\u0000%_" }),
        empty: await ask({ "": "" }),
        none: await ask({ ticket: "A-1" }),
        first: await ask({ ticket: "A-17" }, { before: 2 }),
        second: await ask({ ticket: "A-17" }, { after: 1 }),
      };
    },
    check(answer) {
      expect(answer).toEqual({
        ...{ one: "21", both: "21", odd: "7", empty: "7", none: "", first: "1", second: "2" },
      });
    },
  },
  {
    method: "runs.countQueued",
    title: "counts runs that no process executes, with the oldest queued one",
    async setup(stores) {
      await start(stores, "r-1");
      await start(stores, "r-2", { created_at: BEGIN + 30 });
      await start(stores, "r-3", { account_id: "a-2", created_at: BEGIN + 20 });
      await start(stores, "r-4", { account_id: "a-2", created_at: BEGIN + 40 });
    },
    async act(stores) {
      const { runs } = stores;
      const all = await runs.countQueued(9);
      await claimRuns(stores, 1);
      const others = await runs.countQueued(9);
      await runs.release(1, "r-1", 0);
      for (const id of ["r-2", "r-3", "r-4"]) await runs.cancel(id, null, [`e ${id}`], BEGIN);
      return [all, await runs.countQueued(2), others, await runs.countQueued(9)];
    },
    check: (answer) =>
      expect(answer).toEqual([
        { count: 4, oldest: BEGIN },
        { count: 1, oldest: null },
        { count: 3, oldest: BEGIN + 20 },
        // Released between two rounds: it waits, but is not queued.
        { count: 1, oldest: null },
      ]),
  },
  {
    method: "runs.listWaiting",
    title: "lists each account with claimable runs once",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2"]);
      await start(stores, "r-3", { account_id: "a-2" });
      await start(stores, "r-4", { account_id: "a-3" });
      await stores.runs.cancel("r-4", null, ["i-1"], BEGIN);
      await claimRuns(stores, 1);
    },
    act: ({ runs }) => runs.listWaiting(),
    check: (answer) => expect((answer as string[]).toSorted()).toEqual(["a-1", "a-2"]),
  },
];

export const runCases: readonly Case[] = [...cancelCases, ...readCases];
