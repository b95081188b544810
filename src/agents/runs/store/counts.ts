// Counts of runs for operators: failed ones, started ones and queued ones.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, none, sql, WaitingRows } from "../../../database/index.ts";
import { maybe } from "../../../platform/schema.ts";

const RunFailure = Type.Object({
  error: maybe(Type.Object({ code: Type.String() })),
  finished_at: Type.Integer(),
});
export type RunFailure = Static<typeof RunFailure>;

/** Failures of an account's runs since then, by the index of its failed runs. */
export function listFailures(
  db: Db,
  account_id: string,
  since: number,
  limit: number,
): Promise<RunFailure[]> {
  return db.all(
    RunFailure,
    sql`SELECT error, finished_at FROM runs
        WHERE account_id = ${account_id} AND status = 'failed' AND finished_at >= ${since}
        ORDER BY number DESC LIMIT ${limit}`,
  );
}

/** Ids of runs are in the order of their starts; `before` is not included. */
export interface StartedQuery {
  from: string;
  before: string;
  account_id?: string | undefined;
  key_id?: string | undefined;
  model?: string | undefined;
  agent_id?: string | undefined;
}

const StartedRuns = Type.Object({
  account_id: Type.String(),
  /** "" for a run that no key started. */
  key_id: Type.String(),
  model: Type.String(),
  agent_id: Type.String(),
  runs: Type.Integer(),
  failed: Type.Integer(),
});
export type StartedRuns = Static<typeof StartedRuns>;

/** Counts the runs that were started in a range of ids, by all groups. */
export function countStarted(db: Db, query: StartedQuery): Promise<StartedRuns[]> {
  const { from, before, account_id, key_id, model, agent_id } = query;
  return db.all(
    StartedRuns,
    sql`SELECT account_id, COALESCE(started_by_key_id, '') AS key_id, model, agent_id,
          COUNT(*) AS runs, SUM(CASE WHEN status = 'failed' THEN 1 ELSE 0 END) AS failed
        FROM runs WHERE id >= ${from} AND id < ${before}
          ${account_id === undefined ? none : sql`AND account_id = ${account_id}`}
          ${key_id === undefined ? none : sql`AND started_by_key_id = ${key_id}`}
          ${model === undefined ? none : sql`AND model = ${model}`}
          ${agent_id === undefined ? none : sql`AND agent_id = ${agent_id}`}
        GROUP BY 1, 2, 3, 4`,
  );
}

/** Condition as literal text, so that the partial index of claimable runs is used. */
const CLAIMABLE = sql`FROM runs WHERE epoch = 0 AND status IN ('queued', 'running')`;

/**
 * Counts at most `countedMax` runs that no process executes yet. The oldest queued one is among
 * the first of each account, since accounts queue by number.
 */
export async function countQueued(db: Db, countedMax: number): Promise<WaitingRows> {
  const firsts = sql`SELECT account_id AS owner, MIN(number) AS first
    FROM (SELECT account_id, number ${CLAIMABLE} LIMIT ${countedMax}) AS waiting
    GROUP BY account_id`;
  const found = await db.one(
    WaitingRows,
    sql`SELECT (SELECT COUNT(*) FROM (SELECT 1 ${CLAIMABLE} LIMIT ${countedMax}) AS lines) AS count,
          (SELECT MIN(created_at) FROM runs JOIN (${firsts}) AS firsts
            ON account_id = owner AND number = first WHERE status = 'queued') AS oldest`,
  );
  return found!;
}
