// Cases of the writes of an executing run.
import { expect } from "bun:test";
import type { RunRecord } from "../../src/agents/runs/store/record.ts";
import {
  BEGIN,
  makeApproval,
  makeMessage,
  makeProgress,
  makeRecord,
  makeStep,
} from "../support/runs.ts";
import type { Case, Stores } from "./cases.ts";
import { claimRuns, count, ended, makeLongSteps, start, startMany } from "./run-acts.ts";

const startOne = async (stores: Stores) => {
  await start(stores, "r-1");
  await claimRuns(stores);
};
const THREAD = "thread of r-1";

/** A round: the reply with its call, and the result. */
const FULL: Partial<RunRecord> = {
  progress: makeProgress(2, { output: { message: "so far" }, external_content: true }),
  steps: [makeStep("s-1"), makeStep("s-2")],
  messages: [
    makeMessage("m-1", { content: null, tool_calls: [{ id: "c-1", name: "t", arguments: "{}" }] }),
    makeMessage("m-2", { role: "tool", tool_call_id: "c-1", external: true }),
  ],
  outputs: [{ tool_call_id: "c-1", content: "the whole of it" }],
};

/** Properties common to `plan`, `settle` and `note`. */
const expectFull = async (answer: unknown, { runs, ran }: Stores) => {
  expect(answer).toMatchObject({ last_seq: 2, message_seq: 3, cancel_requested: false });
  expect(await runs.find("r-1", "a-1")).toMatchObject({
    ...{ status: "running", epoch: 1, last_seq: 2, message_seq: 3, external_content: true },
    ...{ output: { message: "so far" }, usage: { rounds: 2, total_tokens: 30 } },
    ...{ cost: { model: 20, tools: 0, total: 20 }, priced: 20, worked_ms: 2 },
  });
  expect(await runs.listSteps("r-1", 0, null)).toMatchObject([
    { id: "s-1", seq: 1, status: "running", created_at: BEGIN + 10 },
    { id: "s-2", seq: 2, data: { event: "compacted", message: "step s-2" } },
  ]);
  const [, ...messages] = await ran.messages(THREAD);
  expect(messages).toMatchObject([
    { id: "m-1", seq: 2, run_id: "r-1", content: null, tool_calls: [{ id: "c-1" }] },
    { id: "m-2", seq: 3, role: "tool", tool_call_id: "c-1", external: true },
  ]);
  expect(await ran.threads()).toMatchObject([{ id: THREAD, external_content: true }]);
  expect(await runs.findOutput("r-1", "c-1")).toBe("the whole of it");
};

