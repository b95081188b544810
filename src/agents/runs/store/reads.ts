// Reads of runs: filtered pages, and steps in pieces.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, findPageEnd, none, type Sql, sql } from "../../../database/index.ts";
import { maybe } from "../../../platform/schema.ts";
import { RunRow, type TriggerKind } from "../run.ts";
import { StepRow, ToolResultData } from "../step.ts";
import type { Status } from "../transitions.ts";

export interface RunFilter {
  account_id: string;
  agent_id: string | null;
  thread_id: string | null;
  status: Status | null;
  trigger_kind: TriggerKind | null;
  /** Milliseconds since 1970. */
  created_after: number | null;
  created_before: number | null;
  /** Pairs that the metadata of a run must have. */
  metadata: Readonly<Record<string, string>>;
  /** Only runs that act for the key; no index knows them. */
  started_by_key_id?: string | undefined;
  /** Only runs of higher numbers. */
  after: number | null;
  before: number | null;
  limit: number;
}

/** Every run of an account. */
export const UNFILTERED = {
  ...{ agent_id: null, thread_id: null, status: null, trigger_kind: null },
  ...{ created_after: null, created_before: null, metadata: {}, after: null, before: null },
};

export const RunPosition = Type.Object({
  status: RunRow.properties.status,
  last_seq: Type.Integer(),
  started_at: maybe(Type.Integer()),
});
export type RunPosition = Static<typeof RunPosition>;

const Count = Type.Object({ started: Type.Integer() });
const Place = Type.Object({ number: Type.Integer(), created_at: Type.Integer() });

export async function listRuns(db: Db, filter: RunFilter): Promise<RunRow[]> {
  const { account_id, agent_id, thread_id, status, created_after, created_before } = filter;
  const key_id = filter.started_by_key_id;
  // agents.states.p2: reserved statuses; looking for them would scan every run.
  if (status === "waiting_input" || status === "sleeping") return [];
  const from = created_after === null ? null : await findFirstSince(db, account_id, created_after);
  const until =
    created_before === null ? null : await findFirstSince(db, account_id, created_before);
  return db.all(
    RunRow,
    sql`SELECT runs.* FROM ${chooseSource(filter)} runs.account_id = ${account_id}
      ${agent_id === null ? none : sql`AND runs.agent_id = ${agent_id}`}
      ${thread_id === null ? none : sql`AND runs.thread_id = ${thread_id}`}
      ${status === null ? none : ofStatus(status)}
      ${filter.trigger_kind === null ? none : ofTrigger(filter.trigger_kind)}
      ${havingPairs(filter.metadata)}
      ${key_id === undefined ? none : sql`AND runs.started_by_key_id = ${key_id}`}
      ${filter.after === null ? none : sql`AND runs.number > ${filter.after}`}
      ${filter.before === null ? none : sql`AND runs.number < ${filter.before}`}
      ${from === null ? none : sql`AND runs.number >= ${from}`}
      ${until === null ? none : sql`AND runs.number < ${until}`}
      ORDER BY runs.number DESC LIMIT ${filter.limit}`,
  );
}

/**
 * Gathers candidates first where few runs can match; otherwise the account's runs are walked from
 * the newest. A cross join keeps its order in the query plan.
 */
function chooseSource({ account_id, thread_id, status }: RunFilter): Sql {
  if (thread_id !== null) {
    // Each run has a message in its thread, and messages are stored by thread.
    return sql`(SELECT DISTINCT run_id FROM messages WHERE thread_id = ${thread_id}) AS members
      CROSS JOIN runs WHERE runs.id = members.run_id AND`;
  }
  if (status === "running") {
    return sql`(SELECT id FROM runs WHERE epoch > 0 UNION ALL SELECT id FROM runs
        WHERE account_id = ${account_id} AND epoch = 0 AND status IN ('queued', 'running')) AS live
      CROSS JOIN runs WHERE runs.id = live.id AND`;
  }
  return sql`runs WHERE`;
}

