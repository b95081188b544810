// The runs that this process executes: each takes a slot until its execution is over.
import type { AgentsDeps } from "../deps.ts";
import { type ActiveRun, interrupt } from "./cancellation.ts";
import type { RunSlots } from "./concurrency.ts";
import type { createExecutor } from "./executor.ts";
import type { RunRow } from "./run.ts";
import type { InterruptReason } from "./run-context.ts";

export interface ActiveRunsOptions {
  deps: Pick<AgentsDeps, "activity" | "log">;
  places: RunSlots;
  perform: ReturnType<typeof createExecutor>;
  /** An execution is over; its slot is free. */
  onOver(): void;
}

export function createActiveRuns({ deps, places, perform, onOver }: ActiveRunsOptions) {
  const { activity, log } = deps;
  const executing = new Map<string, ActiveRun>();
  /** Asked to stop while a claim was under way: it may be one of those that come. */
  const cancelled = new Set<string>();
  /** Runs whose last execution ended with a bug of ours. */
  const failed = new Set<string>();
  return {
    executing: executing as ReadonlyMap<string, ActiveRun>,
    cancelled,
    hasFailed: (run_id: string) => failed.has(run_id),
    begin(row: RunRow) {
      const run: ActiveRun = { row, controller: new AbortController() };
      if (cancelled.has(row.id)) interrupt(run, "cancel");
      executing.set(row.id, run);
      places.take();
      activity.enter(row.id);
      const over = perform(run).then((fate) => {
        if (fate === "failed") failed.add(row.id);
        else failed.delete(row.id);
        // A process that has lost the run may have it again already.
        if (executing.get(row.id) === run) {
          executing.delete(row.id);
          activity.leave(row.id);
        }
        places.give();
        onOver();
      });
      over.catch((error) => log.error("the end of a run broke off", { run_id: row.id, error }));
    },
    breakAll(why: InterruptReason) {
      for (const run of executing.values()) interrupt(run, why);
    },
  };
}
