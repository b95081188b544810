// The request log in the database: a row for each request, and daily sums, which outlive the rows.
import { type Static, Type } from "@sinclair/typebox";
import {
  createInsertion,
  none,
  type Sql,
  splitRows,
  sql,
  store,
  type Tx,
} from "../../database/index.ts";
import { writeDay } from "../../platform/calendar.ts";
import { Money, maybe, writeRow } from "../../platform/schema.ts";
import { LogEntry, type LogEntryValues, nameValues, readEntries } from "./entry.ts";

export type UsageGrouping = "day" | "account" | "key" | "model" | "route";

const COLUMNS: Record<UsageGrouping, Sql> = {
  day: sql`day`,
  account: sql`account_id`,
  key: sql`key_id`,
  model: sql`model`,
  route: sql`route`,
};

const SUMS = {
  requests: Type.Integer(),
  /** Requests that ended with an error code, also inside a stream or because the caller left. */
  failed: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  cost: maybe(Money("SAR.")),
  unpriced: Type.Integer(),
};

export const GatewayUsage = Type.Object({ name: Type.String(), ...SUMS });
export type GatewayUsage = Static<typeof GatewayUsage>;

export const DaySum = Type.Object({
  /** UTC: `2026-11-20`. */
  day: Type.String(),
  /** "" for a key without an owner: in a unique key no null equals another. */
  account_id: Type.String(),
  key_id: Type.String(),
  /** "" for a request that was refused before its model was known. */
  model: Type.String(),
  route: Type.String(),
  ...SUMS,
});
export type DaySum = Static<typeof DaySum>;

/** Entries to find; what is undefined matches every entry. */
export interface RequestFilter {
  /** First or last characters of the row's or the request's id, without wildcards. */
  idPart?: string;
  account_id?: string;
  key_id?: string;
  /** The model that was asked for, or the one that it meant. */
  model?: string;
  statusMin?: number;
  statusMax?: number;
  code?: string;
  run_id?: string;
  /** Earliest arrival in milliseconds since 1970. */
  since?: number;
  slowerThanMs?: number;
}

/** A range of ids, with one bound for each end: `from` and `to` are included, the others not. */
export interface IdRange {
  lower?: { from: string } | { after: string };
  upper?: { to: string } | { before: string };
}

const RangeEnd = Type.Object({ id: Type.String(), ended_at: Type.Integer() });

export const requestLogStore = store(
  "ledger",
  {
    /** Entries with that id or request id, newest first. */
    find: (db, id: string, limit: number) =>
      db.all(
        LogEntry,
        sql`SELECT * FROM ledger WHERE id = ${id} OR request_id = ${id}
            ORDER BY id DESC LIMIT ${limit}`,
      ),
    /** The oldest of `size` entries before that id; undefined where fewer are left. */
    findOldest: (db, before: string | null, size: number) =>
      db.one(
        RangeEnd,
        sql`SELECT id, at + duration_ms AS ended_at FROM ledger
            ${before === null ? none : sql`WHERE id < ${before}`}
            ORDER BY id DESC LIMIT 1 OFFSET ${size - 1}`,
      ),
    /** The newest of up to `size` entries after that id, and before another. */
    findNewest: (db, after: string, before: string, size: number) =>
      db.one(
        RangeEnd,
        sql`SELECT id, ended_at FROM
              (SELECT id, at + duration_ms AS ended_at FROM ledger
               WHERE id > ${after} AND id < ${before} ORDER BY id LIMIT ${size}) AS page
            ORDER BY id DESC LIMIT 1`,
      ),
    /** Newest first. */
    list: (db, filter: RequestFilter, range: IdRange, limit: number) =>
      db.all(
        LogEntry,
        sql`SELECT * FROM ledger WHERE ${inRange(range)} ${matching(filter)}
            ORDER BY id DESC LIMIT ${limit}`,
      ),
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
     * Adds entries in the form of `writeEntries`. With `isRetry`, a failed write may have added
     * some of them: those are not counted twice.
     */
    add: async (tx, text: string, isRetry: boolean) => {
      const entries = readEntries(text);
      const added = isRetry ? await addMissing(tx, entries) : entries;
      if (!isRetry) for (const group of splitRows(entries)) await addEntries(tx, group);
      for (const group of splitRows(sumByDay(added.map(nameValues)))) await addSums(tx, group);
    },
    /** Deletes up to `limit` entries from before `until`, the oldest first; returns how many. */
    sweep: (tx, until: number, limit: number) =>
      tx.run(
        sql`DELETE FROM ledger WHERE id IN
              (SELECT id FROM ledger WHERE at < ${until} ORDER BY at LIMIT ${limit})`,
      ),
  },
);

