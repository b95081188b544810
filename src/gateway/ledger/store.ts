// The ledger in the database: a row for each request, and the sums of each day, which outlive them.
import { type Static, Type } from "@sinclair/typebox";
import { intoAll, type Sql, sql, store, type Tx } from "../../platform/database/index.ts";
import { Money, maybe } from "../../platform/shape.ts";
import { Entry } from "./entry.ts";
import { DaySum, sumByDay } from "./sums.ts";

const Id = Type.Object({ id: Type.String() });
const Name = Type.String();

/** What sums can be taken by. */
export type UsageBy = "day" | "account" | "key" | "model";

const COLUMNS: Record<UsageBy, Sql> = {
  day: sql`day`,
  account: sql`account_id`,
  key: sql`key_id`,
  model: sql`model`,
};

/** What the requests of one day, account, key or model came to. */
export const UsageSum = Type.Object({
  /** The day, the ids, the model; empty: of none. */
  name: Name,
  requests: Type.Integer(),
  failed: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  cost: maybe(Money("SAR.")),
  unpriced: Type.Integer(),
});
export type UsageSum = Static<typeof UsageSum>;

/** Texts of statements are kept, so rows go in groups of few sizes. */
const GROUP_SIZES = [64, 16, 4, 1] as const;

export const ledgerStore = store(
  "ledger",
  {
    /** Sums from one day to another, both included. */
    sum: (db, by: UsageBy, from: string, to: string) =>
      db.all(
        UsageSum,
        sql`SELECT ${COLUMNS[by]} AS name, SUM(requests) AS requests, SUM(failed) AS failed,
              SUM(prompt_tokens) AS prompt_tokens, SUM(completion_tokens) AS completion_tokens,
              SUM(cost) AS cost, SUM(unpriced) AS unpriced
            FROM ledger_days WHERE day >= ${from} AND day <= ${to}
            GROUP BY ${COLUMNS[by]} ORDER BY ${COLUMNS[by]}`,
      ),
  },
  {
    /** `written`: entries as JSON. Run again, it counts none twice. */
    add: async (tx, written: string) => {
      const entries = JSON.parse(written) as Entry[];
      const added = new Set<string>();
      for (const group of splitRows(entries)) {
        const rows = await tx.all(
          Id,
          sql`INSERT INTO ledger ${intoAll(Entry, group)}
              ON CONFLICT (id) DO NOTHING RETURNING id`,
        );
        for (const { id } of rows) added.add(id);
      }
      const sums = sumByDay(entries.filter(({ id }) => added.has(id)));
      for (const group of splitRows(sums)) await addSums(tx, group);
    },
    /** Deletes up to `limit` entries from before `until`, the oldest first; how many they were. */
    sweep: (tx, until: number, limit: number) =>
      tx.run(
        sql`DELETE FROM ledger WHERE id IN
              (SELECT id FROM ledger WHERE at < ${until} ORDER BY at LIMIT ${limit})`,
      ),
  },
);

function* splitRows<T>(rows: readonly T[]): Generator<T[]> {
  for (let at = 0; at < rows.length; ) {
    const size = GROUP_SIZES.find((one) => one <= rows.length - at)!;
    yield rows.slice(at, at + size);
    at += size;
  }
}

async function addSums(tx: Tx, sums: DaySum[]): Promise<void> {
  await tx.run(
    // Unknown and a cost is that cost; only unknown and unknown stays so.
    sql`INSERT INTO ledger_days ${intoAll(DaySum, sums)}
        ON CONFLICT (day, account_id, key_id, model, route) DO UPDATE SET
          requests = ledger_days.requests + excluded.requests,
          failed = ledger_days.failed + excluded.failed,
          prompt_tokens = ledger_days.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = ledger_days.completion_tokens + excluded.completion_tokens,
          cost = COALESCE(ledger_days.cost + excluded.cost, ledger_days.cost, excluded.cost),
          unpriced = ledger_days.unpriced + excluded.unpriced`,
  );
}
