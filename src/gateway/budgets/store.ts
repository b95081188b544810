// Budgets in the database: reservations of requests under way, sums of what was used, and which
// limits were announced.
import { type Static, Type } from "@sinclair/typebox";
import {
  createInsertion,
  type Db,
  into,
  splitRows,
  sql,
  store,
  type Tx,
} from "../../database/index.ts";
import { type OutboxEvent, recordEvents } from "../../outbox/store.ts";
import { writeRow } from "../../platform/schema.ts";
import { MINUTE_MS, QUARTER_MS } from "./period.ts";

/** Amounts used by an account or key; `estimated` counts requests with an estimate. */
export const UsedAmounts = Type.Object({
  requests: Type.Integer(),
  estimated: Type.Integer(),
  tokens: Type.Integer(),
  /** Micro-SAR. */
  cost: Type.Integer(),
});
export type UsedAmounts = Static<typeof UsedAmounts>;

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

const UseRow = Type.Object({
  subject: Type.String(),
  /** Length in milliseconds. */
  span: Type.Integer(),
  start: Type.Integer(),
  ...UsedAmounts.properties,
});
type UseRow = Static<typeof UseRow>;

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

export const budgetStore = store(
  "budgets",
  {
    /** Sums spans that begin in [from, until). */
    sum: async (db, subject: string, span: number, from: number, until: number) =>
      (await db.one(
        UsedAmounts,
        sql`SELECT COALESCE(SUM(requests), 0) AS requests, COALESCE(SUM(estimated), 0) AS estimated,
              COALESCE(SUM(tokens), 0) AS tokens, COALESCE(SUM(cost), 0) AS cost
            FROM budget_use WHERE subject = ${subject} AND span = ${span}
              AND start >= ${from} AND start < ${until}`,
      ))!,
    listReservations: (db) => listReservations(db),
  },
  {
    reserve: async (tx, row: ReservationRow) =>
      void (await tx.run(sql`INSERT INTO budget_reservations ${into(ReservationRow, row)}`)),
    /** A repeated request counts once, since its reservation is gone. */
    settle: async (tx, requests: readonly SettledRequest[], alerts: readonly LimitAlert[]) => {
      const used: [ReservationRow, UsedAmounts][] = [];
      for (const request of requests) {
        const reserved = await tx.one(
          ReservationRow,
          sql`DELETE FROM budget_reservations WHERE id = ${request.id} RETURNING *`,
        );
        if (reserved && request.requests > 0) used.push([reserved, request]);
      }
      await addUse(tx, used);
      for (const { event, ...row } of alerts) {
        const isNew = await tx.run(
          sql`INSERT INTO budget_alerts ${into(AlertRow, row)} ON CONFLICT DO NOTHING`,
        );
        if (isNew === 1) await recordEvents(tx, event);
      }
    },
    /** Charges what dead processes reserved before `until` in full: their use is unknown. */
    recover: async (tx, until: number) => {
      const rows = (await listReservations(tx)).filter(({ at }) => at < until);
      if (rows.length === 0) return 0;
      await tx.run(sql`DELETE FROM budget_reservations WHERE at < ${until}`);
      const charge = ({ tokens, cost }: ReservationRow) => {
        return { requests: 1, estimated: 1, tokens, cost };
      };
      await addUse(
        tx,
        rows.map((row) => [row, charge(row)]),
      );
      return rows.length;
    },
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

function listReservations(db: Db): Promise<ReservationRow[]> {
  return db.all(ReservationRow, sql`SELECT * FROM budget_reservations ORDER BY id`);
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
async function addUse(tx: Tx, used: readonly [ReservationRow, UsedAmounts][]): Promise<void> {
  const sums = new Map<string, UseRow>();
  for (const [{ at, subjects }, { requests, estimated, tokens, cost }] of used) {
    for (const subject of subjects) {
      for (const span of SPANS) {
        const start = at - (at % span);
        const name = `${subject} ${span} ${start}`;
        const sum = sums.get(name) ?? { subject, span, start, ...NOTHING };
        sum.requests += requests;
        sum.estimated += estimated;
        sum.tokens += tokens;
        sum.cost += cost;
        sums.set(name, sum);
      }
    }
  }
  for (const group of splitRows([...sums.values()])) {
    await tx.run(insertUse(group.map((row) => writeRow(UseRow, row))));
  }
}

const NOTHING: UsedAmounts = { requests: 0, estimated: 0, tokens: 0, cost: 0 };

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
    await tx.run(sql`DELETE FROM budget_use WHERE subject = ${subject}`);
    await tx.run(sql`DELETE FROM budget_alerts WHERE subject = ${subject}`);
  }
}
