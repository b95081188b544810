// Triggers whose instants have passed: what fires when the scheduler looks, and what is missed.
import type { Bound } from "../database/index.ts";
import { computeDue } from "./due.ts";
import type { triggerStore } from "./store/index.ts";

export interface OverdueTrigger {
  trigger_id: string;
  name: string;
  due_at: number;
  /** Instants that have passed, at least. */
  instants: number;
  /** The latest one fires when the scheduler looks; otherwise all are missed. */
  fires: boolean;
}

const OVERDUE_MAX = 1_000;
/** Position before every trigger that has a next instant. */
const FIRST = { next_fire_at: 0, id: "" };

/** Lists what is due at `now`, also in a paused installation. */
export async function listOverdue(
  store: Pick<Bound<typeof triggerStore>, "listTimed">,
  now: number,
): Promise<OverdueTrigger[]> {
  const rows = await store.listTimed(FIRST, OVERDUE_MAX);
  return rows.flatMap((row) => {
    const due_at = row.next_fire_at;
    if (due_at === null || due_at > now) return [];
    const due = computeDue({ ...row, next_fire_at: due_at }, now);
    if (due.kind !== "due") return [];
    const { missedCount, isMissed } = due.instant;
    const instants = isMissed ? missedCount : missedCount + 1;
    return [{ trigger_id: row.id, name: row.name, due_at, instants, fires: !isMissed }];
  });
}