/** An index search takes one condition for each end. */
function inRange({ lower = { after: "" }, upper }: IdRange): Sql {
  const above = "from" in lower ? sql`id >= ${lower.from}` : sql`id > ${lower.after}`;
  if (!upper) return above;
  return "to" in upper
    ? sql`${above} AND id <= ${upper.to}`
    : sql`${above} AND id < ${upper.before}`;
}

function matching(filter: RequestFilter): Sql {
  const { account_id, key_id, model, statusMin, statusMax, code, run_id } = filter;
  const { since, slowerThanMs, idPart } = filter;
  const like = (pattern: string) => sql`id LIKE ${pattern} OR request_id LIKE ${pattern}`;
  return sql`
    ${idPart === undefined ? none : sql`AND (${like(`${idPart}%`)} OR ${like(`%${idPart}`)})`}
    ${account_id === undefined ? none : sql`AND account_id = ${account_id}`}
    ${key_id === undefined ? none : sql`AND key_id = ${key_id}`}
    ${model === undefined ? none : sql`AND (model = ${model} OR model_asked = ${model})`}
    ${statusMin === undefined ? none : sql`AND status >= ${statusMin}`}
    ${statusMax === undefined ? none : sql`AND status <= ${statusMax}`}
    ${code === undefined ? none : sql`AND code = ${code}`}
    ${run_id === undefined ? none : sql`AND run_id = ${run_id}`}
    ${since === undefined ? none : sql`AND at >= ${since}`}
    ${slowerThanMs === undefined ? none : sql`AND duration_ms > ${slowerThanMs}`}`;
}

const insertEntries = createInsertion(
  LogEntry,
  "INSERT INTO ledger",
  "ON CONFLICT (id) DO NOTHING",
);

async function addEntries(tx: Tx, group: LogEntryValues[]): Promise<void> {
  const count = await tx.run(insertEntries(group));
  // Ids are unique, so that a known one is a retry: the caller tries it one by one.
  if (count < group.length) throw new Error("entries of the ledger are there already");
}

async function addMissing(tx: Tx, entries: LogEntryValues[]): Promise<LogEntryValues[]> {
  const added: LogEntryValues[] = [];
  for (const entry of entries) if ((await tx.run(insertEntries([entry]))) === 1) added.push(entry);
  return added;
}

const insertSums = createInsertion(
  DaySum,
  "INSERT INTO ledger_days",
  // An unknown cost leaves the sum as it is.
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

export function sumByDay(entries: readonly LogEntry[]): DaySum[] {
  const sums = new Map<string, DaySum>();
  for (const entry of entries) {
    const sum = makeSum(entry);
    const { day, key_id, route, model } = sum;
    // A key never changes its account.
    const name = `${day} ${key_id} ${route} ${model}`;
    const found = sums.get(name);
    if (found) addSum(found, sum);
    else sums.set(name, sum);
  }
  return [...sums.values()];
}

function makeSum(entry: LogEntry): DaySum {
  const { prompt_tokens, completion_tokens, cost } = entry;
  return {
    day: writeDay(entry.at),
    account_id: entry.account_id ?? "",
    key_id: entry.key_id,
    model: entry.model ?? "",
    route: entry.route,
    requests: 1,
    failed: entry.code === null ? 0 : 1,
    prompt_tokens: prompt_tokens ?? 0,
    completion_tokens: completion_tokens ?? 0,
    cost,
    unpriced: prompt_tokens !== null && cost === null ? 1 : 0,
  };
}

function addSum(sum: DaySum, other: DaySum): void {
  sum.requests += other.requests;
  sum.failed += other.failed;
  sum.prompt_tokens += other.prompt_tokens;
  sum.completion_tokens += other.completion_tokens;
  sum.cost = other.cost === null ? sum.cost : (sum.cost ?? 0) + other.cost;
  sum.unpriced += other.unpriced;
}
