// Carries evaluations out: starts reruns, a few at a time, and assesses those that have ended. What
// is stored says what is left, so that any process may go on after a restart.
import type { Caller } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import { ApiError, apiError, type ErrorCode } from "../../platform/errors.ts";
import type { Service } from "../../platform/service.ts";
import { type NextPass, WorkerLoop } from "../../platform/worker-loop.ts";
import type { AgentsDeps } from "../deps.ts";
import { listCalls } from "../runs/calls/logged-calls.ts";
import { type CalledRun, describeOutcome, findSameness } from "../runs/compare.ts";
import { planRerun } from "../runs/rerun.ts";
import type { RunStarter } from "../runs/start.ts";
import { readEnd } from "../runs/store/finish.ts";
import type { RunStore } from "../runs/store/index.ts";
import type { PreparedRun } from "../runs/store/start.ts";
import { assessRun } from "./checks.ts";
import type { EvaluationRow, RunAssessment } from "./evaluation.ts";
import type { AssessedRun, EvaluationProgress, evaluationStore, OpenRun } from "./store.ts";

/** Reruns of an evaluation that are queued or run at once. */
const AT_ONCE = 8;
const RETRY_MS = 1_000;
/** Interval of passes without a wake-up: reruns may end in other processes. */
const LOOK_EVERY_MS = 5_000;
const TEXT_CHARACTERS_MAX = 200;

/** Refusals that pass by themselves; others are the assessment of their run. */
const TEMPORARY: readonly ErrorCode[] = [
  ...(["active_runs_limit", "admission_busy", "no_model_available"] as const),
  "service_unavailable",
];

interface WorkerDeps
  extends Pick<AgentsDeps, "access" | "clock" | "compute" | "database" | "ids" | "log"> {
  runs: RunStore;
  evaluations: Bound<typeof evaluationStore>;
  prepareRun: RunStarter["prepare"];
}

export class EvaluationWorker implements Service {
  readonly name = "evaluations";
  readonly #deps: WorkerDeps;
  readonly #loop: WorkerLoop;
  /** Evaluations under way, with the reruns that they wait for. */
  readonly #running = new Map<string, Set<string>>();
  #isListingDue = true;
  #unlisten: (() => void)[] = [];