const recordCases: Case[] = [
  {
    method: "runs.plan",
    title: "writes a round with the approvals that it requests",
    setup: startOne,
    act({ runs }) {
      const requests = ["p-1", "p-2"].map((id) => {
        return { approval: makeApproval(id, "r-1"), event_id: `requested ${id}` };
      });
      return runs.plan(makeRecord("r-1", FULL), requests);
    },
    async check(answer, stores) {
      await expectFull(answer, stores);
      const approvals = [makeApproval("p-1", "r-1"), makeApproval("p-2", "r-1")];
      expect(await stores.ran.approvals()).toEqual(approvals);
      const type = "approval.requested";
      expect(await stores.outbox.list("a-1")).toMatchObject([{ type }, { type }]);
    },
  },
  {
    method: "runs.plan",
    title: "writes nothing, and requests no approval, for another process's run",
    setup: startOne,
    act({ runs }) {
      const requests = [{ approval: makeApproval("p-1", "r-1"), event_id: "requested" }];
      return runs.plan(makeRecord("r-1", { ...FULL, epoch: 2 }), requests);
    },
    async check(answer, { runs, ran, outbox }) {
      expect(answer).toBeNull();
      expect(await runs.find("r-1", null)).toMatchObject({ last_seq: 0, message_seq: 1 });
      expect(await runs.listSteps("r-1", 0, null)).toEqual([]);
      expect(await ran.messages(THREAD)).toHaveLength(1);
      expect(await ran.approvals()).toEqual([]);
      expect(await outbox.list("a-1")).toEqual([]);
      expect(await runs.findOutput("r-1", "c-1")).toBeUndefined();
    },
  },
  {
    method: "runs.settle",
    title: "writes results with their messages and full outputs",
    setup: startOne,
    act: ({ runs }) => runs.settle(makeRecord("r-1", FULL)),
    check: expectFull,
  },
  {
    method: "runs.settle",
    title: "stores texts that a column cannot hold directly",
    setup: startOne,
    act: ({ runs }) =>
      runs.settle(
        makeRecord("r-1", {
          steps: [makeStep("s-1", "a\0b\ud800c")],
          messages: [makeMessage("m-1", { content: "a\0b\ud800c" })],
          outputs: [{ tool_call_id: "c-1", content: "\udc00 and \0" }],
        }),
      ),
    async check(answer, { runs, ran }) {
      expect(answer).toMatchObject({ last_seq: 1, message_seq: 2 });
      expect((await ran.messages(THREAD))[1]).toMatchObject({
        ...{ content: "a\ufffdb\ufffdc" },
      });
      expect(await runs.findOutput("r-1", "c-1")).toBe("\ufffd and \ufffd");
    },
  },
  {
    method: "runs.note",
    title: "writes a system step, and reports a requested cancel",
    setup: startOne,
    act: ({ runs }) => runs.note(makeRecord("r-1", FULL)),
    async check(answer, stores) {
      await expectFull(answer, stores);
      const { runs } = stores;
      await runs.cancel("r-1", "a-1", ["i-1"], BEGIN + 11);
      const noted = await runs.note(makeRecord("r-1", { steps: [makeStep("s-4")] }));
      expect(noted).toMatchObject({ last_seq: 4, cancel_requested: true });
    },
  },
  {
    method: "runs.note",
    title: "numbers steps and messages without gaps under concurrent writes",
    setup: startOne,
    async act({ runs }) {
      const record = (n: number) =>
        runs.note(
          makeRecord("r-1", {
            steps: [makeStep(`s-${n}`), makeStep(`t-${n}`)],
            messages: [makeMessage(`m-${n}`)],
          }),
        );
      const cancels = count(4).map((n) => runs.cancel("r-1", null, [`i-${n}`], BEGIN));
      await Promise.all([...count(8).map(record), ...cancels]);
    },
    async check(_, { runs, ran }) {
      const steps = await runs.listSteps("r-1", 0, null);
      expect(steps.map(({ seq }) => seq)).toEqual(count(17));
      expect(steps.filter(({ id }) => id.startsWith("i-"))).toHaveLength(1);
      expect((await ran.messages(THREAD)).map(({ seq }) => seq)).toEqual(count(9));
      expect(await runs.find("r-1", null)).toMatchObject({ last_seq: 17, message_seq: 9 });
    },
  },
  ...(["plan", "settle", "note"] as const).map(
    (method): Case => ({
      method: `runs.${method}`,
      title: "writes a repeated record once, also after later decisions",
      async setup(stores) {
        await startOne(stores);
        await stores.runs[method](
          makeRecord("r-1", { steps: [makeStep("s-1")], messages: [makeMessage("m-1")] }),
          [],
        );
        await stores.runs.cancel("r-1", "a-1", ["i-1"], BEGIN + 11);
      },
      async act({ runs }) {
        const again = { steps: [makeStep("s-1")], messages: [makeMessage("m-1")], isRetry: true };
        const first = await runs[method](makeRecord("r-1", again), []);
        const second = await runs[method](
          makeRecord("r-1", { steps: [makeStep("s-2")], isRetry: true }),
          [],
        );
        return [first, second];
      },
      async check(answer, { runs, ran }) {
        expect(answer).toMatchObject([
          { last_seq: 1, message_seq: 2, cancel_requested: true },
          { last_seq: 3, message_seq: 2 },
        ]);
        const steps = await runs.listSteps("r-1", 0, null);
        expect(steps.map(({ id }) => id)).toEqual(["s-1", "i-1", "s-2"]);
        expect(await ran.messages(THREAD)).toHaveLength(2);
      },
    }),
  ),
  ...(["plan", "settle", "note", "claim"] as const).map(
    (method): Case => ({
      method: `runs.${method}`,
      title: "reads the grants of its account, and the models that are off or blocked",
      async setup(stores) {
        if (method === "claim") await start(stores, "r-1");
        else await startOne(stores);
        const { accounts, models } = stores;
        for (const [at, id] of ["a-1", "a-2"].entries()) {
          await accounts.create({ id, name: id, created_at: BEGIN });
          await models.grant(id, `stub-${at}`, BEGIN);
        }
        await models.turn("stub-1", "is_off", true, BEGIN);
        await models.turn("stub-2", "is_blocked", true, BEGIN);
      },
      async act(stores) {
        if (method === "claim") return (await claimRuns(stores))[0];
        return stores.runs[method](makeRecord("r-1", { steps: [makeStep("s-1")] }));
      },
      check: (answer) =>
        expect(answer).toMatchObject({
          ...{ granted_models: "stub-0", off_models: "stub-1", blocked_models: "stub-2" },
        }),
    }),
  ),
  {
    method: "runs.note",
    title: "keeps an unknown price unknown",
    setup: startOne,
    act({ runs }) {
      const cost = { model: null, tools: 0, total: null };
      return runs.note(makeRecord("r-1", { progress: makeProgress(1, { cost, priced: 7 }) }));
    },
    check: async (_, { runs }) =>
      expect(await runs.find("r-1", null)).toMatchObject({
        ...{ cost: { model: null, tools: 0, total: null }, priced: 7 },
      }),
  },
];

