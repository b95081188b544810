// Time of the last sweep, and the time by which the clock is judged.
import { type Static, Type } from "@sinclair/typebox";
import { sql, store } from "../database/index.ts";
import { maybe } from "../platform/schema.ts";

const SweepRow = Type.Object({
  swept_at: maybe(Type.Integer()),
  /** Time of the last sweep by a trusted clock; null before the first start. */
  witnessed_at: maybe(Type.Integer()),
});
export type SweepRow = Static<typeof SweepRow>;

export const sweepStore = store(
  "sweeps",
  {
    find: async (db) =>
      (await db.one(SweepRow, sql`SELECT swept_at, witnessed_at FROM sweeps`)) ?? {
        swept_at: null,
        witnessed_at: null,
      },
  },
  {
    /** Dates a new database, or one of an older program. */
    begin: async (tx, now: number) =>
      void (await tx.run(
        sql`INSERT INTO sweeps (number, swept_at, witnessed_at) VALUES (1, ${now}, ${now})
            ON CONFLICT (number) DO UPDATE SET
              swept_at = COALESCE(sweeps.swept_at, excluded.swept_at),
              witnessed_at = COALESCE(sweeps.witnessed_at, excluded.witnessed_at)`,
      )),
    note: async (tx, now: number) =>
      void (await tx.run(
        sql`INSERT INTO sweeps (number, swept_at, witnessed_at) VALUES (1, ${now}, ${now})
            ON CONFLICT (number) DO UPDATE SET
              swept_at = excluded.swept_at, witnessed_at = excluded.witnessed_at`,
      )),
  },
);