  constructor(deps: WorkerDeps) {
    const { clock, log } = deps;
    this.#deps = deps;
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: () => this.#pass(),
      onError: (error) => log.error("evaluations: a pass failed", { error }),
    });
  }

  start(): void {
    const { database } = this.#deps;
    this.#unlisten = [
      database.listen("evaluation", () => {
        this.#isListingDue = true;
        this.#loop.wake();
      }),
      database.listen("run.ended", (end) => {
        if (end === null || this.#isAwaited(readEnd(end).id)) this.#loop.wake();
      }),
    ];
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    await this.#loop.stop();
  }

  pause(): Promise<void> {
    return this.#loop.pause();
  }

  resume(): void {
    this.#loop.resume();
  }

  #isAwaited(run_id: string): boolean {
    return [...this.#running.values()].some((reruns) => reruns.has(run_id));
  }

  async #pass(): Promise<NextPass> {
    if (this.#isListingDue) await this.#list();
    for (const evaluation_id of [...this.#running.keys()]) {
      try {
        await this.#advance(evaluation_id);
      } catch (error) {
        // The others go on, and the next pass tries this one again.
        this.#deps.log.error("evaluations: one could not go on", { evaluation_id, error });
      }
    }
    return this.#running.size === 0 ? "on_wake" : { inMs: LOOK_EVERY_MS };
  }

  async #list(): Promise<void> {
    this.#isListingDue = false;
    try {
      for (const id of await this.#deps.evaluations.listRunning()) {
        if (!this.#running.has(id)) this.#running.set(id, new Set());
      }
    } catch (error) {
      this.#isListingDue = true;
      throw error;
    }
  }

  async #advance(id: string): Promise<void> {
    const { evaluations, clock } = this.#deps;
    const row = await evaluations.find(id, null);
    if (!row || row.finished_at !== null) {
      this.#running.delete(id);
      return;
    }
    const open = await evaluations.listOpen(id);
    const left = open.filter(({ is_ended }) => !is_ended);
    const reruns = new Set(left.flatMap(({ rerun_id }) => rerun_id ?? []));
    this.#running.set(id, reruns);
    const ended = open.filter(({ is_ended }) => is_ended).slice(0, AT_ONCE);
    const assessed = await Promise.all(ended.map((one) => this.#assess(row, one)));
    const next = left.filter(({ rerun_id }) => rerun_id === null);
    const begun = await this.#begin(row, next.slice(0, AT_ONCE - reruns.size));
    assessed.push(...begun.refused);
    const { started } = begun;
    if (started.length + assessed.length === 0) return;
    await evaluations.note(id, { started, assessed }, clock.now());
    // More may be left than one pass takes, and what was started may have ended.
    this.#loop.wake();
  }

  /** Starts reruns side by side; a refusal that does not pass is the assessment of its run. */
  async #begin(row: EvaluationRow, next: readonly OpenRun[]) {
    const started: EvaluationProgress["started"][number][] = [];
    const refused: AssessedRun[] = [];
    const caller = next.length > 0 ? await this.#findCaller(row) : undefined;
    const start = async (one: OpenRun) => {
      const { position } = one;
      try {
        const prepared = await this.#prepare(row, one, caller);
        const { run } = await this.#deps.runs.start(prepared);
        started.push({ position, rerun_id: run.id });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const { code, message } = error;
        if (TEMPORARY.includes(code)) return;
        refused.push({ position, assessment: { ...NOTHING, error: { code, message } } });
      }
    };
    await Promise.all(next.map(start));
    return { started, refused };
  }

  async #prepare(
    { id, account_id, agent_id, version, tools, started_by_operator }: EvaluationRow,
    { position, run_id }: OpenRun,
    caller: Caller | undefined,
  ): Promise<PreparedRun> {
    const run = await this.#deps.runs.find(run_id, account_id);
    if (!run) throw apiError("run_not_found");
    if (!caller) {
      throw apiError("permission_denied", { message: "The key of the evaluation has ended." });
    }
    const request = await planRerun(this.#deps, run, { version, tools });
    const operator = started_by_operator ?? undefined;
    const prepared = await this.#deps.prepareRun(caller, agent_id, { ...request, operator });
    // After a crash between the start and its note the same rerun is found, for a day.
    const idempotency = { key: `evaluation ${id} ${position}`, body_hash: id };
    return { ...prepared, idempotency };
  }

  /** agents.authentication.1: reruns act for the key, and not without it. */
  #findCaller({ started_by_key_id }: EvaluationRow): Promise<Caller | undefined> {
    return this.#deps.access.findCaller(started_by_key_id);
  }

  async #assess(
    { checks }: EvaluationRow,
    { position, run_id, rerun_id }: OpenRun,
  ): Promise<AssessedRun> {
    const [before, after] = await Promise.all([this.#read(run_id), this.#read(rerun_id!)]);
    if (!after) {
      const error = { code: "run_not_found", message: "The rerun was deleted." };
      return { position, assessment: { ...NOTHING, error } };
    }
    const outcomeOf = (called: CalledRun | undefined) =>
      called ? describeOutcome(called.run, TEXT_CHARACTERS_MAX) : null;
    const assessment = {
      error: null,
      failures: await assessRun(this.#deps.compute, checks, after),
      before: outcomeOf(before),
      after: outcomeOf(after),
      same: before ? findSameness(before, after) : null,
    };
    return { position, assessment };
  }

  async #read(run_id: string): Promise<CalledRun | undefined> {
    const { runs } = this.#deps;
    const run = await runs.find(run_id, null);
    return run && { run, calls: listCalls(await runs.listSteps(run_id, 0, null)) };
  }
}

const NOTHING: RunAssessment = { error: null, failures: [], before: null, after: null, same: null };
