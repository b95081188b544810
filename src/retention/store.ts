// When the database was swept last, and the newest time at which the program knows that it wrote.
import { type Static, Type } from "@sinclair/typebox";
import { sql, store } from "../database/index.ts";
import { maybe } from "../platform/schema.ts";

const SweepRow = Type.Object({
  swept_at: maybe(Type.Integer()),
  /** No row of a start whose clock is in doubt moves it: a wrong clock cannot vouch for itself. */
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
    /** Dates what has no date: a new database, or one of an older program. */
    begin: async (tx, now: number) =>
      void (await tx.run(
        sql`INSERT INTO sweeps (number, swept_at, witnessed_at) VALUES (1, ${now}, ${now})
            ON CONFLICT (number) DO UPDATE SET
              swept_at = COALESCE(sweeps.swept_at, excluded.swept_at),
              witnessed_at = COALESCE(sweeps.witnessed_at, excluded.witnessed_at)`,
      )),
    /** The database was swept by a clock that is believed. */
    note: async (tx, now: number) =>
      void (await tx.run(
        sql`INSERT INTO sweeps (number, swept_at, witnessed_at) VALUES (1, ${now}, ${now})
            ON CONFLICT (number) DO UPDATE SET
              swept_at = excluded.swept_at, witnessed_at = excluded.witnessed_at`,
      )),
  },
);
