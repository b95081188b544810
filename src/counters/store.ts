// The place where several processes count, and their counters while that is PostgreSQL. Times are
// those of the database, whose clock all processes share.
import { type Static, Type } from "@sinclair/typebox";
import {
  createInsertion,
  type Sql,
  type SqlValue,
  splitRows,
  sql,
  store,
  type Tx,
  withRoots,
} from "../database/index.ts";
import { maybe, oneOf } from "../platform/schema.ts";
import { MOVED } from "./moved.ts";

/** Time for which a process that died counts as one that admitted: a window, and its lease. */
const REMEMBERED_MS = 62_000;

/**
 * `valkey`: the server named counts · `gathering`: processes report what they have admitted, and
 * nothing is decided · `database`: this database counts · `filling`: one process writes all of it
 * to Valkey, and nothing is decided.
 */
const CounterPlace = Type.Object({
  term: Type.Integer(),
  mode: oneOf(["valkey", "gathering", "database", "filling"], "Who counts."),
  /** Run id of the Valkey server: another one, or the same after a restart, has other counters. */
  server: maybe(Type.String()),
  /** Process that fills. */
  epoch: maybe(Type.Integer()),
});

const Take = Type.Object({
  counter: Type.String(),
  at: Type.Integer(),
  epoch: Type.Integer(),
  requests: Type.Integer(),
});
const Slots = Type.Object({
  service: Type.String(),
  epoch: Type.Integer(),
  slots: Type.Integer(),
});
const OtherSlots = Type.Object({
  slots: Type.Integer(),
  count: Type.Integer(),
  /** Processes with a lower epoch. */
  before: Type.Integer(),
  now: Type.Integer(),
});
const Use = Type.Object({
  now: Type.Integer(),
  requests: Type.Integer(),
  first: Type.Integer(),
  last: Type.Integer(),
});
const Value = Type.Object({ value: Type.Integer() });
const Aged = Type.Object({
  counter: Type.String(),
  /** Negative: the time left of a closing. */
  age: Type.Integer(),
  requests: Type.Integer(),
});

/** All that a process has admitted: requests by counter and age, closings, and slots in use. */
export interface CounterReport {
  /** `requests` 0: a closing, and its age is the time left below zero. */
  takes: readonly (readonly [counter: string, age: number, requests: number])[];
  slots: readonly (readonly [service: string, slots: number])[];
}

export interface CountedTake {
  term: number;
  epoch: number;
  counter: string;
  requests_max: number;
  windowMs: number;
  closingMs: number;
}

const PLACE = sql`SELECT term, mode, server, epoch FROM counter_place WHERE id = 1`;
const LIVE = sql`SELECT epoch FROM processes WHERE ended_at IS NULL`;
const insertTakes = createInsertion(Take, "INSERT INTO counter_takes", "");

const lockPlace = (tx: Tx) => tx.one(CounterPlace, sql`${PLACE} ${tx.forUpdate}`);

/** Lets another place count, in the next term or in this one. */
async function move(tx: Tx, to: Sql, terms = 1): Promise<void> {
  await tx.run(sql`UPDATE counter_place SET ${to}, term = term + ${terms} WHERE id = 1`);
  await tx.run(sql`UPDATE counter_reports SET server = ${null}`);
  await tx.run(sql`DELETE FROM counter_takes WHERE at < ${tx.clock} - ${REMEMBERED_MS}`);
  tx.tell(MOVED, "");
}

