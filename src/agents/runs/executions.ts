// The runs that this process executes: each takes a slot until its execution is over.
import type { Around } from "../around.ts";
import type { createPerformance } from "./performing.ts";
import type { Places } from "./places.ts";
import type { RunRow } from "./run.ts";
import { breakOff, type Executing } from "./watching.ts";
import type { Break } from "./work.ts";

export interface ExecutionsOptions {
  around: Pick<Around, "activity" | "log">;
  places: Places;
  perform: ReturnType<typeof createPerformance>;
  /** An execution is over; its slot is free. */
  onOver(): void;
}

export function createExecutions({ around, places, perform, onOver }: ExecutionsOptions) {
  const { activity, log } = around;
  const executing = new Map<string, Executing>();
  /** Asked to stop while a claim was under way: it may be one of those that come. */
  const cancelled = new Set<string>();
  /** Runs whose last execution ended with a bug of ours. */
  const failed = new Set<string>();
  return {
    executing: executing as ReadonlyMap<string, Executing>,
    cancelled,
    hasFailed: (run_id: string) => failed.has(run_id),
    begin(row: RunRow) {
      const run: Executing = { row, controller: new AbortController() };
      if (cancelled.has(row.id)) breakOff(run, "cancel");
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
    breakAll(why: Break) {
      for (const run of executing.values()) breakOff(run, why);
    },
  };
}
