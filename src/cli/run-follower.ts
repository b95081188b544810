// Reads a run's steps, once or until the run ends.
import {
  FINAL_STATUSES,
  runOperations as operations,
  type PerformOperation,
} from "../admin/index.ts";
import { type Clock, wait } from "../platform/clock.ts";
import type { WrittenText } from "./live.ts";

export type ShownRow = Record<string, unknown>;

/** Interval between reads: another process writes the steps. */
const POLL_INTERVAL_MS = 200;

export function pendingOf(run: ShownRow): readonly string[] {
  return run.pending_approvals as readonly string[];
}

/** Reads the steps after a number in order; returns the number of the last one. */
export async function readSteps(
  perform: PerformOperation,
  id: string,
  after: number,
  onStep: (step: ShownRow) => void,
): Promise<number> {
  let seq = after;
  for (;;) {
    const steps = await perform(operations.listSteps, { id, after: seq });
    const last = steps.at(-1);
    if (!last) return seq;
    for (const step of steps) onStep(step);
    seq = last.seq as number;
  }
}

export interface Follower {
  onStep(step: ShownRow): void;
  /** Called with what a model has written by now. */
  onText?(written: WrittenText): void;
  /** Called once for each approval that the run waits for. */
  onWaiting(approvals: readonly string[]): void;
}

/** Reports steps until the run is final; returns the run. */
export async function followRun(
  perform: PerformOperation,
  clock: Clock,
  id: string,
  follower: Follower,
): Promise<ShownRow> {
  const reported = new Set<string>();
  for (let seq = 0; ; ) {
    // Read first: a final run writes no more steps.
    const run = await perform(operations.show, { id });
    if (run.live) follower.onText?.(run.live as WrittenText);
    seq = await readSteps(perform, id, seq, follower.onStep);
    if (FINAL_STATUSES.has(run.status as never)) return perform(operations.show, { id });
    const isWaiting = run.status === "waiting_approval";
    const fresh = isWaiting ? pendingOf(run).filter((one) => !reported.has(one)) : [];
    for (const one of fresh) reported.add(one);
    if (fresh.length > 0) follower.onWaiting(fresh);
    await wait(clock, POLL_INTERVAL_MS);
  }
}
