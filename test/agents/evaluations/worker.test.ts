// Tests of what carries evaluations out, beside one that cannot go on.
import { expect, test } from "bun:test";
import type { EvaluationProgress } from "../../../src/agents/evaluations/store.ts";
import { EvaluationWorker } from "../../../src/agents/evaluations/worker.ts";
import type { RunRequest } from "../../../src/agents/runs/start.ts";
import type { PreparedRun } from "../../../src/agents/runs/store/start.ts";
import { apiError, type ErrorCode } from "../../../src/platform/errors.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createManualClock } from "../../support/clock.ts";

test("an evaluation that meets a bug holds up no other, and is tried again", async () => {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line)), false);
  const asked: string[] = [];
  const evaluations = {
    listRunning: async () => ["broken", "whole"],
    find: async (id: string) => {
      asked.push(id);
      if (id === "broken") throw new TypeError("a bug");
    },
  };
  const database = { listen: () => () => {} };
  const deps = { clock, log, database, evaluations };
  const worker = new EvaluationWorker(
    deps as unknown as ConstructorParameters<typeof EvaluationWorker>[0],
  );
  worker.start();
  await clock.advance(0);
  expect(asked).toEqual(["broken", "whole"]);
  expect(lines).toMatchObject([{ level: "error", evaluation_id: "broken" }]);
  await clock.advance(5_000);
  // The other one is over, since it is gone.
  expect(asked).toEqual(["broken", "whole", "broken"]);
  await worker.stop();
  expect(clock.pending()).toBe(0);
});

/** A worker on an evaluation of `count` runs, whose reruns are deleted when they end. */
function openEvaluation(count: number) {
  const clock = createManualClock();
  const listeners = new Map<string, (id: string | null) => void>();
  const open = Array.from({ length: count }, (_, position) => ({
    ...{ position, run_id: `r-${position}`, rerun_id: null as string | null, is_ended: false },
  }));
  const assessed: number[] = [];
  const started: string[] = [];
  const refusals: ErrorCode[] = [];
  const state = { listing: Promise.resolve(["e-1"]), lists: 0 };
  const evaluations = {
    listRunning() {
      state.lists++;
      return state.listing;
    },
    find: async () => ({ finished_at: null, account_id: "a-1", version: 1, tools: "recorded" }),
    listOpen: async () => open.filter(({ position }) => !assessed.includes(position)),
    async note(_id: string, progress: EvaluationProgress) {
      for (const { position, rerun_id } of progress.started) open[position]!.rerun_id = rerun_id;
      assessed.push(...progress.assessed.map(({ position }) => position));
    },
  };
  const recorded = { status: "succeeded", usage: { rounds: 1 }, input: { message: "Hi" } };
  const runs = {
    find: async (id: string) => (id.startsWith("again") ? undefined : { ...recorded, id }),
    loadHistory: async () => undefined,
    listSteps: async () => [],
    async start({ run }: PreparedRun) {
      started.push(run.id);
      return { run };
    },
  };
  const deps = {
    ...{ clock, evaluations, runs, log: {}, access: { findCaller: async () => ({}) } },
    async prepareRun(_caller: unknown, _agent: string, { rerun }: RunRequest) {
      const refusal = refusals.shift();
      if (refusal) throw apiError(refusal);
      return { run: { id: `again-${rerun!.rerun_of}` } };
    },
    database: {
      listen(channel: string, run: (id: string | null) => void) {
        listeners.set(channel, run);
        return () => {};
      },
    },
  };
  const worker = new EvaluationWorker(
    deps as unknown as ConstructorParameters<typeof EvaluationWorker>[0],
  );
  const end = (position: number) => {
    const one = open[position]!;
    one.is_ended = true;
    listeners.get("run.ended")!(`succeeded ${one.rerun_id}`);
  };
  return { clock, worker, state, started, assessed, refusals, end, tell: listeners };
}

test("an evaluation has eight reruns under way, and starts the next as soon as one has ended", async () => {
  const { clock, worker, started, assessed, end } = openEvaluation(20);
  worker.start();
  await clock.advance(0);
  expect(started).toHaveLength(8);
  end(3);
  await clock.advance(0);
  expect([started.length, assessed]).toEqual([9, [3]]);
  await worker.stop();
});

test("an evaluation that is stored while they are listed is found by another list", async () => {
  const { clock, worker, state, started, tell } = openEvaluation(1);
  const listed = Promise.withResolvers<string[]>();
  const { listing } = state;
  state.listing = listed.promise;
  worker.start();
  await clock.advance(0);
  tell.get("evaluation")!("e-1");
  state.listing = listing;
  listed.resolve([]);
  await clock.advance(0);
  expect([state.lists, started]).toEqual([2, ["again-r-0"]]);
  await worker.stop();
});

test.each([
  ...(["active_runs_limit", "admission_busy", "no_model_available"] as const),
  "service_unavailable",
] as const)("a rerun that is refused with %s is started later", async (code) => {
  const { clock, worker, started, assessed, refusals } = openEvaluation(1);
  refusals.push(code);
  worker.start();
  await clock.advance(0);
  expect([started, assessed]).toEqual([[], []]);
  await clock.advance(5_000);
  expect(started).toEqual(["again-r-0"]);
  await worker.stop();
});
