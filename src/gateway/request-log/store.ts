// The ledger in the database: a row for each request, and the sums of each day, which outlive them.
import { type Static, Type } from "@sinclair/typebox";
import { createInsertion, type Sql, splitRows, sql, store, type Tx } from "../../database/index.ts";
import { Money, maybe, writeRow } from "../../platform/schema.ts";
import { DaySum, sumByDay } from "./daily-sums.ts";
import { LogEntry, type LogEntryValues, nameValues, readEntries } from "./entry.ts";

const Name = Type.String();

/** What sums can be taken by. */
export type UsageGrouping = "day" | "account" | "key" | "model" | "route";

const COLUMNS: Record<UsageGrouping, Sql> = {
  day: sql`day`,
  account: sql`account_id`,
  key: sql`key_id`,
  model: sql`model`,
  route: sql`route`,
};

/** What the requests of one day, account, key, model or route came to. */
export const GatewayUsage = Type.Object({
  /** The day, the ids, the model, the route; empty: of none. */
  name: Name,
  requests: Type.Integer(),
  failed: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  cost: maybe(Money("SAR.")),
  unpriced: Type.Integer(),
});
export type GatewayUsage = Static<typeof GatewayUsage>;

export const requestLogStore = store(
  "ledger",
  {
    /** Sums from one day to another, both included. */
    sum: (db, by: UsageGrouping, from: string, to: string) =>
      db.all(
        GatewayUsage,
        sql`SELECT ${COLUMNS[by]} AS name, SUM(requests) AS requests, SUM(failed) AS failed,
              SUM(prompt_tokens) AS prompt_tokens, SUM(completion_tokens) AS completion_tokens,
              SUM(cost) AS cost, SUM(unpriced) AS unpriced
            FROM ledger_days WHERE day >= ${from} AND day <= ${to}
            GROUP BY ${COLUMNS[by]} ORDER BY ${COLUMNS[by]}`,
      ),
  },
  {
    /**
     * `written`: entries as writeEntries writes them. `isAgain`: a write of them has failed, and
     * may have happened all the same; what is there already is counted no second time.
     */
    add: async (tx, written: string, isAgain: boolean) => {
      const entries = readEntries(written);
      const added = isAgain ? await addMissing(tx, entries) : entries;
      if (!isAgain) for (const group of splitRows(entries)) await addEntries(tx, group);
      for (const group of splitRows(sumByDay(added.map(nameValues)))) await addSums(tx, group);
    },
    /** Deletes up to `limit` entries from before `until`, the oldest first; how many they were. */
    sweep: (tx, until: number, limit: number) =>
      tx.run(
        sql`DELETE FROM ledger WHERE id IN
              (SELECT id FROM ledger WHERE at < ${until} ORDER BY at LIMIT ${limit})`,
      ),
  },
);

const insertEntries = createInsertion(
  LogEntry,
  "INSERT INTO ledger",
  "ON CONFLICT (id) DO NOTHING",
);

async function addEntries(tx: Tx, group: LogEntryValues[]): Promise<void> {
  const count = await tx.run(insertEntries(group));
  // Nobody else draws these ids; should it be so all the same, they are tried again one by one.
  if (count < group.length) throw new Error("entries of the ledger are there already");
}

/** One by one, so that each tells whether it was there. */
async function addMissing(tx: Tx, entries: LogEntryValues[]): Promise<LogEntryValues[]> {
  const added: LogEntryValues[] = [];
  for (const entry of entries) if ((await tx.run(insertEntries([entry]))) === 1) added.push(entry);
  return added;
}

const insertSums = createInsertion(
  DaySum,
  "INSERT INTO ledger_days",
  // Unknown and a cost is that cost; only unknown and unknown stays so.
  `ON CONFLICT (day, account_id, key_id, model, route) DO UPDATE SET
    requests = ledger_days.requests + excluded.requests,
    failed = ledger_days.failed + excluded.failed,
    prompt_tokens = ledger_days.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = ledger_days.completion_tokens + excluded.completion_tokens,
    cost = COALESCE(ledger_days.cost + excluded.cost, ledger_days.cost, excluded.cost),
    unpriced = ledger_days.unpriced + excluded.unpriced`,
);

async function addSums(tx: Tx, sums: DaySum[]): Promise<void> {
  await tx.run(insertSums(sums.map((sum) => writeRow(DaySum, sum))));
}
