// Calls in which the event loop hung: named while they begin, and given up at their second time.

import type { RunContext } from "./run-context.ts";
import type { RunState } from "./state.ts";

/** A call that hung so often is not repeated. */
const TIMES_MAX = 2;

/** A round of the model, as a watchdog's note names it. */
export const nameRound = ({ row }: Pick<RunState, "row">) => `round ${row.usage.rounds + 1}`;

/** Whether a call, or a round, has hung too often to be repeated. */
export function hasHung({ hung }: Pick<RunState, "hung">, call: string): boolean {
  return (hung.get(call) ?? 0) >= TIMES_MAX;
}

/** Names a call to the watchdog until `work` returns. */
export function watchCall<T>(
  { state, deps }: Pick<RunContext, "state" | "deps">,
  call: string,
  work: () => T,
): T {
  const { id: run_id, epoch } = state.row;
  return deps.activity.during({ run_id, epoch, call }, work);
}
