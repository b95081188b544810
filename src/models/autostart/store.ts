// Units by their ids: how each was left, and how long its last starts took.
import { type Static, Type } from "@sinclair/typebox";
import { sql, store, type Tx } from "../../database/index.ts";
import { maybe, Timestamp } from "../../platform/schema.ts";

/** So many starts are remembered, of which the middle one is the usual. */
const RECENT_STARTS = 5;

/** `asleep`: it does not answer · `stopped`: by us, being idle · `failed`: its last start did. */
export type ManagedServerState = "asleep" | "starting" | "up" | "stopping" | "stopped" | "failed";

const Row = Type.Object({
  id: Type.String(),
  state: Type.Unsafe<ManagedServerState>({ type: "string" }),
  /** We put it to sleep: whatever its health says, it has to be started. */
  is_put_down: Type.Boolean(),
  changed_at: Timestamp("When it came into that state."),
  /** How often we have started it. */
  starts: Type.Integer(),
  /** The last of them, the latest first. */
  recent_starts_ms: Type.Array(Type.Integer()),
  started_at: maybe(Timestamp("When we last started it.")),
  stopped_at: maybe(Timestamp("When we last stopped it.")),
});
export type ManagedServerRow = Static<typeof Row>;

export const managedServerStore = store(
  "units",
  {
    find: (db, id: string) => db.one(Row, sql`SELECT * FROM units WHERE id = ${id}`),
    list: (db) => db.all(Row, sql`SELECT * FROM units ORDER BY id`),
  },
  {
    note: async (tx, id: string, state: ManagedServerState, is_put_down: boolean, now: number) =>
      noteState(tx, id, state, is_put_down, now),
    /** It is up, and we started it. */
    learn: async (tx, id: string, start_ms: number, now: number) => {
      await noteState(tx, id, "up", false, now);
      const known = (await tx.one(Row, sql`SELECT * FROM units WHERE id = ${id}`))!;
      const recent = JSON.stringify(addStart(known.recent_starts_ms, start_ms));
      await tx.run(
        sql`UPDATE units SET starts = starts + 1, recent_starts_ms = ${recent}, started_at = ${now}
            WHERE id = ${id}`,
      );
    },
  },
);

export function addStart(recent_starts_ms: readonly number[], start_ms: number): number[] {
  return [start_ms, ...recent_starts_ms].slice(0, RECENT_STARTS);
}

/** How long its starts usually take; null: it was never started. */
export function learnStart({
  recent_starts_ms,
}: Pick<ManagedServerRow, "recent_starts_ms">): number | null {
  const sorted = [...recent_starts_ms].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

async function noteState(
  tx: Tx,
  id: string,
  state: ManagedServerState,
  is_put_down: boolean,
  now: number,
): Promise<void> {
  const stopped_at = state === "stopped" ? now : null;
  await tx.run(
    sql`INSERT INTO units
        (id, state, is_put_down, changed_at, starts, recent_starts_ms, started_at, stopped_at)
        VALUES (${id}, ${state}, ${is_put_down}, ${now}, 0, '[]', NULL, ${stopped_at})
        ON CONFLICT (id) DO UPDATE SET state = excluded.state, is_put_down = excluded.is_put_down,
          changed_at = excluded.changed_at,
          stopped_at = COALESCE(excluded.stopped_at, units.stopped_at)`,
  );
}
