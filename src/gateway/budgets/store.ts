// Budgets in the database: reservations of requests under way, sums of what was used, and which
// limits were announced.
import { type Static, Type } from "@sinclair/typebox";
import type { Period } from "../../access/index.ts";
import {
  createInsertion,
  type Db,
  into,
  none,
  splitRows,
  sql,
  store,
  type Tx,
  withRoots,
} from "../../database/index.ts";
import { type OutboxEvent, recordEvents } from "../../outbox/store.ts";
import { writeRow } from "../../platform/schema.ts";
import { Amounts, addAmounts, addUsed, findUse, RangeUse, UNUSED, UsedAmounts } from "./amounts.ts";
import { fitsLimits, type LimitedSubject } from "./excess.ts";
import { MINUTE_MS, type PeriodRange, QUARTER_MS, spanOf } from "./period.ts";

/** A request that is under way, with the maximum that it may use. */
const ReservationRow = Type.Object({
  id: Type.String(),
  at: Type.Integer(),
  /** Limited account and key: `account ID`, `key ID`. */
  subjects: Type.Array(Type.String()),
  tokens: Type.Integer(),
  cost: Type.Integer(),
});
export type ReservationRow = Static<typeof ReservationRow>;

/** `epoch`: the process that has reserved it beside others; 0: one that was alone. */
const HeldRow = Type.Object({ ...ReservationRow.properties, epoch: Type.Integer() });
export type HeldRow = Static<typeof HeldRow>;

const Epoch = Type.Object({ epoch: Type.Integer() });

/** Use of a subject in its present periods, which several processes change in turn. */
const RootRow = Type.Object({ subject: Type.String(), uses: Type.Array(RangeUse) });
export type RootRow = Static<typeof RootRow>;

export type PeriodRanges = Readonly<Record<Period, PeriodRange>>;

const UseRow = Type.Object({
  subject: Type.String(),
  /** Length in milliseconds. */
  span: Type.Integer(),
  start: Type.Integer(),
  ...UsedAmounts.properties,
});
type UseRow = Static<typeof UseRow>;
type EndedRequest = readonly [HeldRow, UsedAmounts];

const AlertRow = Type.Object({
  subject: Type.String(),
  name: Type.String(),
  start: Type.Integer(),
  maximum: Type.Integer(),
  percent: Type.Integer(),
});

/** A request that has ended, or was given back with zeros. */
export interface SettledRequest extends UsedAmounts {
  id: string;
}

/** A limit that a period has used to a percentage; the event is written once. */
export interface LimitAlert extends Static<typeof AlertRow> {
  event: OutboxEvent;
}

export const SPANS = [MINUTE_MS, QUARTER_MS] as const;