/** Requests an approval. */
const askFor = ({ runs }: Stores, run_id: string) =>
  runs.plan(makeRecord(run_id), [
    { approval: makeApproval(`asked by ${run_id}`, run_id), event_id: `requested by ${run_id}` },
  ]);

const waitCases: Case[] = [
  {
    method: "runs.wait",
    title: "releases a run, which no longer counts as active, and keeps its thread busy",
    async setup(stores) {
      await startOne(stores);
      await askFor(stores, "r-1");
    },
    act: ({ runs }) => runs.wait("r-1", 1, 33),
    async check(answer, stores) {
      const { runs, ran } = stores;
      expect(answer).toBe("waiting");
      const waiting = { status: "waiting_approval", epoch: 0, worked_ms: 33 };
      expect(await runs.find("r-1", null)).toMatchObject(waiting);
      expect(await ran.counts()).toMatchObject([{ started: 1, active: 0 }]);
      expect(await runs.listWaiting()).toEqual([]);
      expect(await runs.claim(1, [{ account_id: "a-1", runsMax: 9 }], BEGIN)).toEqual([]);
      const second = start(stores, "r-2", {}, { thread_id: THREAD });
      expect(await second.catch(({ code }) => code)).toBe("thread_busy");
      // A second release finds the run already given up.
      expect(await runs.wait("r-1", 1, 34)).toBe("lost");
      expect(await ran.counts()).toMatchObject([{ active: 0 }]);
    },
  },
  {
    method: "runs.wait",
    title: "does not release a run with a requested cancel",
    async setup(stores) {
      await startOne(stores);
      await askFor(stores, "r-1");
    },
    async act({ runs }) {
      await runs.cancel("r-1", "a-1", ["i-1"], BEGIN + 11);
      return runs.wait("r-1", 1, 33);
    },
    async check(answer, { runs }) {
      expect(answer).toBe("cancelled");
      expect(await runs.find("r-1", null)).toMatchObject({ status: "running", epoch: 1 });
    },
  },
];

