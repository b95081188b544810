// Pages of runs, newest first, and what one run is read with.
import { Type } from "@sinclair/typebox";
import { type Db, none, type Sql, sql } from "../../../platform/database/index.ts";
import { RunRow, type Status, type TriggerKind } from "../run.ts";
import { StepRow } from "../step.ts";

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

const Count = Type.Object({ started: Type.Integer() });
const At = Type.Object({ created_at: Type.Integer() });

/** Newest first. */
export async function listRuns(db: Db, filter: RunFilter): Promise<RunRow[]> {
  const { account_id, agent_id, thread_id, created_after, created_before, before } = filter;
  const from = created_after === null ? null : await findFirstSince(db, account_id, created_after);
  const until =
    created_before === null ? null : await findFirstSince(db, account_id, created_before);
  return db.all(
    RunRow,
    sql`SELECT * FROM runs WHERE account_id = ${account_id}
      ${agent_id === null ? none : sql`AND agent_id = ${agent_id}`}
      ${thread_id === null ? none : ofThread(thread_id)}
      ${filter.status === null ? none : ofStatus(filter.status)}
      ${filter.trigger_kind === null ? none : ofTrigger(filter.trigger_kind)}
      ${before === null ? none : sql`AND number < ${before}`}
      ${from === null ? none : sql`AND number >= ${from}`}
      ${until === null ? none : sql`AND number < ${until}`}
      ORDER BY number DESC LIMIT ${filter.limit}`,
  );
}

/** Each run has added a message to its thread, which lies by the thread. */
function ofThread(thread_id: string): Sql {
  return sql`AND id IN (SELECT run_id FROM messages WHERE thread_id = ${thread_id})`;
}

/** A partial index is found only where its own condition stands in the statement. */
function ofStatus(status: Status): Sql {
  switch (status) {
    case "queued":
      return sql`AND epoch = 0 AND status IN ('queued', 'running') AND status = 'queued'`;
    case "waiting_approval":
    case "failed":
    case "budget_exceeded":
    case "cancelled":
      return sql`AND status IN ('waiting_approval', 'failed', 'budget_exceeded', 'cancelled')
        AND status = ${status}`;
    case "running":
      return sql`AND finished_at IS NULL AND status = 'running'`;
    default:
      return sql`AND status = ${status}`;
  }
}

function ofTrigger(kind: TriggerKind): Sql {
  return kind === "manual"
    ? sql`AND trigger_kind = 'manual'`
    : sql`AND trigger_kind <> 'manual' AND trigger_kind = ${kind}`;
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
    const run = await db.one(
      At,
      sql`SELECT created_at FROM runs WHERE account_id = ${account_id} AND number = ${middle}`,
    );
    // What is not there any more was old enough to be deleted.
    if (run && run.created_at >= since) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function listSteps(
  db: Db,
  run_id: string,
  after_seq: number,
  limit: number | null,
): Promise<StepRow[]> {
  return db.all(
    StepRow,
    sql`SELECT * FROM steps WHERE run_id = ${run_id} AND seq > ${after_seq} ORDER BY seq
        ${limit === null ? none : sql`LIMIT ${limit}`}`,
  );
}
