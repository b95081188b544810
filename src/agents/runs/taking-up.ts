// Puts back into the line the runs that nobody executes any more: those of dead processes, and
// those that a bug let fall here.
import type { Claimant } from "../../platform/processes/process.ts";
import type { Around } from "../around.ts";
import type { RunStore } from "./journal.ts";
import { RECOVERIES_MAX } from "./store/claim.ts";
import { countEndingIds } from "./store/closing.ts";

/** Runs that are taken up in one transaction. */
const RUNS_A_WRITE = 250;

export interface TakingUpOptions {
  around: Pick<Around, "clock" | "ids" | "process">;
  store: Pick<RunStore, "listHeld" | "recover">;
  /** Runs that this process executes at the moment. */
  isExecuting(run_id: string): boolean;
}

export function createTakingUp(options: TakingUpOptions): Claimant["takeUp"] {
  const { around, store } = options;
  const { clock, ids, process } = around;
  /** Runs that had no execution here when they were looked at last. */
  let fallen = new Set<string>();

  return async (isDead) => {
    const before = fallen;
    fallen = new Set();
    const lost = (await store.listHeld()).filter((run) => {
      if (run.epoch !== process.epoch) return isDead(run.epoch);
      if (options.isExecuting(run.id)) return false;
      // It may just have been claimed, or just have ended: only the second look says that.
      fallen.add(run.id);
      return before.has(run.id);
    });
    for (let at = 0; at < lost.length; at += RUNS_A_WRITE) {
      const group = lost.slice(at, at + RUNS_A_WRITE);
      const findings = group.map(({ id, pending_approvals, recoveries }) => {
        const ends = recoveries >= RECOVERIES_MAX;
        const length = ends ? countEndingIds(pending_approvals.length) : 1;
        return { run_id: id, fresh: Array.from({ length }, ids.uuid) };
      });
      const epochs = [...new Set(group.map((run) => run.epoch))];
      await store.recover(findings, epochs, clock.now());
    }
  };
}
