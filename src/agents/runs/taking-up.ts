// Puts back into the line the runs that nobody executes any more: those of dead processes, and
// those that a failure let fall here.
import type { Claimant } from "../../platform/processes/process.ts";
import type { Around } from "../around.ts";
import type { RunStore } from "./journal.ts";
import { CRASHES_MAX, type Finding } from "./store/claim.ts";
import { countEndingIds } from "./store/closing.ts";

/** Runs that are taken up in one transaction. */
const RUNS_A_WRITE = 250;
/** Runs whose bugs are remembered; the oldest is forgotten. */
const BUGS_MAX = 1_000;

export interface TakingUpOptions {
  around: Pick<Around, "activity" | "clock" | "ids" | "process">;
  store: Pick<RunStore, "listHeld" | "recover">;
  /** Runs that this process executes at the moment. */
  isExecuting(run_id: string): boolean;
  /** Runs whose last execution here ended with a bug of ours. */
  hasFailed(run_id: string): boolean;
}

type Held = Awaited<ReturnType<RunStore["listHeld"]>>[number];

export function createTakingUp(options: TakingUpOptions): Claimant["takeUp"] {
  const { around, store } = options;
  const { clock, ids, process } = around;
  const judge = createJudge(options);
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
      const findings = group.map((run): Finding => {
        const found = judge(run);
        const ends = found.why === "bug" || run.crashes >= CRASHES_MAX;
        const length = ends ? countEndingIds(run.pending_approvals.length) : 1;
        return { run_id: run.id, fresh: Array.from({ length }, ids.uuid), ...found };
      });
      const epochs = [...new Set(group.map((run) => run.epoch))];
      await store.recover(findings, epochs, clock.now());
    }
  };
}

/** Why each run has to be taken up. */
function createJudge({ around, hasFailed }: TakingUpOptions) {
  const { hung } = around.activity;
  /** How many steps each run has, once it was put back for a bug. */
  const bugs = new Map<string, number>();
  return ({ id, epoch, last_seq }: Held): Pick<Finding, "why" | "hung"> => {
    if (epoch !== around.process.epoch) {
      const isHung = hung?.run_id === id && hung.epoch === epoch;
      return { why: "crash", hung: isHung ? hung.call : null };
    }
    if (!hasFailed(id)) return { why: "fall", hung: null };
    const isSecond = bugs.get(id) === last_seq;
    bugs.delete(id);
    if (isSecond) return { why: "bug", hung: null };
    bugs.set(id, last_seq + 1);
    if (bugs.size > BUGS_MAX) bugs.delete(bugs.keys().next().value!);
    return { why: "fall", hung: null };
  };
}
