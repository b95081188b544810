// Cases of claim, release and recovery of runs.
import { expect } from "bun:test";
import { makeResult } from "../../src/agents/runs/calls/open-calls.ts";
import type { NewStep } from "../../src/agents/runs/step.ts";
import { BEGIN, makeApproval, makeRecord, makeStep } from "../support/runs.ts";
import type { Case, Stores } from "./cases.ts";
import { claimRuns, count, finding, start, startMany } from "./run-acts.ts";

const startOne = async (stores: Stores) => {
  await start(stores, "r-1");
  await claimRuns(stores);
};
const TURN = [{ account_id: "a-1", runsMax: 100 }];
const crash = async ({ runs, processes }: Stores, times: number) => {
  for (let i = 0; i < times; i++) {
    const epoch = await processes.register(BEGIN);
    await claimAny(runs, epoch);
    await runs.reclaim([finding("r-1", i)], [epoch], BEGIN + i);
  }
};
const claimAny = async (runs: Stores["runs"], epoch: number) => {
  await runs.claim(epoch, TURN, BEGIN);
  await runs.claimSuspect(epoch);
};
const makeProgress = (id: string): NewStep => {
  const call = { tool_call_id: "c-1", name: "calculator" };
  const data = makeResult(call, { outcome: "ok", content: "4" });
  return { id, kind: "tool_result", round: 1, data };
};
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
const seqsOf = async ({ runs }: Stores, id = "r-1") =>
  (await runs.listSteps(id, 0, null)).map(({ seq }) => seq);

const heldCases: Case[] = [
  {
    method: "runs.listHeld",
    title: "lists the runs that processes hold, the oldest process's first",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2", "r-3", "r-4"]);
      await claimRuns(stores, 2);
      const epoch = await stores.processes.register(BEGIN);
      await stores.runs.claim(epoch, [{ account_id: "a-1", runsMax: 1 }], BEGIN);
    },
    act: ({ runs }) => runs.listHeld(),
    check(answer) {
      const held = answer as { id: string; epoch: number }[];
      expect(held.map(({ epoch }) => epoch)).toEqual([1, 1, 2]);
      expect(held.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toMatchObject([
        { id: "r-1", epoch: 1, pending_approvals: [] },
        { id: "r-2", epoch: 1 },
        { id: "r-3", epoch: 2 },
      ]);
    },
  },
];