/** Goes on once nothing is missing, or where the process that had to go on is dead. */
async function settle(tx: Tx): Promise<void> {
  const { mode, term, epoch } = (await lockPlace(tx))!;
  if (mode !== "gathering" && mode !== "filling") return;
  const missing = await tx.one(
    Value,
    mode === "filling"
      ? sql`SELECT COUNT(*) AS value FROM (${LIVE}) AS live WHERE epoch = ${epoch}`
      : sql`SELECT COUNT(*) AS value FROM processes
        WHERE (ended_at IS NULL OR ended_at > ${tx.clock} - ${REMEMBERED_MS}) AND NOT EXISTS (
          SELECT 1 FROM counter_reports
          WHERE counter_reports.epoch = processes.epoch AND counter_reports.term >= ${term})`,
  );
  // A filling that failed has decided nothing, so this database can go on.
  if (missing!.value === 0) await move(tx, sql`mode = 'database'`, mode === "filling" ? 1 : 0);
}

/** A process's share of slots; what a division leaves goes round in turns of a second. */
function shareOf(max: number, { count, before, now }: Static<typeof OtherSlots>): number {
  const processes = count + 1;
  const turn = (before + Math.floor(now / 1000)) % processes;
  return Math.floor(max / processes) + (turn < max % processes ? 1 : 0);
}

const countTake = (tx: Tx, { counter, epoch }: CountedTake, at: number, requests: number) =>
  tx.run(
    sql`INSERT INTO counter_takes (counter, at, epoch, requests)
      VALUES (${counter}, ${at}, ${epoch}, ${requests})
      ON CONFLICT (counter, at, epoch)
      DO UPDATE SET requests = counter_takes.requests + ${requests}`,
  );

