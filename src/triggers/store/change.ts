// How triggers come, change and go: what their owners and the operator do.
import { Type } from "@sinclair/typebox";
import { dropSecret, putSecret, type SealedSecret } from "../../crypto/store.ts";
import { type Db, into, sql, type Tx } from "../../database/index.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import { maybe, Timestamp } from "../../platform/schema.ts";
import { FoundTrigger, type PausedReason, TriggerRow } from "../trigger.ts";

/** What of a trigger a request sets; what is left out stays. */
export type TriggerFields = Partial<
  Pick<TriggerRow, "name" | "cron" | "time_zone" | "overlap" | "catch_up_seconds" | "input">
>;

export interface TriggerChange {
  id: string;
  /** null: of whichever account. */
  account_id: string | null;
  fields: TriggerFields;
  /** `paused`: and why, which an earlier reason outlives; null: as it is. */
  turn: { to: "active" } | { to: "paused"; reason: PausedReason } | null;
  /** For whom its runs act if this resumes it, or changes what it asks; null: for whom they did. */
  key_id: string | null;
  /** By what it was judged; another schedule by now, and it is judged anew. */
  seen: Pick<TriggerRow, "cron" | "time_zone">;
  /** The next instant of the schedule that it has after this; null: there is none. */
  next_fire_at: number | null;
  now: number;
}

export interface SecretChange {
  id: string;
  account_id: string;
  /** The secret that this one takes the place of. */
  seen_number: number;
  sealed: SealedSecret;
  /** Until when the one before holds beside it; null: it does not. */
  previous_secret_expires_at: number | null;
  /** Whoever is shown the secret. */
  key_id: string;
}

const Agent = Type.Object({
  account_id: Type.String(),
  archived_at: maybe(Timestamp("null: it is active.")),
});
const Thread = Type.Object({ account_id: Type.String(), agent_id: Type.String() });
const Name = Type.Object({ name: Type.String() });
const Count = Type.Object({ count: Type.Integer() });

/** A part: of whichever account; undefined: there is none of this id. */
export function findTrigger(db: Db, id: string): Promise<FoundTrigger | undefined> {
  return db.one(
    FoundTrigger,
    sql`SELECT triggers.*, agents.archived_at AS agent_archived_at
        FROM triggers JOIN agents ON agents.id = triggers.agent_id WHERE triggers.id = ${id}`,
  );
}

/** The trigger with its secret, of at most so many of its account. */
export async function create(
  tx: Tx,
  row: TriggerRow,
  secret: SealedSecret | null,
  triggers_max: number,
): Promise<FoundTrigger> {
  await requireAgent(tx, row);
  if (row.thread_id !== null) await requireThread(tx, row, row.thread_id);
  await requireRoom(tx, row.account_id, triggers_max);
  const made = await tx.run(
    sql`INSERT INTO triggers ${into(TriggerRow, row)} ON CONFLICT (account_id, name) DO NOTHING`,
  );
  if (made === 0) throw refuseName(row.name);
  if (secret) await putSecret(tx, secret);
  tellDue(tx, row);
  return { ...row, agent_archived_at: null };
}

/** As it is afterwards; null: judge it anew; undefined: there is no such trigger. */
export async function change(
  tx: Tx,
  given: TriggerChange,
): Promise<FoundTrigger | null | undefined> {
  const { id, account_id, seen, now } = given;
  const found = await findTrigger(tx, id);
  if (!found || (account_id !== null && found.account_id !== account_id)) return undefined;
  if (found.cron !== seen.cron || found.time_zone !== seen.time_zone) return null;
  // agents.states.p12: its runs would be refused at once.
  if (given.turn?.to === "active" && found.agent_archived_at !== null) {
    throw apiError("agent_archived");
  }
  const wanted = applyChange(found, given);
  // What stays as it is was not updated either.
  if (Bun.deepEquals(wanted, found)) return found;
  const { name, input, paused_reason } = wanted;
  if (name !== found.name && (await isTaken(tx, found.account_id, name))) throw refuseName(name);
  await tx.run(
    sql`UPDATE triggers SET name = ${name}, cron = ${wanted.cron},
          time_zone = ${wanted.time_zone}, overlap = ${wanted.overlap},
          catch_up_seconds = ${wanted.catch_up_seconds}, input = ${writeJson(input)},
          status = ${wanted.status}, paused_reason = ${writeJson(paused_reason)},
          key_id = ${wanted.key_id}, next_fire_at = ${wanted.next_fire_at}, updated_at = ${now}
        WHERE id = ${id}`,
  );
  if (wanted.next_fire_at !== found.next_fire_at) tellDue(tx, wanted);
  return { ...wanted, updated_at: now };
}

