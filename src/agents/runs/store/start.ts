// The start of a run: the transaction that accepts a run or rejects it.
import { type Static, Type } from "@sinclair/typebox";
import { notHeld } from "../../../access/holds/store.ts";
import { cleanText, type Db, into, type Sql, sql, type Tx } from "../../../database/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { Row } from "../../../platform/schema.ts";
import {
  countStored,
  requireStorage,
  requireStoredBytes,
  sumStored,
} from "../../../storage/store.ts";
import { markThread } from "../../threads/store.ts";
import { MessageRow, ThreadRow } from "../../threads/thread.ts";
import { listAsks, RunRow } from "../run.ts";
import { insertImage, type StoredImage } from "./images.ts";
import { measureStart } from "./stored-bytes.ts";

export interface PreparedRun {
  /** Complete except for its number, message position and taint. */
  run: RunRow;
  /** Existing thread; null creates one with the run's `thread_id`. */
  thread_id: string | null;
  /** Images that came with the request, as `data:` URLs. */
  images?: readonly StoredImage[];
  message_id: string;
  hook_message_id: string | null;
  /** Begin of the new thread, copied from another one; null: the run begins it. */
  history: ThreadHistory | null;
  limits: StartLimits;
  idempotency: Idempotency | null;
}

export interface ThreadHistory {
  /** Numbered from 1, without gaps. */
  messages: readonly MessageRow[];
  /** Replaces older messages, which are not copied. */
  summary: string | null;
  external: boolean;
}

export interface Idempotency {
  key: string;
  body_hash: string;
}

export interface StartLimits {
  active_runs: number;
  /** Maximum runs that an account starts in any 24 hours. */
  daily_runs: number;
  stored_bytes: number;
}

export interface Started {
  run: RunRow;
  /** An earlier request with the same idempotency key may have started the run. */
  isNew: boolean;
}

const DAY_MS = 86_400_000;
/** Maximum correction of a clock by time servers. */
const CLOCK_STEP_MS = 3_600_000;
export const IDEMPOTENCY_MS = DAY_MS;

/** `Retry-After` of a full account, in seconds; the end of a run is not predictable. */
const ACTIVE_RETRY_S = "5";

const Earlier = Type.Object({ body_hash: Type.String(), run_id: Type.String() });
const Counts = Type.Object({
  started: Type.Integer(),
  active: Type.Integer(),
  last_created_at: Type.Integer(),
  stored_bytes: Type.Integer(),
});
const CountedRunRow = Row(RunRow, { stored_bytes: Type.Integer() });
const At = Type.Object({ created_at: Type.Integer() });
const Live = Type.Object({ id: Type.String() });

/**
 * agents.states.none_post_v1_agents_id_runs: part of a transaction, also of a trigger's fire. It
 * rejects before its first write, so that the fire can be recorded. `isWhole`: it is all of the
 * transaction.
 */
export async function start(tx: Tx, prepared: PreparedRun, isWhole = false): Promise<Started> {
  const { run, limits, idempotency, images = [] } = prepared;
  // The root row: starts of an account wait for each other.
  const counts = await tx.one(
    Counts,
    sql`SELECT started, active, last_created_at, ${sumStored(run.account_id)} AS stored_bytes
        FROM run_counts WHERE account_id = ${run.account_id} ${tx.forUpdate}`,
  );
  if (idempotency) {
    const earlier = await findEarlier(tx, run, idempotency);
    if (earlier) return { run: earlier, isNew: false };
  }
  const position = await resolveThread(tx, prepared);
  const { own, thread } = measureStart(run, prepared);
  // agents.errors: storage_limit_reached
  if (counts) requireStoredBytes(counts.stored_bytes + own + thread, limits.stored_bytes);
  else await requireStorage(tx, run.account_id, own + thread, limits.stored_bytes);
  await enforceLimits(tx, run, counts, limits);
  // Lists are ordered by number and by time: a clock set back must not separate the two.
  const created_at = Math.max(run.created_at, counts?.last_created_at ?? 0);
  const row: RunRow = {
    ...run,
    ...position,
    number: (counts?.started ?? 0) + 1,
    created_at,
  };
  // At once: none reads what another writes.
  const writing = Promise.all([
    prepared.thread_id === null && addThread(tx, run, prepared.history),
    prepared.thread_id !== null && run.external_content && markThread(tx, prepared.thread_id),
    tx.run(
      sql`INSERT INTO run_counts (account_id, started, active, last_created_at)
          VALUES (${run.account_id}, 1, 1, ${created_at})
          ON CONFLICT (account_id) DO UPDATE SET started = run_counts.started + 1,
            active = run_counts.active + 1, last_created_at = excluded.last_created_at`,
    ),
    tx.run(sql`INSERT INTO runs ${into(CountedRunRow, { ...row, stored_bytes: own })}`),
    countStored(tx, run.account_id, "runs", own + thread),
    addMessages(tx, row, prepared),
    ...images.map((image) => insertImage(tx, run.id, image)),
    // Uses the request's clock, by which `findEarlier` looks for the key.
    idempotency && remember(tx, run, idempotency),
  ]);
  tx.tell("runs.queued", run.account_id);
  // The messages of a history are inserted one by one.
  if (isWhole && prepared.history === null) tx.commitEarly();
  await writing;
  return { run: row, isNew: true };
}

