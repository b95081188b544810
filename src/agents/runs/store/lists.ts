// Pages of runs, newest first, and what one run is read with.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, findPageEnd, none, type Sql, sql } from "../../../database/index.ts";
import { maybe } from "../../../platform/schema.ts";
import { RunRow, type TriggerKind } from "../run.ts";
import { StepRow } from "../step.ts";
import type { Status } from "../transitions.ts";

/** What of an account's runs is wanted; null: whatever. */
export interface RunFilter {
  account_id: string;
  agent_id: string | null;
  thread_id: string | null;
  status: Status | null;
  trigger_kind: TriggerKind | null;
  /** Milliseconds since 1970: from then on, and from before then. */
  created_after: number | null;
  created_before: number | null;
  /** Only runs of smaller numbers. */
  before: number | null;
  limit: number;
}

/** Of a run, what its listeners are told of beside its steps. */
export const RunPosition = Type.Object({
  status: RunRow.properties.status,
  last_seq: Type.Integer(),
  started_at: maybe(Type.Integer()),
});
export type RunPosition = Static<typeof RunPosition>;

const Count = Type.Object({ started: Type.Integer() });
const Place = Type.Object({ number: Type.Integer(), created_at: Type.Integer() });

/** Newest first. */
export async function listRuns(db: Db, filter: RunFilter): Promise<RunRow[]> {
  const { account_id, agent_id, thread_id, status, created_after, created_before } = filter;
  // agents.states.p2: nothing brings a run there, and every run would be looked at for it.
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
      ${filter.before === null ? none : sql`AND runs.number < ${filter.before}`}
      ${from === null ? none : sql`AND runs.number >= ${from}`}
      ${until === null ? none : sql`AND runs.number < ${until}`}
      ORDER BY runs.number DESC LIMIT ${filter.limit}`,
  );
}

/**
 * Where few runs can be meant they are gathered first; else the account's are walked from the
 * newest on, which finds enough at once. A cross join is never turned round.
 */
function chooseSource({ account_id, thread_id, status }: RunFilter): Sql {
  if (thread_id !== null) {
    // Each run has added a message to its thread, which lies by the thread.
    return sql`(SELECT DISTINCT run_id FROM messages WHERE thread_id = ${thread_id}) AS said
      CROSS JOIN runs WHERE runs.id = said.run_id AND`;
  }
  if (status === "running") {
    return sql`(SELECT id FROM runs WHERE epoch > 0 UNION ALL SELECT id FROM runs
        WHERE account_id = ${account_id} AND epoch = 0 AND status IN ('queued', 'running')) AS live
      CROSS JOIN runs WHERE runs.id = live.id AND`;
  }
  return sql`runs WHERE`;
}

/** A partial index is found only where its own condition stands in the statement. */
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
 * The number of the first run since a moment: an account's runs are numbered in the order of time,
 * so that a few looks find it, and no index has to be kept for it.
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
    // Some are not there any more: the next one that is tells on which side to go on.
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

/** The next steps, at most so many, which fit in a piece all but the last; null: all there are. */
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
