// Processes that have or had the database; rows name their claimant by its epoch.
import { Type } from "@sinclair/typebox";
import { sql, store, type Tx } from "../database/index.ts";
import { maybe } from "../platform/schema.ts";

const ProcessRow = Type.Object({
  epoch: Type.Integer(),
  /** Rises while the process lives, which others see without comparing clocks. */
  beats: Type.Integer(),
  started_at: Type.Integer(),
  ended_at: maybe(Type.Integer()),
});

const Epoch = Type.Object({ epoch: Type.Integer() });

/**
 * Part of a transaction: a process that others declared dead may claim nothing, and a paused
 * installation claims nothing at all.
 */
export async function mayClaim(tx: Tx, epoch: number): Promise<boolean> {
  const alive = await tx.one(
    Epoch,
    sql`SELECT epoch FROM processes WHERE epoch = ${epoch} AND ended_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM wadi_installation WHERE paused_at IS NOT NULL)
        ${tx.forShare}`,
  );
  return alive !== undefined;
}

export const processStore = store(
  "processes",
  {
    list: (db) =>
      db.all(ProcessRow, sql`SELECT * FROM processes WHERE ended_at IS NULL ORDER BY epoch`),
  },
  {
    async register(tx, now: number): Promise<number> {
      const last = await tx.one(
        Epoch,
        sql`SELECT epoch FROM processes ORDER BY epoch DESC LIMIT 1`,
      );
      const epoch = (last?.epoch ?? 0) + 1;
      await tx.run(
        sql`INSERT INTO processes (epoch, beats, started_at, ended_at)
            VALUES (${epoch}, 0, ${now}, ${null})`,
      );
      return epoch;
    },
    async beat(tx, epoch: number): Promise<boolean> {
      const beaten = await tx.run(
        sql`UPDATE processes SET beats = beats + 1 WHERE epoch = ${epoch} AND ended_at IS NULL`,
      );
      return beaten === 1;
    },
    /** Ends another process that was silent since `beats`; false: it lives, or has ended. */
    async endSilent(tx, epoch: number, beats: number, now: number): Promise<boolean> {
      const ended = await tx.run(
        sql`UPDATE processes SET ended_at = ${now}
            WHERE epoch = ${epoch} AND beats = ${beats} AND ended_at IS NULL`,
      );
      return ended === 1;
    },
    /** Returns false where another live process has the lease, or this one is dead. */
    async takeLease(tx, name: string, epoch: number): Promise<boolean> {
      const taken = await tx.run(
        sql`INSERT INTO leases (name, epoch)
            SELECT CAST(${name} AS TEXT), epoch FROM processes
            WHERE epoch = ${epoch} AND ended_at IS NULL
            ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch
            WHERE leases.epoch = excluded.epoch OR NOT EXISTS (
              SELECT 1 FROM processes WHERE epoch = leases.epoch AND ended_at IS NULL)`,
      );
      return taken === 1;
    },
    async endLease(tx, name: string, epoch: number): Promise<void> {
      await tx.run(sql`DELETE FROM leases WHERE name = ${name} AND epoch = ${epoch}`);
    },
    async end(tx, epoch: number, now: number): Promise<void> {
      await tx.run(
        sql`UPDATE processes SET ended_at = ${now} WHERE epoch = ${epoch} AND ended_at IS NULL`,
      );
    },
  },
);