function applyChange(found: FoundTrigger, given: TriggerChange): FoundTrigger {
  const { fields, turn, key_id, next_fire_at } = given;
  const isResumed = turn?.to === "active" && found.status === "paused";
  const wanted = { ...found, ...fields };
  // Nobody lets runs that act for another key do what that one never asked for.
  if (key_id !== null && (isResumed || asksElse(found, wanted))) wanted.key_id = key_id;
  if (isResumed) return { ...wanted, status: "active", paused_reason: null, next_fire_at };
  if (turn?.to === "paused" && found.status === "active") {
    return { ...wanted, status: "paused", paused_reason: turn.reason, next_fire_at: null };
  }
  const isTimed = wanted.cron !== found.cron || wanted.time_zone !== found.time_zone;
  return isTimed && found.status === "active" ? { ...wanted, next_fire_at } : wanted;
}

/** Without words of its own a trigger asks by its name. */
function asksElse(found: TriggerRow, wanted: TriggerRow): boolean {
  const isNamed = wanted.input === null && wanted.name !== found.name;
  return isNamed || !Bun.deepEquals(wanted.input, found.input);
}

/**
 * Another secret in the place of the one before; its runs act for whoever is shown it. null: it
 * was somebody else's turn, so that another one holds beside it; undefined: there is no such
 * trigger.
 */
export async function rotate(
  tx: Tx,
  { id, account_id, seen_number, sealed, previous_secret_expires_at, key_id }: SecretChange,
): Promise<FoundTrigger | null | undefined> {
  const found = await findTrigger(tx, id);
  if (found?.account_id !== account_id) return undefined;
  const { set_at: updated_at } = sealed;
  const secret_number = seen_number + 1;
  const rotated = await tx.run(
    sql`UPDATE triggers SET secret_number = ${secret_number}, updated_at = ${updated_at},
          previous_secret_expires_at = ${previous_secret_expires_at},
          key_id = ${key_id}, secret_key_id = ${key_id}
        WHERE id = ${id} AND secret_number = ${seen_number}`,
  );
  if (rotated === 0) return null;
  await putSecret(tx, sealed);
  const bound = { key_id, secret_key_id: key_id };
  return { ...found, ...bound, secret_number, previous_secret_expires_at, updated_at };
}

/** It and its secret; its fires stay as long as any. False: there is no such trigger. */
export async function remove(tx: Tx, id: string, account_id: string): Promise<boolean> {
  const removed = await tx.run(
    sql`DELETE FROM triggers WHERE id = ${id} AND account_id = ${account_id}`,
  );
  if (removed === 0) return false;
  await dropSecret(tx, "trigger", id);
  return true;
}

function writeJson(value: PausedReason | TriggerRow["input"]): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** Who waits for the next instant has another one to wait for. */
function tellDue(tx: Tx, { id, next_fire_at }: TriggerRow): void {
  if (next_fire_at !== null) tx.tell("triggers.due", id);
}

async function requireAgent(tx: Tx, { agent_id, account_id }: TriggerRow): Promise<void> {
  const param = "agent_id";
  const agent = await tx.one(
    Agent,
    sql`SELECT account_id, archived_at FROM agents WHERE id = ${agent_id}`,
  );
  // agents.errors.agent_not_found, agents.authentication.6
  if (agent?.account_id !== account_id) throw apiError("agent_not_found", { param });
  if (agent.archived_at !== null) throw apiError("agent_archived", { param });
}

async function requireThread(
  tx: Tx,
  { agent_id, account_id }: TriggerRow,
  thread_id: string,
): Promise<void> {
  const param = "thread_id";
  const thread = await tx.one(
    Thread,
    sql`SELECT account_id, agent_id FROM threads WHERE id = ${thread_id}`,
  );
  // agents.errors.thread_not_found, agents.authentication.6
  if (thread?.account_id !== account_id) throw apiError("thread_not_found", { param });
  // agents.errors.thread_agent_mismatch
  if (thread.agent_id !== agent_id) throw apiError("thread_agent_mismatch", { param });
}

/** agents.errors.triggers_limit, agents.limits.run_admission_trigger_endpoint */
async function requireRoom(tx: Tx, account_id: string, triggers_max: number): Promise<void> {
  const found = await tx.one(
    Count,
    sql`SELECT COUNT(*) AS count FROM triggers WHERE account_id = ${account_id}`,
  );
  if (found!.count < triggers_max) return;
  const message = `The account has ${triggers_max} triggers, and may have no more.`;
  throw apiError("triggers_limit", { message });
}

async function isTaken(tx: Tx, account_id: string, name: string): Promise<boolean> {
  const found = await tx.one(
    Name,
    sql`SELECT name FROM triggers WHERE account_id = ${account_id} AND name = ${name}`,
  );
  return found !== undefined;
}

/** agents.errors.name_taken, agents.resources.trigger */
function refuseName(name: string): ApiError {
  const message = `A trigger of the name ${JSON.stringify(name.slice(0, 64))} exists.`;
  return apiError("name_taken", { param: "name", message });
}