const counterStoreAlone = store(
  "counters",
  {
    find: (db) => db.one(CounterPlace, PLACE),
    /** Requests of the last minute, oldest last, and closings. */
    listTakes: (db) =>
      db.all(
        Aged,
        sql`SELECT counter, (SELECT ${db.clock}) - at AS age, requests FROM counter_takes
          WHERE at >= ${db.clock} - 60000 ORDER BY counter, at DESC`,
      ),
    listSlots: (db) =>
      db.all(
        Slots,
        sql`SELECT service, epoch, slots FROM counter_slots WHERE slots > 0 AND epoch IN (${LIVE})`,
      ),
  },
  {
    /** The database counts first: nothing has been admitted yet. */
    async open(tx): Promise<void> {
      await tx.run(
        sql`INSERT INTO counter_place (id, term, mode) VALUES (1, 1, 'database')
          ON CONFLICT (id) DO NOTHING`,
      );
    },
    /** Leaves a place: Valkey when it is away or has lost its counters, or a failed filling. */
    async lose(tx, lost: number): Promise<void> {
      const { mode, term } = (await lockPlace(tx))!;
      if (term !== lost) return;
      if (mode === "valkey") await move(tx, sql`mode = 'gathering'`);
      if (mode === "filling") await move(tx, sql`mode = 'database'`);
    },
    async report(tx, epoch: number, term: number, report: CounterReport): Promise<void> {
      await lockPlace(tx);
      const now = (await tx.one(Value, sql`SELECT ${tx.clock} AS value`))!.value;
      await tx.run(sql`DELETE FROM counter_takes WHERE epoch = ${epoch}`);
      const rows = report.takes.map(([counter, age, requests]): SqlValue[] => {
        return [counter, now - age, epoch, requests];
      });
      for (const part of splitRows(rows)) await tx.run(insertTakes(part));
      await tx.run(sql`DELETE FROM counter_slots WHERE epoch = ${epoch}`);
      for (const [service, slots] of report.slots) {
        await tx.run(sql`INSERT INTO counter_slots (service, epoch, slots)
          VALUES (${service}, ${epoch}, ${slots})`);
      }
      await tx.run(
        sql`INSERT INTO counter_reports (epoch, term) VALUES (${epoch}, ${term})
          ON CONFLICT (epoch) DO UPDATE SET term = ${term}, server = ${null}`,
      );
      await settle(tx);
    },
    settle,
    /** Counts one request and returns 0, or how long none will be; null: others count. */
    async take(tx, take: CountedTake): Promise<number | null> {
      const { term, counter, requests_max, windowMs, closingMs } = take;
      const place = await lockPlace(tx);
      if (place?.term !== term || place.mode !== "database") return null;
      const { now, requests, first, last } = (await tx.one(
        Use,
        sql`SELECT ${tx.clock} AS now, CAST(COALESCE(SUM(requests), 0) AS BIGINT) AS requests,
            COALESCE(MIN(at), 0) AS first, COALESCE(MAX(at), 0) AS last
          FROM counter_takes WHERE counter = ${counter} AND at >= ${tx.clock} - ${windowMs}`,
      ))!;
      if (last > now) return last - now;
      if (requests >= requests_max) {
        if (closingMs === 0) return first + windowMs + 1 - now;
        await countTake(tx, take, now + closingMs, 0);
        return closingMs;
      }
      await countTake(tx, take, now, 1);
      return 0;
    },
    /**
     * Reserves the slots that a process keeps and wants, of a maximum of all processes. Returns how
     * many it may use, where it is fair its share at most; null: others count.
     */
    async hold(tx, held: HeldSlots): Promise<number | null> {
      const { term, epoch, service, keep, wanted, max } = held;
      const place = await lockPlace(tx);
      let granted = wanted;
      if (max !== null) {
        if (place?.term !== term || place.mode !== "database") return null;
        const others = (await tx.one(
          OtherSlots,
          sql`SELECT CAST(COALESCE(SUM(slots), 0) AS BIGINT) AS slots, COUNT(*) AS count,
              CAST(COALESCE(SUM(CASE WHEN live.epoch < ${epoch} THEN 1 ELSE 0 END), 0) AS BIGINT)
              AS before, ${tx.clock} AS now
            FROM (${LIVE}) AS live LEFT JOIN counter_slots
              ON counter_slots.epoch = live.epoch AND service = ${service}
            WHERE live.epoch <> ${epoch}`,
        ))!;
        granted = Math.max(0, Math.min(wanted, max - others.slots));
        if (held.isFair) granted = Math.min(granted, shareOf(max, others));
      }
      const slots = Math.max(keep, granted);
      await tx.run(
        sql`INSERT INTO counter_slots (service, epoch, slots)
          VALUES (${service}, ${epoch}, ${slots})
          ON CONFLICT (service, epoch) DO UPDATE SET slots = ${slots}`,
      );
      return granted;
    },
    /** Notes which Valkey server a process reaches; once all reach one, this process fills it. */
    async reach(tx, epoch: number, term: number, server: string | null): Promise<void> {
      const place = await lockPlace(tx);
      if (place?.term !== term || place.mode !== "database") return;
      await tx.run(
        sql`INSERT INTO counter_reports (epoch, term, server) VALUES (${epoch}, ${0}, ${server})
          ON CONFLICT (epoch) DO UPDATE SET server = ${server}`,
      );
      if (server === null) return;
      const others = await tx.one(
        Value,
        sql`SELECT COUNT(*) AS value FROM (${LIVE}) AS live
          WHERE NOT EXISTS (SELECT 1 FROM counter_reports AS one
            WHERE one.epoch = live.epoch AND one.server = ${server})`,
      );
      if (others!.value > 0) return;
      await move(tx, sql`mode = 'filling', server = ${server}, epoch = ${epoch}`);
    },
    /** Ends a filling: Valkey counts from now on. */
    async fill(tx, filled: number): Promise<void> {
      const { mode, term } = (await lockPlace(tx))!;
      if (term === filled && mode === "filling") await move(tx, sql`mode = 'valkey'`, 0);
    },
  },
);

export interface HeldSlots {
  term: number;
  epoch: number;
  service: string;
  keep: number;
  wanted: number;
  /** Maximum of all processes together; null where slots are given back. */
  max: number | null;
  isFair: boolean;
}

const all = () => "place";

/** Each write locks the one row of the place first, so that all follow one another. */
export const counterStore = withRoots(counterStoreAlone, {
  ...{ lose: all, report: all, settle: all, take: all, hold: all, reach: all, fill: all },
});