/**
 * Finds the run of an earlier request with the key; a request with another body is rejected.
 * Entries from the far future were written by a wrong clock and are ignored.
 */
export async function findEarlier(
  db: Db,
  { account_id, agent_id, created_at }: Pick<RunRow, "account_id" | "agent_id" | "created_at">,
  { key, body_hash }: Idempotency,
): Promise<RunRow | undefined> {
  const earlier = await db.one(
    Earlier,
    sql`SELECT body_hash, run_id FROM run_starts
        WHERE account_id = ${account_id} AND agent_id = ${agent_id} AND idempotency_key = ${key}
          AND created_at > ${created_at - IDEMPOTENCY_MS}
          AND created_at <= ${created_at + CLOCK_STEP_MS}`,
  );
  if (!earlier) return undefined;
  if (earlier.body_hash !== body_hash) throw apiError("idempotency_conflict");
  return db.one(RunRow, sql`SELECT * FROM runs WHERE id = ${earlier.run_id}`);
}

async function remember(
  tx: Tx,
  { id, account_id, agent_id, created_at }: RunRow,
  { key, body_hash }: Idempotency,
): Promise<void> {
  // An existing entry is expired, from a wrong clock, or its run is deleted.
  await tx.run(
    sql`INSERT INTO run_starts
          (account_id, agent_id, idempotency_key, body_hash, run_id, created_at)
        VALUES (${account_id}, ${agent_id}, ${key}, ${body_hash}, ${id}, ${created_at})
        ON CONFLICT (account_id, agent_id, idempotency_key) DO UPDATE SET
          body_hash = excluded.body_hash, run_id = excluded.run_id,
          created_at = excluded.created_at`,
  );
}

type ThreadPosition = Pick<RunRow, "thread_id" | "message_seq" | "external_content">;
const LastMessage = Type.Object({ seq: Type.Integer() });

/** Decides the thread and message position of a run, without writing. */
async function resolveThread(
  tx: Tx,
  { run, thread_id, history }: PreparedRun,
): Promise<ThreadPosition> {
  const { account_id, agent_id, external_content } = run;
  const added = listAsks(run.input).length;
  if (thread_id === null) {
    const message_seq = (history?.messages.length ?? 0) + added;
    return { thread_id: run.thread_id, message_seq, external_content };
  }
  const thread = await tx.one(ThreadRow, sql`SELECT * FROM threads WHERE id = ${thread_id}`);
  // agents.errors.thread_not_found, agents.authentication.6
  if (!thread || thread.account_id !== account_id)
    throw apiError("thread_not_found", { param: "thread_id" });
  // agents.errors.thread_agent_mismatch
  if (thread.agent_id !== agent_id) throw apiError("thread_agent_mismatch", { param: "thread_id" });
  // agents.errors.thread_busy, agents.limits.one_run_per_thread: a unique index enforces it too.
  if (await isLive(tx, sql`thread_id = ${thread_id}`)) {
    throw apiError("thread_busy", { param: "thread_id" });
  }
  const last = await tx.one(
    LastMessage,
    sql`SELECT seq FROM messages WHERE thread_id = ${thread_id} ORDER BY seq DESC LIMIT 1`,
  );
  return {
    thread_id,
    message_seq: (last?.seq ?? 0) + added,
    external_content: thread.external_content || run.external_content,
  };
}

