// Puts back into the line the runs that nobody executes any more: those of dead processes, and
// those that a failure let fall here.
import { type Claimant, Reclaimer } from "../../cluster/index.ts";
import type { AgentsDeps } from "../deps.ts";
import type { RunStore } from "./run-log.ts";
import { CRASHES_MAX, type RecoveryFinding } from "./store/claim.ts";
import { countEndingIds } from "./store/close.ts";

/** Runs whose bugs are remembered; the oldest is forgotten. */
const BUGS_MAX = 1_000;

export interface RecoveryOptions {
  deps: Pick<AgentsDeps, "activity" | "clock" | "ids" | "process">;
  store: Pick<RunStore, "listHeld" | "recover">;
  /** Runs that this process executes at the moment. */
  isExecuting(run_id: string): boolean;
  /** Runs whose last execution here ended with a bug of ours. */
  hasFailed(run_id: string): boolean;
}

type Held = Awaited<ReturnType<RunStore["listHeld"]>>[number];

export function createRecovery(options: RecoveryOptions): Claimant["reclaim"] {
  const { deps, store, isExecuting } = options;
  const { clock, ids, process } = deps;
  const judge = createJudge(options);
  const reclaimer = new Reclaimer<Held>({
    process,
    list: store.listHeld,
    isInHand: isExecuting,
    async putBack(group) {
      const findings = group.map((run): RecoveryFinding => {
        const found = judge(run);
        const ends = found.why === "bug" || run.crashes >= CRASHES_MAX;
        const length = ends ? countEndingIds(run.pending_approvals.length) : 1;
        return { run_id: run.id, fresh: Array.from({ length }, ids.uuid), ...found };
      });
      const epochs = [...new Set(group.map((run) => run.epoch))];
      await store.recover(findings, epochs, clock.now());
    },
  });
  return (isDead) => reclaimer.reclaim(isDead);
}

/** Why each run has to be taken up. */
function createJudge({ deps, hasFailed }: RecoveryOptions) {
  const { hung } = deps.activity;
  /** How many steps each run has, once it was put back for a bug. */
  const bugs = new Map<string, number>();
  return ({ id, epoch, last_seq }: Held): Pick<RecoveryFinding, "why" | "hung"> => {
    if (epoch !== deps.process.epoch) {
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
