// Figures of runs: how they ended, what became of their calls, and what waits.
import type { Bound, Database } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { COUNTED_MAX, type Metrics, showWaiting } from "../platform/metrics.ts";
import { approvalStore } from "./approvals/store.ts";
import { OUTCOMES, type StepOutcome } from "./runs/step.ts";
import { readEnd } from "./runs/store/finish.ts";
import { runStore } from "./runs/store/index.ts";
import { FINAL_STATUSES, type FinalStatus } from "./runs/transitions.ts";

const countFrom = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;

export class RunFigures {
  readonly #runs: Bound<typeof runStore>;
  readonly #approvals: Bound<typeof approvalStore>;
  readonly #ended: Record<FinalStatus, number> = countFrom(FINAL_STATUSES);
  readonly #calls: Record<StepOutcome, number> = countFrom(OUTCOMES);

  constructor(database: Database) {
    this.#runs = database.bind(runStore);
    this.#approvals = database.bind(approvalStore);
    database.listen("run.ended", (end, isOwn) => {
      // Each process counts what it wrote itself.
      if (end !== null && isOwn) this.#ended[readEnd(end).status] += 1;
    });
  }

  countCall(outcome: StepOutcome): void {
    this.#calls[outcome] += 1;
  }

  show(metrics: Metrics, clock: Clock, countExecuting: () => number): void {
    metrics.gauge(
      {
        name: "wadi_runs_executing",
        help: "Runs that this process executes, including those that wait to repeat a model call.",
      },
      (set) => set(countExecuting()),
    );
    metrics.total(
      { name: "wadi_runs_ended_total", help: "Runs by final status.", labels: ["status"] },
      (set) => {
        for (const status of FINAL_STATUSES) set(this.#ended[status], { status });
      },
    );
    metrics.total(
      {
        name: "wadi_tool_calls_total",
        help: "Calls that models planned, by what became of them.",
        labels: ["outcome"],
      },
      (set) => {
        for (const outcome of OUTCOMES) set(this.#calls[outcome], { outcome });
      },
    );
    this.#showWaiting(metrics, clock);
  }

  #showWaiting(metrics: Metrics, clock: Clock): void {
    const counted = `at most ${COUNTED_MAX} are counted`;
    showWaiting(metrics, clock, () => this.#runs.countQueued(COUNTED_MAX), [
      { name: "wadi_runs_queued", help: `Runs that no process executes yet; ${counted}.` },
      { name: "wadi_runs_oldest_queued_age_seconds", help: "Age of the oldest queued run." },
    ]);
    showWaiting(metrics, clock, () => this.#approvals.countPending(COUNTED_MAX), [
      { name: "wadi_approvals_pending", help: `Calls that wait for a decision; ${counted}.` },
      { name: "wadi_approvals_oldest_age_seconds", help: "Age of the oldest of them." },
    ]);
  }
}
