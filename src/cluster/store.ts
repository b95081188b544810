// Processes that have or had the database; rows name their claimant by its epoch.
import { type Static, Type } from "@sinclair/typebox";
import { type Sql, sql, store, type Tx } from "../database/index.ts";
import { maybe } from "../platform/schema.ts";

/** `skewed`: its clock differs from the database's. */
export type ProcessState = "draining" | "drained" | "skewed";
/** A process that serves has none. */
const State = maybe(Type.Unsafe<ProcessState>({ type: "string" }));

const ProcessRow = Type.Object({
  epoch: Type.Integer(),
  /** Rises while the process lives, which others see without comparing clocks. */
  beats: Type.Integer(),
  started_at: Type.Integer(),
  ended_at: maybe(Type.Integer()),
  state: State,
});

/** Facts that a process tells of itself; null in rows of older programs. */
const ProcessAbout = Type.Object({
  address: maybe(Type.String()),
  pid: maybe(Type.Integer()),
  version: maybe(Type.String()),
  schema_number: maybe(Type.Integer()),
  settings_hash: maybe(Type.String()),
  settings_fault: maybe(Type.String()),
  /** Ids of the secrets keys at hand, newest first, with commas between them. */
  key_ids: maybe(Type.String()),
  reloads_done: Type.Integer(),
});
export type ProcessAbout = Static<typeof ProcessAbout>;

const Orders = Type.Object({
  state: State,
  reloads_asked: Type.Integer(),
  /** Live processes with other settings. */
  differing: Type.Integer(),
});

/** Channel on which a process is asked for something, and tells of itself. */
export const PROCESSES = "processes";

const Beaten = Type.Object({ at: Type.Integer() });
const Epoch = Type.Object({ epoch: Type.Integer() });

/**
 * Part of a transaction: a process that others declared dead may claim nothing, and a paused
 * installation claims nothing at all.
 */
export async function mayClaim(tx: Tx, epoch: number): Promise<boolean> {
  return (await tx.one(Epoch, sql`${findClaimant(epoch)} ${tx.forShare}`)) !== undefined;
}

/** Part of a statement behind `mayClaim`. */
export function findClaimant(epoch: number): Sql {
  return sql`SELECT epoch FROM processes WHERE epoch = ${epoch} AND ended_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM wadi_installation WHERE paused_at IS NOT NULL)`;
}

export const processStore = store(
  "processes",
  {
    list: (db) =>
      db.all(ProcessRow, sql`SELECT * FROM processes WHERE ended_at IS NULL ORDER BY epoch`),
    readAbout: (db, epoch: number) =>
      db.one(ProcessAbout, sql`SELECT * FROM processes WHERE epoch = ${epoch}`),
    readOrders: (db, epoch: number) =>
      db.one(
        Orders,
        sql`SELECT state, reloads_asked, (SELECT COUNT(*) FROM processes AS others
                WHERE others.ended_at IS NULL AND others.settings_hash <> processes.settings_hash)
              AS differing
            FROM processes WHERE epoch = ${epoch} AND ended_at IS NULL`,
      ),
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
    /** Returns the database's wall time; null: the process was declared dead. */
    async beat(tx, epoch: number): Promise<number | null> {
      const beaten = await tx.one(
        Beaten,
        sql`UPDATE processes SET beats = beats + 1 WHERE epoch = ${epoch} AND ended_at IS NULL
            RETURNING ${tx.clock} AS at`,
      );
      return beaten?.at ?? null;
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
    async describe(tx, epoch: number, about: ProcessAbout): Promise<void> {
      await tx.run(
        sql`UPDATE processes SET address = ${about.address}, pid = ${about.pid},
              version = ${about.version}, schema_number = ${about.schema_number},
              settings_hash = ${about.settings_hash}, settings_fault = ${about.settings_fault},
              key_ids = ${about.key_ids}, reloads_done = ${about.reloads_done}
            WHERE epoch = ${epoch}`,
      );
      tx.tell(PROCESSES, String(epoch));
    },
    /** Asks a process to begin no more work; returns false where it does not live. */
    async drain(tx, epoch: number): Promise<boolean> {
      const found = await tx.run(
        sql`UPDATE processes SET state = CASE state WHEN 'drained' THEN state ELSE 'draining' END
            WHERE epoch = ${epoch} AND ended_at IS NULL`,
      );
      tx.tell(PROCESSES, String(epoch));
      return found === 1;
    },
    /** Lets a process serve again; returns false where it does not live. */
    async undrain(tx, epoch: number): Promise<boolean> {
      const found = await tx.run(
        sql`UPDATE processes SET state = ${null} WHERE epoch = ${epoch} AND ended_at IS NULL`,
      );
      tx.tell(PROCESSES, String(epoch));
      return found === 1;
    },
    async noteSkew(tx, epoch: number, isSkewed: boolean): Promise<void> {
      await tx.run(
        sql`UPDATE processes SET state = ${isSkewed ? "skewed" : null} WHERE epoch = ${epoch}
            AND COALESCE(state, 'skewed') = 'skewed'`,
      );
      tx.tell(PROCESSES, String(epoch));
    },
    async endDrain(tx, epoch: number): Promise<void> {
      // An undrain since the state was read wins.
      await tx.run(
        sql`UPDATE processes SET state = 'drained' WHERE epoch = ${epoch} AND state = 'draining'`,
      );
      tx.tell(PROCESSES, String(epoch));
    },
    /** Asks all processes to read their settings again. */
    async askReload(tx): Promise<void> {
      await tx.run(
        sql`UPDATE processes SET reloads_asked = reloads_asked + 1 WHERE ended_at IS NULL`,
      );
      tx.tell(PROCESSES, "");
    },
    /** Asks all processes to tell of themselves where anything has changed. */
    async askAbout(tx): Promise<void> {
      tx.tell(PROCESSES, "");
    },
  },
);