const finishCases: Case[] = [
  {
    method: "runs.finish",
    title: "ends a run with its last step, its sums and its event",
    setup: startOne,
    act: ({ runs }) => runs.finish(makeRecord("r-1", FULL), ended("succeeded", "e-1")),
    async check(answer, { runs, ran, outbox }) {
      const final = { status: "succeeded", epoch: 0, finished_at: BEGIN + 10, last_seq: 2 };
      expect(answer).toBe(true);
      expect(await runs.find("r-1", "a-1")).toMatchObject({
        ...{ ...final, error: null, message_seq: 3 },
      });
      expect(await runs.listSteps("r-1", 0, null)).toHaveLength(2);
      expect(await ran.messages(THREAD)).toHaveLength(3);
      expect(await ran.counts()).toEqual([{ account_id: "a-1", started: 1, active: 0 }]);
      expect(await ran.days()).toEqual([
        {
          ...{ account_id: "a-1", day: "2026-11-20", agent_id: "g-1", runs: 1, succeeded: 1 },
          ...{ failed: 0, budget_exceeded: 0, cancelled: 0, prompt_tokens: 20 },
          ...{ completion_tokens: 10, total_tokens: 30, tool_calls: 2, cost_sar: 20 },
          unpriced_runs: 0,
        },
      ]);
      const [event] = await outbox.list("a-1");
      expect(event).toMatchObject({ id: "e-1", type: "run.completed", created_at: BEGIN + 10 });
      expect(JSON.parse(event!.data)).toMatchObject({
        run: { id: "r-1", status: "succeeded", cost: { total: "0.000020" } },
      });
    },
  },
  {
    method: "runs.finish",
    title: "adds each ended run to its day once, and an unknown price to no sum",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2", "r-3", "r-4"]);
      await start(stores, "r-5", { agent_id: "g-2" });
      await claimRuns(stores);
      await stores.runs.finish(makeRecord("r-1"), ended("succeeded", "e-1"));
      const cost = { model: null, tools: 0, total: null };
      const unknown = { progress: makeProgress(1, { cost }) };
      await stores.runs.finish(makeRecord("r-2", unknown), ended("failed", "e-2"));
      await stores.runs.finish(makeRecord("r-5", unknown), ended("failed", "e-5"));
      const next = { at: BEGIN + 86_400_000 };
      await stores.runs.finish(makeRecord("r-3", next), ended("cancelled", "e-3"));
    },
    act: ({ runs }) =>
      Promise.all(
        ["r-4", "r-4", "r-1", "r-9"].map((id) => {
          return runs.finish(makeRecord(id), ended("budget_exceeded", `again ${id}`));
        }),
      ),
    async check(answer, { runs, ran, outbox }) {
      expect((answer as boolean[]).filter((isMine) => isMine)).toHaveLength(1);
      expect(await runs.find("r-4", null)).toMatchObject({ status: "budget_exceeded" });
      const none = { succeeded: 0, failed: 0, budget_exceeded: 0, cancelled: 0 };
      const rest = { unpriced_runs: 1, agent_id: "g-1", day: "2026-11-20" };
      expect(await ran.days()).toMatchObject([
        { ...none, ...rest, runs: 3, succeeded: 1, failed: 1, budget_exceeded: 1, cost_sar: 20 },
        { ...none, ...rest, agent_id: "g-2", runs: 1, failed: 1, cost_sar: null },
        { ...none, runs: 1, cancelled: 1, cost_sar: 10, day: "2026-11-21", unpriced_runs: 0 },
      ]);
      expect(await ran.counts()).toMatchObject([{ started: 5, active: 0 }]);
      expect(await outbox.list("a-1")).toHaveLength(5);
    },
  },
  {
    method: "runs.finish",
    title: "does not end another process's run, or one that waits for approval",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2"]);
      await claimRuns(stores);
      await askFor(stores, "r-2");
      await stores.runs.wait("r-2", 1, 0);
    },
    act: ({ runs }) =>
      Promise.all([
        runs.finish(makeRecord("r-1", { ...FULL, epoch: 2 }), ended("succeeded", "e-1")),
        runs.finish(makeRecord("r-2", { epoch: 0 }), ended("succeeded", "e-2")),
      ]),
    async check(answer, { runs, outbox }) {
      expect(answer).toEqual([false, false]);
      expect(await runs.find("r-1", null)).toMatchObject({ status: "running", last_seq: 0 });
      expect(await runs.find("r-2", null)).toMatchObject({ status: "waiting_approval" });
      expect(await outbox.list("a-1")).toMatchObject([{ type: "approval.requested" }]);
    },
  },
  {
    method: "runs.finish",
    title: "numbers its steps after a concurrent cancel",
    setup: startOne,
    act: ({ runs }) =>
      Promise.all([
        runs.cancel("r-1", "a-1", ["i-1", "i-2", "i-3"], BEGIN + 9),
        runs.finish(makeRecord("r-1", FULL), ended("succeeded", "e-1")),
      ]),
    async check(_, { runs, ran }) {
      const steps = await runs.listSteps("r-1", 0, null);
      const run = await runs.find("r-1", null);
      expect(steps.map(({ seq }) => seq)).toEqual(count(run!.last_seq));
      expect(run).toMatchObject({ status: "succeeded" });
      expect(await ran.days()).toMatchObject([{ runs: 1 }]);
      expect(await ran.counts()).toMatchObject([{ active: 0 }]);
    },
  },
];

