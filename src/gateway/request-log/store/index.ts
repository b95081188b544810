// The request log in the database: a row for each request, added together with the sums of usage.
import { type Static, Type } from "@sinclair/typebox";
import {
  createInsertion,
  type DeletedPart,
  deleteWalking,
  none,
  type Sql,
  splitRows,
  sql,
  store,
  type Tx,
  type WalkPart,
} from "../../../database/index.ts";
import { maybe } from "../../../platform/schema.ts";
import { LogEntry, type LogEntryValues, nameValues, readEntries } from "../entry.ts";
import { addSums, findExtent, foldDay, sumEntries, sumSlots } from "./usage-sums.ts";

/** Entries to find; what is undefined matches every entry. */
export interface RequestFilter {
  /** First or last characters of the row's or request's id, in lower case without wildcards. */
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

/** Times of a request that has ended, and where it was served. */
const RequestTimes = Type.Object({
  route: Type.String(),
  duration_ms: Type.Integer(),
  code: maybe(Type.String()),
  model: maybe(Type.String()),
  replica: maybe(Type.String()),
  first_token_ms: maybe(Type.Integer()),
  waited_ms: maybe(Type.Integer()),
  ended_at: Type.Integer(),
  completion_tokens: maybe(Type.Integer()),
});
export type RequestTimes = Static<typeof RequestTimes>;

const RangeEnd = Type.Object({ id: Type.String(), ended_at: Type.Integer() });

export const requestLogStore = store(
  "ledger",
  {
    sum: sumSlots,
    findExtent,
    /** Entries with that id or request id, newest first. */
    find: (db, id: string, limit: number) =>
      db.all(
        LogEntry,
        // A caller may send the same id always: the index alone finds the newest of them.
        sql`SELECT * FROM ledger WHERE id IN (
              SELECT id FROM ledger WHERE id = ${id} UNION ALL SELECT id FROM (
                SELECT id FROM ledger WHERE request_id = ${id} ORDER BY id DESC LIMIT ${limit}
              ) AS same
            ) ORDER BY id DESC LIMIT ${limit}`,
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
    /** Times of the newest requests after that id, at most `limit`. */
    listTimes: (db, after: string, limit: number) =>
      db.all(
        RequestTimes,
        sql`SELECT route, duration_ms, code, model, replica, first_token_ms, waited_ms,
              at + duration_ms AS ended_at, completion_tokens
            FROM ledger WHERE id > ${after} ORDER BY id DESC LIMIT ${limit}`,
      ),
    /** Newest first. */
    list: (db, filter: RequestFilter, range: IdRange, limit: number) =>
      db.all(
        LogEntry,
        sql`SELECT * FROM ledger WHERE ${inRange(range)} ${matching(filter)}
            ORDER BY id DESC LIMIT ${limit}`,
      ),
  },
  {
    foldDay,
    /**
     * Adds entries in the form of `writeEntries`. With `isRetry`, a failed write may have added
     * some of them: those are not counted twice.
     */
    add: async (tx, text: string, isRetry: boolean) => {
      const entries = readEntries(text);
      const added = isRetry ? await addMissing(tx, entries) : entries;
      const groups = isRetry ? [] : [...splitRows(entries)];
      const writing = [
        ...groups.map((group) => tx.run(insertNew(group))),
        ...addSums(tx, sumEntries(added.map(nameValues))),
      ];
      tx.commitEarly();
      await Promise.all(writing);
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
  // Only SQLite's LIKE ignores case.
  const like = (pattern: string) => sql`id LIKE ${pattern} OR LOWER(request_id) LIKE ${pattern}`;
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

/** Ids are unique, so that a known one is a retry and fails: the caller tries it one by one. */
const insertNew = createInsertion(LogEntry, "INSERT INTO ledger", "");
const insertMissing = createInsertion(
  LogEntry,
  "INSERT INTO ledger",
  "ON CONFLICT (id) DO NOTHING",
);

async function addMissing(tx: Tx, entries: LogEntryValues[]): Promise<LogEntryValues[]> {
  const added: LogEntryValues[] = [];
  for (const entry of entries) if ((await tx.run(insertMissing([entry]))) === 1) added.push(entry);
  return added;
}

/** Part of a transaction: deletes an account's entries among the next ones of all. */
export function deleteEntries(tx: Tx, part: WalkPart): Promise<DeletedPart> {
  return deleteWalking(tx, sql`ledger`, part);
}
