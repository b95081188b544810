// What is known of entries whose writes failed: which may have happened, and which never will.
import type { LogEntry } from "./entry.ts";

/** After so many failures in a row entries go one by one: it may be for one of them. */
const FAILURES_MAX = 3;
/** Who failed alone so often, while others were written, never will be. */
const FAILURES_ALONE_MAX = 3;

/** Where the entries of a failed write go: to the front again, behind the others, or nowhere. */
export type Lot = "front" | "behind" | "lost";

export function createDoubts() {
  let failures = 0;
  /** So many of the next go one by one. */
  let singles = 0;
  /** Writes that have succeeded. */
  let written = 0;
  const doubted = new WeakSet<LogEntry>();
  /** Of those that failed alone: how often, and after how many writes first. */
  const alone = new WeakMap<LogEntry, { times: number; since: number }>();

  return {
    /** How many may go in the next write. */
    limit: (most: number) => (singles > 0 ? 1 : most),
    /** True: one of them may be written already, since only the answer got lost. */
    mayBeWritten: (group: readonly LogEntry[]) => group.some((entry) => doubted.has(entry)),
    succeed() {
      failures = 0;
      written += 1;
      singles = Math.max(0, singles - 1);
    },
    fail(group: readonly LogEntry[]): Lot {
      for (const entry of group) doubted.add(entry);
      failures += 1;
      if (singles === 0) {
        if (failures >= FAILURES_MAX) singles = group.length;
        return "front";
      }
      const entry = group[0]!;
      const { times, since } = alone.get(entry) ?? { times: 0, since: written };
      alone.set(entry, { times: times + 1, since });
      // Where nothing at all is written the database is away, and everybody waits.
      if (times + 1 < FAILURES_ALONE_MAX || written === since) return "behind";
      singles -= 1;
      return "lost";
    },
  };
}