const declared = store(
  "budgets",
  {
    /** Sums spans that begin in [from, until). */
    sum: (db, subject: string, span: number, from: number, until: number) =>
      sumUse(db, subject, span, from, until),
    listReservations: (db) => listReservations(db),
    /** Reads the use of subjects that several processes serve. */
    readUses: async (db, subjects: readonly string[], ranges: PeriodRanges) => {
      const roots = await listRoots(db, subjects);
      const read = (subject: string) => {
        const uses = roots.find((root) => root.subject === subject)?.uses ?? [];
        return findRanges(db, { subject, uses }, ranges);
      };
      return Promise.all(subjects.map(read));
    },
    /** Lists the processes that have requests under way. */
    listEpochs: async (db) => {
      const rows = await db.all(Epoch, sql`SELECT DISTINCT epoch FROM budget_reservations`);
      return rows.map(({ epoch }) => epoch);
    },
  },
  {
    reserve: async (tx, row: ReservationRow) =>
      void (await tx.run(sql`INSERT INTO budget_reservations ${into(ReservationRow, row)}`)),
    /**
     * Reserves what has room within the limits, beside other processes; returns the use then. One
     * root at a time: the account, or the key without one.
     */
    reserveWithin: async (
      tx,
      _root: string,
      row: HeldRow,
      limited: readonly LimitedSubject[],
      ranges: PeriodRanges,
    ) => {
      const needed = { requests: 1, tokens: row.tokens, cost: row.cost };
      const roots: RootRow[] = [];
      for (const root of await lockRoots(tx, row.subjects)) {
        const { subject, uses } = await findRanges(tx, root, ranges);
        // Every call finds again what another has dropped.
        roots.push({ subject, uses: uses.filter(({ end }) => end > row.at - MINUTE_MS) });
      }
      const isReserved = limited.every((subject) => {
        const { uses } = roots.find((root) => root.subject === subject.name)!;
        return fitsLimits(subject, (period) => findUse(uses, ranges[period])!, needed);
      });
      if (isReserved) {
        for (const { reserved } of listUses(roots, row)) addAmounts(reserved, needed);
        await tx.run(sql`INSERT INTO budget_reservations ${into(HeldRow, row)}`);
      }
      await saveRoots(tx, roots);
      return { isReserved, roots };
    },
    settle: async (tx, requests: readonly SettledRequest[], alerts: readonly LimitAlert[]) => {
      await settle(tx, requests, alerts);
    },
    /** Settles requests of one root beside other processes; returns the use then. */
    settleWithin: (
      tx,
      _root: string,
      requests: readonly SettledRequest[],
      alerts: readonly LimitAlert[],
    ) => settle(tx, requests, alerts),
    /** Charges what dead processes reserved before `until` in full: their use is unknown. */
    recover: async (tx, until: number) => {
      const rows = await tx.all(
        HeldRow,
        sql`DELETE FROM budget_reservations WHERE at < ${until} RETURNING *`,
      );
      await charge(tx, rows);
      return rows.length;
    },
    /** Charges what one dead process of several has reserved in full. */
    recoverEpoch: async (tx, epoch: number) => {
      const rows = await tx.all(
        HeldRow,
        sql`DELETE FROM budget_reservations WHERE epoch = ${epoch} RETURNING *`,
      );
      await charge(tx, rows);
      return rows.length;
    },
    /** Lets the use of every subject be found again: a lone process has not kept it. */
    forgetUses: async (tx) => void (await tx.run(sql`UPDATE budget_roots SET uses = '[]'`)),
    /** Deletes up to `limit` sums of spans that began before `until`. */
    sweepUse: (tx, span: number, until: number, limit: number) =>
      tx.run(
        sql`DELETE FROM budget_use WHERE (subject, span, start) IN
              (SELECT subject, span, start FROM budget_use
               WHERE span = ${span} AND start < ${until} ORDER BY start LIMIT ${limit})`,
      ),
    sweepAlerts: (tx, until: number, limit: number) =>
      tx.run(
        sql`DELETE FROM budget_alerts WHERE (subject, name, start, maximum, percent) IN
              (SELECT subject, name, start, maximum, percent FROM budget_alerts
               WHERE start < ${until} ORDER BY start LIMIT ${limit})`,
      ),
  },
);

export const budgetStore = withRoots(declared, {
  reserveWithin: (root) => root,
  settleWithin: (root) => root,
});

function listReservations(db: Db): Promise<ReservationRow[]> {
  return db.all(ReservationRow, sql`SELECT * FROM budget_reservations ORDER BY id`);
}

async function sumUse(db: Db, subject: string, span: number, from: number, until: number) {
  const sum = await db.one(
    UsedAmounts,
    sql`SELECT COALESCE(SUM(requests), 0) AS requests, COALESCE(SUM(estimated), 0) AS estimated,
          COALESCE(SUM(tokens), 0) AS tokens, COALESCE(SUM(cost), 0) AS cost
        FROM budget_use WHERE subject = ${subject} AND span = ${span}
          AND start >= ${from} AND start < ${until}`,
  );
  return sum!;
}

async function sumReserved(db: Db, subject: string, { start, end }: PeriodRange) {
  const sum = await db.one(
    Amounts,
    sql`SELECT COUNT(*) AS requests, COALESCE(SUM(tokens), 0) AS tokens,
          COALESCE(SUM(cost), 0) AS cost FROM budget_reservations
        WHERE at >= ${start} AND at < ${end} AND subjects LIKE ${`%"${subject}"%`}`,
  );
  return sum!;
}

function listRoots(db: Db, subjects: readonly string[], lock = none): Promise<RootRow[]> {
  const names = subjects
    .map((subject) => sql`${subject}`)
    .reduce((all, one) => sql`${all}, ${one}`);
  return db.all(
    RootRow,
    sql`SELECT * FROM budget_roots WHERE subject IN (${names}) ORDER BY subject ${lock}`,
  );
}

/** Locks the roots in one order for all, and makes those that are missing. */
async function lockRoots(tx: Tx, subjects: readonly string[]): Promise<RootRow[]> {
  const roots = await listRoots(tx, subjects, tx.forUpdate);
  if (roots.length === subjects.length) return roots;
  for (const subject of subjects.toSorted()) {
    const row = { subject, uses: [] };
    await tx.run(sql`INSERT INTO budget_roots ${into(RootRow, row)} ON CONFLICT DO NOTHING`);
  }
  return listRoots(tx, subjects, tx.forUpdate);
}

async function saveRoots(tx: Tx, roots: readonly RootRow[]): Promise<void> {
  for (const { subject, uses } of roots) {
    const text = JSON.stringify(uses);
    await tx.run(sql`UPDATE budget_roots SET uses = ${text} WHERE subject = ${subject}`);
  }
}