const readCases: Case[] = [
  {
    method: "runs.load",
    title: "reads the state of a run: the thread, the steps and the summary",
    async setup(stores) {
      await startOne(stores);
      await stores.runs.note(makeRecord("r-1", FULL));
    },
    async act({ runs }) {
      const whole = await runs.load((await runs.find("r-1", null))!);
      const summary = { through_seq: 2, content: "what was\0 said" };
      await runs.note(makeRecord("r-1", { summary: { through_seq: 1, content: "less" } }));
      await runs.note(makeRecord("r-1", { summary }));
      return [whole, await runs.load((await runs.find("r-1", null))!)];
    },
    check(answer) {
      const [whole, rest] = answer as [object, object];
      const seqs = (from: number, to: number) =>
        count(to)
          .slice(from - 1)
          .map((seq) => ({ seq }));
      expect(whole).toMatchObject({ messages: seqs(1, 3), steps: seqs(1, 2), summary: null });
      const summary = "what was\ufffd said";
      expect(rest).toMatchObject({ messages: seqs(3, 3), steps: seqs(1, 2), summary });
    },
  },
  {
    method: "runs.load",
    title: "reads the newest 2000 messages of a long thread, in order",
    async setup(stores) {
      await startOne(stores);
      for (const part of count(5)) {
        const messages = count(410).map((n) => makeMessage(`m-${part}-${n}`));
        await stores.runs.note(makeRecord("r-1", { messages }));
      }
    },
    act: async ({ runs }) => runs.load((await runs.find("r-1", null))!),
    check(answer) {
      const seqs = (answer as { messages: { seq: number }[] }).messages.map(({ seq }) => seq);
      expect(seqs).toEqual(count(2_051).slice(-2_000));
    },
  },
  {
    method: "runs.load",
    title: "reads no further message of a thread once four million characters are read",
    async setup(stores) {
      await startOne(stores);
      const content = "x".repeat(1_048_576);
      const messages = count(6).map((n) => makeMessage(`m-${n}`, { content }));
      await stores.runs.note(makeRecord("r-1", { messages }));
    },
    act: async ({ runs }) => runs.load((await runs.find("r-1", null))!),
    check(answer) {
      const ids = (answer as { messages: { id: string }[] }).messages.map(({ id }) => id);
      expect(ids).toEqual(["m-3", "m-4", "m-5", "m-6"]);
    },
  },
  {
    method: "runs.listSteps",
    title: "lists steps in order, after a position and up to a limit",
    async setup(stores) {
      await startOne(stores);
      const steps = count(12).map((n) => makeStep(`s-${n}`));
      await stores.runs.note(makeRecord("r-1", { steps }));
      await start(stores, "r-3");
      await claimRuns(stores);
      await stores.runs.note(makeRecord("r-3", { steps: makeLongSteps() }));
    },
    act: async ({ runs }) =>
      Promise.all([
        runs.listSteps("r-1", 0, null),
        runs.listSteps("r-1", 9, null),
        runs.listSteps("r-1", 3, 2),
        runs.listSteps("r-1", 12, 5),
        runs.listSteps("r-2", 0, null),
        // A page holds fewer long items, and at least one.
        ...[0, 3, 4].map((after_seq) => runs.listSteps("r-3", after_seq, 100)),
        runs.listSteps("r-3", 0, 2),
        runs.listSteps("r-3", 0, null),
      ]),
    check(answer) {
      const pages = (answer as { seq: number }[][]).map((page) => page.map(({ seq }) => seq));
      const long = [[1, 2, 3], [4], [5, 6], [1, 2], count(6)];
      expect(pages).toEqual([count(12), [10, 11, 12], [4, 5], [], [], ...long]);
    },
  },
  {
    method: "runs.listCancelled",
    title: "lists a process's runs with a requested cancel",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2", "r-3"]);
      await claimRuns(stores);
      await stores.runs.cancel("r-2", null, ["i-1"], BEGIN);
      await stores.runs.cancel("r-3", null, ["i-2"], BEGIN);
      await stores.runs.release(1, "r-3", 0);
    },
    act: ({ runs }) => Promise.all([1, 0, 2].map((epoch) => runs.listCancelled(epoch))),
    check: (answer) => expect(answer).toEqual([["r-2"], [], []]),
  },
  {
    method: "runs.findOutput",
    title: "finds the full output of a result of this run, or nothing if none is stored",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2"]);
      await claimRuns(stores);
      const outputs = [{ tool_call_id: "c-1", content: "x".repeat(200_000) }];
      await stores.runs.settle(makeRecord("r-1", { outputs }));
      // A call settled again keeps the stored output.
      const others = [{ tool_call_id: "c-1", content: "other" }];
      await stores.runs.settle(makeRecord("r-1", { outputs: others }));
    },
    act: async ({ runs }) =>
      Promise.all(
        [
          ["r-1", "c-1"],
          ["r-2", "c-1"],
          ["r-1", "c-2"],
        ].map(([run_id, call]) => runs.findOutput(run_id!, call!)),
      ),
    check: (answer) => expect(answer).toEqual(["x".repeat(200_000), undefined, undefined]),
  },
];

export const runRecordCases: readonly Case[] = [
  ...recordCases,
  ...waitCases,
  ...finishCases,
  ...readCases,
];
