// Reads of runs: filtered pages, steps in pieces, and the log from which an execution is restored.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, findPageEnd, none, type Sql, sql, WaitingRows } from "../../../database/index.ts";
import { maybe } from "../../../platform/schema.ts";
import { MessageRow } from "../../threads/thread.ts";
import { RunRow, type TriggerKind } from "../run.ts";
import { StepRow, ToolResultData } from "../step.ts";
import type { Status } from "../transitions.ts";
import type { ThreadHistory } from "./start.ts";

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
  /** Only runs of higher numbers. */
  after: number | null;
  before: number | null;
  limit: number;
}

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
function havingPairs(metadata: RunFilter["metadata"]): Sql {
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

const Summary = Type.Object({ through_seq: Type.Integer(), content: Type.String() });

/** Maximum messages of a thread in memory; older ones have long been summarised. */
const MESSAGES_MAX = 2_000;
/** Maximum characters of a thread in memory, more than any context window holds. */
const CHARACTERS_MAX = 4_194_304;
const MESSAGES_AT_ONCE = 100;

export async function loadLog(db: Db, run: RunRow) {
  const { id, thread_id, last_seq } = run;
  const summary = await db.one(
    Summary,
    sql`SELECT through_seq, content FROM thread_summaries WHERE thread_id = ${thread_id}`,
  );
  const messages = await loadNewest(db, run, summary?.through_seq ?? 0);
  const steps =
    last_seq === 0
      ? []
      : await db.all(StepRow, sql`SELECT * FROM steps WHERE run_id = ${id} ORDER BY seq`);
  const summarisedTo = summary?.through_seq ?? null;
  return { messages, steps, summary: summary?.content ?? null, summarisedTo };
}

/** Loads a thread as it was before later messages, behind the summary that ends at that one. */
export async function loadBefore(
  db: Db,
  thread_id: string,
  message_seq: number,
  summarised_to: number | null,
) {
  const summary = await db.one(
    Summary,
    sql`SELECT through_seq, content FROM thread_summaries
        WHERE thread_id = ${thread_id} AND through_seq = ${summarised_to}`,
  );
  const messages = await loadNewest(db, { thread_id, message_seq }, summarised_to ?? 0);
  return { messages, summary: summary?.content ?? null };
}

/** Maximum messages and characters of a thread that are copied for a rerun. */
const COPY_BOUNDS: LoadBounds = { messagesMax: 500, charactersMax: 1_048_576 };

/** Loads what a run found in its thread at its start, numbered anew; undefined: nothing. */
export async function loadHistory(
  db: Db,
  { id, thread_id }: Pick<RunRow, "id" | "thread_id">,
): Promise<ThreadHistory | undefined> {
  const first = await db.one(
    FirstMessage,
    sql`SELECT seq, (SELECT external_content FROM threads WHERE id = ${thread_id}) AS external
        FROM messages WHERE thread_id = ${thread_id} AND run_id = ${id} ORDER BY seq LIMIT 1`,
  );
  if (!first || first.seq === 1) return undefined;
  const summary = await db.one(
    Summary,
    sql`SELECT through_seq, content FROM thread_summaries
        WHERE thread_id = ${thread_id} AND through_seq < ${first.seq}`,
  );
  const place = { thread_id, message_seq: first.seq - 1 };
  const found = await loadNewest(db, place, summary?.through_seq ?? 0, COPY_BOUNDS);
  return {
    messages: found.map((message, at) => ({ ...message, seq: at + 1 })),
    summary: summary?.content ?? null,
    // Later runs may have brought it, which is not told apart.
    external: first.external,
  };
}

const FirstMessage = Type.Object({ seq: Type.Integer(), external: Type.Boolean() });

interface LoadBounds {
  messagesMax: number;
  charactersMax: number;
}

async function loadNewest(
  db: Db,
  { thread_id, message_seq }: Pick<RunRow, "thread_id" | "message_seq">,
  after_seq: number,
  { messagesMax, charactersMax }: LoadBounds = {
    messagesMax: MESSAGES_MAX,
    charactersMax: CHARACTERS_MAX,
  },
): Promise<MessageRow[]> {
  const newest: MessageRow[] = [];
  let characters = 0;
  while (newest.length < messagesMax && characters < charactersMax) {
    const rows = await db.all(
      MessageRow,
      sql`SELECT * FROM messages WHERE thread_id = ${thread_id} AND seq > ${after_seq}
            AND seq < ${newest.at(-1)?.seq ?? message_seq + 1}
          ORDER BY seq DESC LIMIT ${MESSAGES_AT_ONCE}`,
    );
    for (const row of rows) {
      if (characters >= charactersMax || newest.length >= messagesMax) break;
      characters += countCharacters(row);
      newest.push(row);
    }
    if (rows.length < MESSAGES_AT_ONCE) break;
  }
  return newest.reverse();
}

function countCharacters({ content, tool_calls }: MessageRow): number {
  const calls = tool_calls ?? [];
  return calls.reduce((sum, { arguments: text }) => sum + text.length, content?.length ?? 0);
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