async function addThread(tx: Tx, run: RunRow, history: ThreadHistory | null): Promise<void> {
  const { thread_id: id, account_id, agent_id, external_content, created_at } = run;
  const thread = { id, account_id, agent_id, title: null, external_content, created_at };
  await tx.run(sql`INSERT INTO threads ${into(ThreadRow, thread)}`);
  if (!history) return;
  for (const message of history.messages) {
    await tx.run(sql`INSERT INTO messages ${into(MessageRow, { ...message, thread_id: id })}`);
  }
  if (history.summary === null) return;
  await tx.run(
    sql`INSERT INTO thread_summaries (thread_id, through_seq, content)
        VALUES (${id}, 0, ${history.summary})`,
  );
}

/** agents.limits.run_admission_trigger_endpoint */
async function enforceLimits(
  tx: Tx,
  { account_id, created_at }: RunRow,
  counts: { started: number; active: number } | undefined,
  limits: StartLimits,
): Promise<void> {
  if (!counts) return;
  // agents.errors.active_runs_limit
  if (counts.active >= limits.active_runs) {
    throw apiError("active_runs_limit", { headers: { "retry-after": ACTIVE_RETRY_S } });
  }
  // The oldest run that counts against the limit, if it was started within 24 hours.
  const number = counts.started - limits.daily_runs + 1;
  if (number < 1) return;
  const oldest = await tx.one(
    At,
    sql`SELECT created_at FROM runs WHERE account_id = ${account_id} AND number = ${number}`,
  );
  const freeMs = oldest ? oldest.created_at + DAY_MS - created_at : 0;
  // agents.errors.daily_runs_limit: a run from the far future was started by a wrong clock, and
  // blocks no other run.
  if (freeMs > 0 && freeMs <= DAY_MS + CLOCK_STEP_MS) {
    const headers = { "retry-after": String(Math.ceil(freeMs / 1000)) };
    throw apiError("daily_runs_limit", { headers });
  }
}

async function addMessages(
  tx: Tx,
  { id, thread_id, message_seq, input, created_at }: RunRow,
  { message_id, hook_message_id }: Pick<PreparedRun, "message_id" | "hook_message_id">,
): Promise<void> {
  const asks = listAsks(input);
  const messageIds = asks.map(({ external }) => (external ? hook_message_id! : message_id));
  const inserting = asks.map(({ content, parts, external }, at) =>
    tx.run(
      sql`INSERT INTO messages ${into(MessageRow, {
        id: messageIds[at]!,
        thread_id,
        run_id: id,
        seq: message_seq - asks.length + 1 + at,
        role: "user",
        content: cleanText(content),
        parts,
        tool_calls: null,
        tool_call_id: null,
        external,
        created_at,
      })}`,
    ),
  );
  await Promise.all(inserting);
}

const Startable = Type.Object({
  account_id: Type.String(),
  status: Type.String(),
  current_version: Type.Integer(),
  is_held: Type.Boolean(),
});
export type Startable = Static<typeof Startable>;

const FREE = notHeld(sql`agents.id`, sql`agents.account_id`);

export function findStartable(db: Db, agent_id: string): Promise<Startable | undefined> {
  return db.one(
    Startable,
    sql`SELECT account_id, status, current_version, CASE WHEN ${FREE} THEN 0 ELSE 1 END AS is_held
        FROM agents WHERE id = ${agent_id}`,
  );
}

export function hasLiveRun(db: Db, trigger_id: string): Promise<boolean> {
  return isLive(db, sql`trigger_id = ${trigger_id}`);
}

async function isLive(db: Db, which: Sql): Promise<boolean> {
  const live = sql`SELECT id FROM runs WHERE ${which} AND finished_at IS NULL LIMIT 1`;
  return (await db.one(Live, live)) !== undefined;
}
