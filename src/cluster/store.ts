// Processes that have the database, or had it: each has a number, by which rows say who has them.
import { Type } from "@sinclair/typebox";
import { sql, store, type Tx } from "../database/index.ts";
import { maybe } from "../platform/schema.ts";

const ProcessRow = Type.Object({
  epoch: Type.Integer(),
  /** Rises for as long as it lives: others see that, whatever their clocks say. */
  beats: Type.Integer(),
  started_at: Type.Integer(),
  ended_at: maybe(Type.Integer()),
});

const Epoch = Type.Object({ epoch: Type.Integer() });

/** A part: false where others hold the process for dead, which then claims nothing. */
export async function isAlive(tx: Tx, epoch: number): Promise<boolean> {
  const alive = await tx.one(
    Epoch,
    sql`SELECT epoch FROM processes WHERE epoch = ${epoch} AND ended_at IS NULL`,
  );
  return alive !== undefined;
}

export const processStore = store(
  "processes",
  {
    /** Those that have not ended, or seem not to have. */
    list: (db) =>
      db.all(ProcessRow, sql`SELECT * FROM processes WHERE ended_at IS NULL ORDER BY epoch`),
  },
  {
    /** Enters a process, with the next number. */
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
    /** False: others hold this process for dead. */
    async beat(tx, epoch: number): Promise<boolean> {
      const beaten = await tx.run(
        sql`UPDATE processes SET beats = beats + 1 WHERE epoch = ${epoch} AND ended_at IS NULL`,
      );
      return beaten === 1;
    },
    /** A process ends, or is found dead: it claims nothing any more. */
    async end(tx, epoch: number, now: number): Promise<void> {
      await tx.run(
        sql`UPDATE processes SET ended_at = ${now} WHERE epoch = ${epoch} AND ended_at IS NULL`,
      );
    },
  },
);