const claimCases: Case[] = [
  {
    method: "runs.claim",
    title: "claims the oldest runs of each account in order, up to a limit for each",
    async setup(stores) {
      await stores.processes.register(BEGIN);
      await startMany(stores, ["r-9", "r-1", "r-5"]);
      await start(stores, "r-2", { account_id: "a-2" });
      await start(stores, "r-3", { account_id: "a-3" });
    },
    act: ({ runs }) =>
      runs.claim(
        1,
        [
          { account_id: "a-2", runsMax: 5 },
          { account_id: "a-1", runsMax: 2 },
          { account_id: "a-4", runsMax: 5 },
        ],
        BEGIN + 5,
      ),
    async check(answer, { runs, ran }) {
      const taken = { status: "running", epoch: 1, started_at: BEGIN + 5 };
      expect(answer).toMatchObject(["r-2", "r-9", "r-1"].map((id) => ({ id, ...taken })));
      expect(await runs.find("r-5", null)).toMatchObject({ status: "queued", epoch: 0 });
      expect((await runs.listWaiting()).toSorted()).toEqual(["a-1", "a-3"]);
      // The run still counts as active.
      expect((await ran.counts())[0]).toMatchObject({ active: 3 });
    },
  },
  {
    method: "runs.claim",
    title: "gives no run to two concurrent processes",
    async setup(stores) {
      await startMany(
        stores,
        count(8).map((n) => `r-${n}`),
      );
      for (let i = 0; i < 4; i++) await stores.processes.register(BEGIN);
    },
    act: ({ runs }) =>
      Promise.all(
        count(4).map((epoch) => runs.claim(epoch, [{ account_id: "a-1", runsMax: 3 }], BEGIN)),
      ),
    check(answer) {
      const ids = (answer as { id: string }[][]).flat().map(({ id }) => id);
      expect(ids.toSorted()).toEqual(count(8).map((n) => `r-${n}`));
    },
  },
  {
    method: "runs.claim",
    title: "gives nothing to an ended or unknown process",
    async setup(stores) {
      await stores.processes.register(BEGIN);
      await start(stores, "r-1");
      await stores.processes.end(1, BEGIN + 1);
    },
    act: async ({ runs }) => [await runs.claim(1, TURN, BEGIN), await runs.claim(2, TURN, BEGIN)],
    async check(answer, { runs }) {
      expect(answer).toEqual([[], []]);
      expect(await runs.listWaiting()).toEqual(["a-1"]);
    },
  },
  {
    method: "runs.claim",
    title: "leaves held runs in the queue, except those that had begun",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2"]);
      await start(stores, "r-3", { agent_id: "g-2" });
      await start(stores, "r-4", { account_id: "a-2" });
      await claimRuns(stores, 1);
      await stores.runs.release(1, "r-1", 7);
      const hold = { reason: null, since: BEGIN };
      await stores.holds.hold({ kind: "agent", id: "g-1", account_id: "a-1", ...hold });
      await stores.holds.hold({ kind: "account", id: "a-2", account_id: "a-2", ...hold });
    },
    act: ({ runs }) => runs.claim(1, [...TURN, { account_id: "a-2", runsMax: 9 }], BEGIN + 50),
    async check(answer, stores) {
      const [first, second, ...others] = answer as { id: string; started_at: number }[];
      // The original time of its start stays.
      expect(first).toMatchObject({ id: "r-1", started_at: BEGIN + 5, worked_ms: 7 });
      expect(second).toMatchObject({ id: "r-3", started_at: BEGIN + 50 });
      expect(others).toEqual([]);
      await stores.holds.release("agent", "g-1");
      await stores.holds.release("account", "a-2");
      const both = [...TURN, { account_id: "a-2", runsMax: 9 }];
      const freed = await stores.runs.claim(1, both, BEGIN + 60);
      expect(freed.map(({ id }) => id)).toEqual(["r-2", "r-4"]);
    },
  },
  {
    method: "runs.release",
    title: "requeues a run unchanged",
    setup: startOne,
    act: ({ runs }) => runs.release(1, "r-1", 42),
    async check(_, { runs, ran, processes }) {
      const left = { status: "running", epoch: 0, worked_ms: 42, started_at: BEGIN + 5 };
      expect(await runs.find("r-1", null)).toMatchObject(left);
      expect(await ran.counts()).toMatchObject([{ active: 1 }]);
      const epoch = await processes.register(BEGIN);
      expect(await runs.claim(epoch, TURN, BEGIN + 90)).toMatchObject([{ id: "r-1", epoch }]);
      // The previous process can no longer write.
      await runs.release(1, "r-1", 1);
      expect(await runs.find("r-1", null)).toMatchObject({ epoch, worked_ms: 42 });
    },
  },
  {
    method: "runs.reclaim",
    title: "requeues the runs of dead processes, with a step",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2"]);
      await claimRuns(stores, 1);
      await stores.runs.note(makeRecord("r-1", { steps: [makeStep("s-1")] }));
      await stores.processes.register(BEGIN);
      await stores.runs.claim(2, TURN, BEGIN);
    },
    act: ({ runs }) =>
      runs.reclaim([finding("r-1"), finding("r-2"), finding("r-3")], [1], BEGIN + 80),
    async check(_, stores) {
      const back = { status: "running", epoch: 0, recoveries: 1, last_seq: 2 };
      expect(await stores.runs.find("r-1", null)).toMatchObject(back);
      expect(await stores.runs.find("r-2", null)).toMatchObject({ epoch: 2, recoveries: 0 });
      expect((await stores.runs.listSteps("r-1", 1, null))[0]).toMatchObject({
        ...{ seq: 2, kind: "system", round: 1, data: { event: "recovered" } },
      });
      // A repeat finds the run without a process.
      await stores.runs.reclaim([finding("r-1")], [1], BEGIN + 81);
      expect(await stores.runs.find("r-1", null)).toMatchObject({ recoveries: 1 });
      expect(await stores.ran.counts()).toMatchObject([{ active: 2 }]);
    },
  },
  {
    method: "runs.reclaim",
    title: "requeues a run five times without progress, and ends it at the sixth",
    async setup(stores) {
      await start(stores, "r-1");
      await crash(stores, 5);
      expect(await stores.runs.find("r-1", null)).toMatchObject({ recoveries: 5, epoch: 0 });
      await claimAny(stores.runs, await stores.processes.register(BEGIN));
    },
    act: ({ runs }) => runs.reclaim([finding("r-1", 5)], [6], BEGIN + 80),
    async check(_, stores) {
      const failed = { status: "failed", epoch: 0, error: { code: "crash_loop" } };
      expect(await stores.runs.find("r-1", null)).toMatchObject({
        ...{ ...failed, finished_at: BEGIN + 80, recoveries: 5 },
      });
      expect(await seqsOf(stores)).toEqual(count(5));
      expect(await stores.ran.counts()).toMatchObject([{ active: 0 }]);
      expect(await stores.ran.days()).toMatchObject([{ runs: 1, failed: 1 }]);
      expect(await stores.outbox.list("a-1")).toMatchObject([{ type: "run.failed" }]);
    },
  },
  {
    method: "runs.reclaim",
    title: "closes the approvals of a run that it ends",
    async setup(stores) {
      await start(stores, "r-1");
      const epoch = await stores.processes.register(BEGIN);
      await stores.runs.claim(epoch, TURN, BEGIN);
      const requests = [{ approval: makeApproval("p-1", "r-1"), event_id: "requested" }];
      await stores.runs.plan(makeRecord("r-1", { epoch }), requests);
    },
    act: ({ runs }) => runs.reclaim([finding("r-1", 5, { cause: "bug" })], [1], BEGIN + 80),
    async check(_, stores) {
      const run = await stores.runs.find("r-1", null);
      const error = { code: "internal_error" };
      expect(run).toMatchObject({ status: "failed", error, pending_approvals: [] });
      expect(await stores.ran.approvals()).toMatchObject([{ status: "closed" }]);
      const types: string[] = (await stores.outbox.list("a-1")).map(({ type }) => type);
      expect(types.toSorted()).toEqual(["approval.decided", "approval.requested", "run.failed"]);
      expect((await stores.runs.listSteps("r-1", 0, null))[0]).toMatchObject({
        ...{ kind: "approval", data: { event: "closed" } },
      });
    },
  },
  {
    method: "runs.reclaim",
    title: "counts crashes since the last step of model or tools, and names the call that hung",
    async setup(stores) {
      await start(stores, "r-1");
      await crash(stores, 1);
      const epoch = await stores.processes.register(BEGIN);
      await stores.runs.claim(epoch, TURN, BEGIN);
      const retried = { event: "model_retry" as const, message: "Again." };
      const about = { id: "s-1", kind: "system" as const, round: 0, data: retried };
      await stores.runs.note(makeRecord("r-1", { epoch, steps: [about] }));
    },
    act: async ({ runs, processes }) => {
      const crashes: (number | undefined)[] = [];
      const showDeliveries = async () => crashes.push((await runs.find("r-1", null))?.crashes);
      await showDeliveries();
      await runs.reclaim([finding("r-1", 7, { hungCall: "c-1" })], [2], BEGIN);
      await showDeliveries();
      const epoch = await processes.register(BEGIN);
      await claimAny(runs, epoch);
      await runs.note(makeRecord("r-1", { epoch, steps: [makeProgress("s-2")] }));
      await showDeliveries();
      await runs.reclaim([finding("r-1", 8, { cause: "stray" })], [epoch], BEGIN);
      await showDeliveries();
      return crashes;
    },
    async check(answer, { runs }) {
      expect(answer).toEqual([1, 2, 0, 0]);
      expect(await runs.find("r-1", null)).toMatchObject({ recoveries: 3, last_seq: 5 });
      const details = (await runs.listSteps("r-1", 0, null))
        .map(({ data }) => (data as { detail?: unknown }).detail)
        .filter((detail) => detail !== undefined);
      expect(details).toEqual([
        { recoveries: 1 },
        { recoveries: 2, hung: "c-1" },
        { recoveries: 3 },
      ]);
    },
  },
];

