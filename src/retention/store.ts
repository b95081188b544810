// Time of the last sweep, and the newest time at which the program certainly wrote.
import { type Static, Type } from "@sinclair/typebox";
import { sql, store } from "../database/index.ts";
import { maybe } from "../platform/schema.ts";

const SweepRow = Type.Object({
  swept_at: maybe(Type.Integer()),
  /** A start with a doubtful clock does not move it: a wrong clock cannot vouch for itself. */
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