/** The statement repeats the condition of a partial index, so that the index is used. */
function ofStatus(status: Status): Sql {
  switch (status) {
    case "queued":
      return sql`AND runs.epoch = 0 AND runs.status IN ('queued', 'running')
        AND runs.status = 'queued'`;
    case "waiting_approval":
    case "failed":
    case "budget_exceeded":
    case "cancelled":
      return sql`AND runs.status IN ('waiting_approval', 'failed', 'budget_exceeded', 'cancelled')
        AND runs.status = ${status}`;
    default:
      return sql`AND runs.status = ${status}`;
  }
}

function ofTrigger(kind: TriggerKind): Sql {
  return kind === "manual"
    ? sql`AND runs.trigger_kind = 'manual'`
    : sql`AND runs.trigger_kind <> 'manual' AND runs.trigger_kind = ${kind}`;
}

/**
 * The column is JSON of one object of texts. A quote behind `{` or `,` begins a name there: inside
 * a text a backslash stands before it.
 */
export function havingPairs(metadata: RunFilter["metadata"]): Sql {
  const has = (text: string) => sql`REPLACE(runs.metadata, ${text}, '') <> runs.metadata`;
  return Object.entries(metadata).reduce((conditions, [name, value]) => {
    const pair = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    return sql`${conditions} AND (${has(`{${pair}`)} OR ${has(`,${pair}`)})`;
  }, none);
}

/**
 * Number of the first run since a moment, by binary search: an account's numbers are ordered by
 * time, so that no index is needed.
 */
async function findFirstSince(db: Db, account_id: string, since: number): Promise<number> {
  const counts = await db.one(
    Count,
    sql`SELECT started FROM run_counts WHERE account_id = ${account_id}`,
  );
  let low = 1;
  let high = (counts?.started ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    // Deleted runs leave gaps; the next existing run decides the side.
    const run = await db.one(
      Place,
      sql`SELECT number, created_at FROM runs
          WHERE account_id = ${account_id} AND number >= ${middle} ORDER BY number LIMIT 1`,
    );
    if (!run || run.created_at >= since) high = middle;
    else low = run.number + 1;
  }
  return low;
}

/** Next steps, up to `limit` and to the bytes of a piece; a limit of null returns all. */
export function listSteps(
  db: Db,
  run_id: string,
  after_seq: number,
  limit: number | null,
): Promise<StepRow[]> {
  const next = sql`FROM steps WHERE run_id = ${run_id} AND seq > ${after_seq}`;
  const piece =
    limit === null ? none : sql`AND seq <= (${findPageEnd(next, sql`OCTET_LENGTH(data)`, limit)})`;
  return db.all(StepRow, sql`SELECT * ${next} ${piece} ORDER BY seq`);
}

const ResultStep = Type.Object({
  seq: Type.Integer(),
  data: maybe(ToolResultData),
});

export interface ResultFilter {
  run_id: string;
  /** Milliseconds since 1970; results up to then. */
  until: number;
  limit: number;
  /** Maximum bytes of all results; the data of older ones that exceed them are null. */
  bytesMax: number;
}

/** The newest results of a run's calls, in their order. */
export function listResults(db: Db, { run_id, until, limit, bytesMax }: ResultFilter) {
  return db.all(
    ResultStep,
    sql`SELECT seq, CASE WHEN bytes <= ${bytesMax} THEN data END AS data FROM (
          SELECT seq, data, SUM(OCTET_LENGTH(data)) OVER (ORDER BY seq DESC) AS bytes
          FROM (SELECT seq, data FROM steps
            WHERE run_id = ${run_id} AND kind = 'tool_result' AND created_at <= ${until}
            ORDER BY seq DESC LIMIT ${limit}) AS newest
        ) AS sums ORDER BY seq`,
  );
}