const suspectCases: Case[] = [
  {
    method: "runs.claimSuspect",
    title: "claims one suspect at a time, the fewest crashes first",
    async setup(stores) {
      await start(stores, "r-1");
      await crash(stores, 3);
      await startMany(stores, ["r-2", "r-3"]);
      for (const nth of [1, 2]) {
        const epoch = await stores.processes.register(BEGIN);
        await stores.runs.claim(epoch, TURN, BEGIN);
        await stores.runs.reclaim([finding("r-2", nth), finding("r-3", nth)], [epoch], BEGIN);
      }
      await start(stores, "r-4");
      await stores.processes.register(BEGIN);
      // An ordinary claim excludes suspects.
      expect(idsOf(await stores.runs.claim(6, TURN, BEGIN))).toEqual(["r-4"]);
    },
    act: async ({ runs }) => {
      const isWaiting = await runs.hasSuspect();
      const first = await runs.claimSuspect(6);
      return [isWaiting, first?.id, await runs.claimSuspect(6), await runs.claimSuspect(7)];
    },
    async check(answer, { runs }) {
      expect(answer).toEqual([true, "r-2", undefined, undefined]);
      expect(await runs.find("r-2", null)).toMatchObject({ epoch: 6, status: "running" });
      // Its progress or end admits the next suspect.
      await runs.note(makeRecord("r-2", { epoch: 6, steps: [makeProgress("s-1")] }));
      expect((await runs.claimSuspect(6))?.id).toBe("r-3");
      await runs.release(6, "r-3", 1);
      expect((await runs.claimSuspect(6))?.id).toBe("r-3");
      await runs.note(makeRecord("r-3", { epoch: 6, steps: [makeProgress("s-2")] }));
      expect(await runs.hasSuspect()).toBe(true);
      expect((await runs.claimSuspect(6))?.id).toBe("r-1");
      expect(await runs.hasSuspect()).toBe(false);
      expect(await runs.listWaiting()).toEqual([]);
    },
  },
  {
    method: "runs.hasSuspect",
    title: "returns nothing without a suspect",
    setup: startOne,
    act: ({ runs }) => runs.hasSuspect(),
    check: (answer) => expect(answer).toBe(false),
  },
];

export const runWorkCases: readonly Case[] = [...heldCases, ...claimCases, ...suspectCases];
