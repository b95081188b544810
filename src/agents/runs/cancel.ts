// Cancels one run, whoever asks for it.
import type { RunsDeps } from "./deps.ts";
import type { RunRow } from "./run.ts";
import { countEndingIds } from "./store/close.ts";

/** So many approvals a run may ask for between our look at it and its cancel. */
const APPROVALS_SPARE = 128;

/** The run as it is then; undefined: it is gone. */
export function cancelRun(
  { runs, ids, clock }: Pick<RunsDeps, "runs" | "ids" | "clock">,
  run: RunRow,
): Promise<RunRow | undefined> {
  // What is queued may begin, and what waits be decided, and ask for more meanwhile.
  const count = countEndingIds(run.pending_approvals.length + APPROVALS_SPARE);
  const fresh = Array.from({ length: count }, () => ids.uuid());
  return runs.cancel(run.id, run.account_id, fresh, clock.now());
}