/** The root with the use of all ranges: what it does not have is summed. */
async function findRanges(db: Db, root: RootRow, ranges: PeriodRanges): Promise<RootRow> {
  const { subject } = root;
  const uses = [...root.uses];
  for (const range of Object.values(ranges)) {
    const { start, end } = range;
    if (findUse(uses, range)) continue;
    const used = await sumUse(db, subject, spanOf(range), start, end);
    uses.push({ start, end, used, reserved: await sumReserved(db, subject, range) });
  }
  return { subject, uses };
}

/** Uses of a request's subjects in the ranges that hold its time. */
function listUses(roots: readonly RootRow[], { at, subjects }: ReservationRow): RangeUse[] {
  return roots
    .filter(({ subject }) => subjects.includes(subject))
    .flatMap(({ uses }) => uses.filter(({ start, end }) => start <= at && at < end));
}

/** A repeated request counts once, since its reservation is gone. */
async function settle(
  tx: Tx,
  requests: readonly SettledRequest[],
  alerts: readonly LimitAlert[],
): Promise<RootRow[]> {
  const ended: EndedRequest[] = [];
  for (const request of requests) {
    const row = await tx.one(
      HeldRow,
      sql`DELETE FROM budget_reservations WHERE id = ${request.id} RETURNING *`,
    );
    if (row) ended.push([row, request]);
  }
  const roots = await end(tx, ended);
  for (const { event, ...row } of alerts) {
    const isNew = await tx.run(
      sql`INSERT INTO budget_alerts ${into(AlertRow, row)} ON CONFLICT DO NOTHING`,
    );
    if (isNew === 1) await recordEvents(tx, event);
  }
  return roots;
}

/** Their use is unknown. */
async function charge(tx: Tx, rows: readonly HeldRow[]): Promise<void> {
  const ended = rows.map((row): EndedRequest => {
    const { tokens, cost } = row;
    return [row, { requests: 1, estimated: 1, tokens, cost }];
  });
  await end(tx, ended);
}

/** Counts requests whose reservations are gone; returns the roots, which only several keep. */
async function end(tx: Tx, ended: readonly EndedRequest[]): Promise<RootRow[]> {
  const shared = ended.filter(([{ epoch }]) => epoch > 0);
  const subjects = new Set(shared.flatMap(([row]) => row.subjects));
  const roots = subjects.size > 0 ? await listRoots(tx, [...subjects], tx.forUpdate) : [];
  for (const [row, amounts] of shared) {
    const { tokens, cost } = row;
    for (const use of listUses(roots, row)) {
      addAmounts(use.reserved, { requests: 1, tokens, cost }, -1);
      addUsed(use.used, amounts);
    }
  }
  await addUse(
    tx,
    ended.filter(([, { requests }]) => requests > 0),
  );
  await saveRoots(tx, roots);
  return roots;
}

const insertUse = createInsertion(
  UseRow,
  "INSERT INTO budget_use",
  `ON CONFLICT (subject, span, start) DO UPDATE SET
    requests = budget_use.requests + excluded.requests,
    estimated = budget_use.estimated + excluded.estimated,
    tokens = budget_use.tokens + excluded.tokens,
    cost = budget_use.cost + excluded.cost`,
);

/** Counts each request in the spans in which it was reserved. */
async function addUse(tx: Tx, used: readonly EndedRequest[]): Promise<void> {
  const sums = new Map<string, UseRow>();
  for (const [{ at, subjects }, amounts] of used) {
    for (const subject of subjects) {
      for (const span of SPANS) {
        const start = at - (at % span);
        const name = `${subject} ${span} ${start}`;
        const sum = sums.get(name) ?? { subject, span, start, ...UNUSED };
        addUsed(sum, amounts);
        sums.set(name, sum);
      }
    }
  }
  for (const group of splitRows([...sums.values()])) {
    await tx.run(insertUse(group.map((row) => writeRow(UseRow, row))));
  }
}

/**
 * Part of a transaction: deletes what accounts and keys have used, and their announced limits.
 * Requests under way lose their reservations, so that their settlements count nothing.
 */
export async function dropBudgets(tx: Tx, subjects: readonly string[]): Promise<void> {
  const dropped = new Set(subjects);
  for (const reservation of await listReservations(tx)) {
    if (!reservation.subjects.some((subject) => dropped.has(subject))) continue;
    await tx.run(sql`DELETE FROM budget_reservations WHERE id = ${reservation.id}`);
  }
  for (const subject of subjects) {
    await tx.run(sql`DELETE FROM budget_roots WHERE subject = ${subject}`);
    await tx.run(sql`DELETE FROM budget_use WHERE subject = ${subject}`);
    await tx.run(sql`DELETE FROM budget_alerts WHERE subject = ${subject}`);
  }
}
