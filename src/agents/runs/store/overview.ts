// Runs of every account for operators: narrow rows and counts, read in ranges that block nothing
// for long.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, none, type Sql, sql } from "../../../database/index.ts";
import { maybe } from "../../../platform/schema.ts";
import { RunRow, type TriggerKind } from "../run.ts";
import type { Status } from "../transitions.ts";
import { havingPairs } from "./reads.ts";

/** Searches and titles use the first characters of the stored input only. */
const INPUT_CHARACTERS = 4_096;

const { id, account_id, agent_id, version, status, trigger_kind } = RunRow.properties;
const { trigger_id, error, created_at, started_at, finished_at, worked_ms } = RunRow.properties;
const WHOLE = { id, account_id, agent_id, version, status, trigger_kind, trigger_id, error };
const TIMES = { created_at, started_at, finished_at, worked_ms };

/** A run without its long texts. */
export const OverviewRow = Type.Object({
  ...WHOLE,
  ...TIMES,
  usage_rounds: Type.Integer(),
  usage_tool_calls: Type.Integer(),
  usage_total_tokens: Type.Integer(),
  cost_total: maybe(Type.Integer()),
  /** Begin of the stored input, which may end in the middle of it. */
  input_begin: Type.String(),
  /** When its last step was written; null: it has none, or has ended. */
  stepped_at: maybe(Type.Integer()),
});
export type OverviewRow = Static<typeof OverviewRow>;

export interface RunSearch {
  account_id: string | null;
  agent_id: string | null;
  status: Status | null;
  trigger_kind: TriggerKind | null;
  /** Earliest acceptance in milliseconds since 1970. */
  since: number | null;
  /** A part of the id or of the input, in any case of its letters. */
  text: string | null;
  /** Pairs that the metadata of a run must have. */
  metadata: Readonly<Record<string, string>> | null;
}

/** Up to `size` runs before that one, the newest first. */
export interface RunRange {
  before: string | null;
  size: number;
}

const COLUMNS = sql`id, account_id, agent_id, version, status, trigger_kind, trigger_id, error,
  created_at, started_at, finished_at, worked_ms, usage_rounds, usage_tool_calls,
  usage_total_tokens, cost_total, SUBSTR(input, 1, ${INPUT_CHARACTERS}) AS input_begin`;

/** Runs that have not ended, the newest first; an index holds these only. */
export function listActive(
  db: Db,
  search: RunSearch,
  before: string | null,
  limit: number,
): Promise<OverviewRow[]> {
  return db.all(
    OverviewRow,
    sql`SELECT ${COLUMNS}, (SELECT steps.created_at FROM steps
          WHERE run_id = runs.id AND seq = runs.last_seq) AS stepped_at
        FROM runs WHERE id IN (SELECT id FROM runs WHERE finished_at IS NULL)
          ${before === null ? none : sql`AND id < ${before}`} ${matching(search)}
        ORDER BY id DESC LIMIT ${limit}`,
  );
}

/** Runs of a range that have ended, the newest first. */
export function listEnded(
  db: Db,
  search: RunSearch,
  range: RunRange,
  limit: number,
): Promise<OverviewRow[]> {
  const ids = sql`SELECT id ${within(search, range)}`;
  return db.all(
    OverviewRow,
    sql`SELECT ${COLUMNS}, NULL AS stepped_at FROM runs
        WHERE id IN (${ids}) AND finished_at IS NOT NULL ${matching(search)}
        ORDER BY id DESC LIMIT ${limit}`,
  );
}

const RangeEnd = Type.Object({ id: Type.String(), created_at: Type.Integer() });

/** The oldest run of a range; undefined where fewer are left. */
export function findRangeEnd(db: Db, search: RunSearch, { before, size }: RunRange) {
  const rows = rowsBefore(search, before);
  return db.one(RangeEnd, sql`SELECT id, created_at ${rows} LIMIT 1 OFFSET ${size - 1}`);
}

const StatusCount = Type.Object({ status, runs: Type.Integer() });

export function countActive(db: Db, search: RunSearch) {
  return db.all(
    StatusCount,
    sql`SELECT status, COUNT(*) AS runs FROM runs
        WHERE id IN (SELECT id FROM runs WHERE finished_at IS NULL) ${matching(search)}
        GROUP BY status`,
  );
}

/** Counts the runs of a range that have ended. */
export function countEnded(db: Db, search: RunSearch, range: RunRange) {
  return db.all(
    StatusCount,
    sql`SELECT status, COUNT(*) AS runs FROM runs
        WHERE id IN (SELECT id ${within(search, range)}) AND finished_at IS NOT NULL
          ${matching(search)}
        GROUP BY status`,
  );
}

function within(search: RunSearch, { before, size }: RunRange): Sql {
  return sql`FROM (SELECT id ${rowsBefore(search, before)} LIMIT ${size}) AS range_rows`;
}

/** An account's runs are in the order of their numbers, all runs in that of their ids. */
function rowsBefore({ account_id: owner }: RunSearch, before: string | null): Sql {
  if (owner === null) {
    return sql`FROM runs ${before === null ? none : sql`WHERE id < ${before}`} ORDER BY id DESC`;
  }
  const below = sql`AND number < (SELECT number FROM runs WHERE id = ${before})`;
  return sql`FROM runs WHERE account_id = ${owner} ${before === null ? none : below}
    ORDER BY number DESC`;
}

function matching({ text, since, metadata, ...search }: RunSearch): Sql {
  const { account_id: owner, agent_id: agent } = search;
  return sql`
    ${owner === null ? none : sql`AND account_id = ${owner}`}
    ${agent === null ? none : sql`AND agent_id = ${agent}`}
    ${search.status === null ? none : sql`AND status = ${search.status}`}
    ${search.trigger_kind === null ? none : sql`AND trigger_kind = ${search.trigger_kind}`}
    ${since === null ? none : sql`AND created_at >= ${since}`}
    ${text === null ? none : containing(text)}
    ${havingPairs(metadata ?? {})}`;
}

function containing(text: string): Sql {
  const part = `%${escapePattern(text.toLowerCase())}%`;
  // The stored input is JSON, so that quotes and line ends are written as there.
  const exact = `%${escapePattern(JSON.stringify(text).slice(1, -1))}%`;
  const lower = `%${escapePattern(JSON.stringify(text.toLowerCase()).slice(1, -1))}%`;
  const begin = sql`SUBSTR(input, 1, ${INPUT_CHARACTERS})`;
  return sql`AND (id LIKE ${part} ESCAPE '!' OR ${begin} LIKE ${exact} ESCAPE '!'
    OR LOWER(${begin}) LIKE ${lower} ESCAPE '!')`;
}

function escapePattern(text: string): string {
  return text.replaceAll(/[!%_]/g, "!$&");
}
