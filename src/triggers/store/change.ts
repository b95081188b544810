// Creates, changes, rotates, pauses and deletes triggers.
import { Type } from "@sinclair/typebox";
import { dropSecret, putSecret, type SealedSecret } from "../../crypto/store.ts";
import {
  countRows,
  type Db,
  type DeletedPart,
  deleteRows,
  deleteTrees,
  into,
  requireCapacity,
  sql,
  type Tx,
} from "../../database/index.ts";
import { type ApiError, apiError } from "../../platform/errors.ts";
import { maybe, Timestamp } from "../../platform/schema.ts";
import { type FoundTrigger, type PausedReason, pausedByArchival, TriggerRow } from "../trigger.ts";
import { findTrigger } from "./lookup.ts";

export type TriggerFields = Partial<
  Pick<TriggerRow, "name" | "cron" | "time_zone" | "overlap" | "catch_up_seconds" | "input">
>;

export interface TriggerChange {
  id: string;
  account_id: string;
  fields: TriggerFields;
  /** A paused trigger keeps its earlier reason; null keeps the status. */
  transition: { to: "active" } | { to: "paused"; reason: PausedReason } | null;
  /** Key of its runs after a resume or another message; null keeps the present key. */
  key_id: string | null;
  seen: Pick<TriggerRow, "cron" | "time_zone">;
  next_fire_at: number | null;
  now: number;
}

export interface SecretChange {
  id: string;
  account_id: string;
  seenNumber: number;
  sealed: SealedSecret;
  /** End of the previous secret; null ends it at once. */
  previous_secret_expires_at: number | null;
  /** Key that is shown the secret, for which its runs then act; null keeps the present ones. */
  key_id: string | null;
}

const Agent = Type.Object({
  account_id: Type.String(),
  archived_at: maybe(Timestamp("Set for an archived agent.")),
});
const Id = Type.Object({ id: Type.String() });
const AgentId = Type.Object({ agent_id: Type.String() });
const Thread = Type.Object({ account_id: Type.String(), agent_id: Type.String() });

export async function create(
  tx: Tx,
  row: TriggerRow,
  secret: SealedSecret | null,
  triggersMax: number,
): Promise<FoundTrigger> {
  await requireAgent(tx, row);
  if (row.thread_id !== null) await requireThread(tx, row, row.thread_id);
  const rows = sql`FROM triggers WHERE account_id = ${row.account_id}`;
  const message = `The account has ${triggersMax} triggers, and may have no more.`;
  // agents.errors.triggers_limit, agents.limits.run_admission_trigger_endpoint
  await requireCapacity(tx, rows, triggersMax, "triggers_limit", message);
  const made = await tx.run(
    sql`INSERT INTO triggers ${into(TriggerRow, row)} ON CONFLICT (account_id, name) DO NOTHING`,
  );
  if (made === 0) throw nameTaken(row.name);
  if (secret) await putSecret(tx, secret);
  announceDue(tx, row);
  return { ...row, agent_archived_at: null };
}

/** `stale`: the schedule or the secret was changed meanwhile, so the caller tries again. */
export type ChangeResult =
  | { kind: "ok"; trigger: FoundTrigger }
  | { kind: "stale" }
  | { kind: "not_found" };

export async function change(tx: Tx, request: TriggerChange): Promise<ChangeResult> {
  const { id, account_id, seen, now } = request;
  const found = await findTrigger(tx, id);
  if (found?.account_id !== account_id) return { kind: "not_found" };
  if (found.cron !== seen.cron || found.time_zone !== seen.time_zone) return { kind: "stale" };
  // agents.states.p12: runs would be refused at once.
  if (request.transition?.to === "active" && found.agent_archived_at !== null) {
    throw apiError("agent_archived");
  }
  const wanted = applyChange(found, request);
  // Without a change `updated_at` stays, too.
  if (Bun.deepEquals(wanted, found)) return { kind: "ok", trigger: found };
  const { name, input, paused_reason } = wanted;
  const others = sql`FROM triggers WHERE account_id = ${account_id} AND name = ${name}`;
  if (name !== found.name && (await countRows(tx, others)) > 0) throw nameTaken(name);
  await tx.run(
    sql`UPDATE triggers SET name = ${name}, cron = ${wanted.cron},
          time_zone = ${wanted.time_zone}, overlap = ${wanted.overlap},
          catch_up_seconds = ${wanted.catch_up_seconds}, input = ${writeJson(input)},
          status = ${wanted.status}, paused_reason = ${writeJson(paused_reason)},
          key_id = ${wanted.key_id}, next_fire_at = ${wanted.next_fire_at}, updated_at = ${now}
        WHERE id = ${id}`,
  );
  if (wanted.next_fire_at !== found.next_fire_at) announceDue(tx, wanted);
  return { kind: "ok", trigger: { ...wanted, updated_at: now } };
}

function applyChange(found: FoundTrigger, request: TriggerChange): FoundTrigger {
  const { fields, transition, key_id, next_fire_at } = request;
  const isResumed = transition?.to === "active" && found.status === "paused";
  const wanted = { ...found, ...fields };
  // A key cannot have another key's runs do what that key never asked for.
  if (key_id !== null && (isResumed || changesMessage(found, wanted))) wanted.key_id = key_id;
  if (isResumed) return { ...wanted, status: "active", paused_reason: null, next_fire_at };
  if (transition?.to === "paused" && found.status === "active") {
    return { ...wanted, status: "paused", paused_reason: transition.reason, next_fire_at: null };
  }
  const isTimed = wanted.cron !== found.cron || wanted.time_zone !== found.time_zone;
  return isTimed && found.status === "active" ? { ...wanted, next_fire_at } : wanted;
}

/** A trigger without input asks by its name. */
function changesMessage(found: TriggerRow, wanted: TriggerRow): boolean {
  const isNamed = wanted.input === null && wanted.name !== found.name;
  return isNamed || !Bun.deepEquals(wanted.input, found.input);
}

/** Replaces the secret; runs then act for the key that is shown it. */
export async function rotate(
  tx: Tx,
  { id, account_id, seenNumber, sealed, previous_secret_expires_at, key_id }: SecretChange,
): Promise<ChangeResult> {
  const found = await findTrigger(tx, id);
  if (found?.account_id !== account_id) return { kind: "not_found" };
  const { set_at: updated_at } = sealed;
  const secret_number = seenNumber + 1;
  const keys = {
    key_id: key_id ?? found.key_id,
    secret_key_id: key_id ?? found.secret_key_id,
  };
  const rotated = await tx.run(
    sql`UPDATE triggers SET secret_number = ${secret_number}, updated_at = ${updated_at},
          previous_secret_expires_at = ${previous_secret_expires_at},
          key_id = ${keys.key_id}, secret_key_id = ${keys.secret_key_id}
        WHERE id = ${id} AND secret_number = ${seenNumber}`,
  );
  if (rotated === 0) return { kind: "stale" };
  await putSecret(tx, sealed);
  const trigger = { ...found, ...keys, secret_number, previous_secret_expires_at, updated_at };
  return { kind: "ok", trigger };
}

/** Deletes a trigger and its secret, not its fires; false for an unknown trigger. */
export async function remove(tx: Tx, id: string, account_id: string): Promise<boolean> {
  const removed = await tx.run(
    sql`DELETE FROM triggers WHERE id = ${id} AND account_id = ${account_id}`,
  );
  if (removed === 0) return false;
  await dropSecret(tx, "trigger", id);
  return true;
}

export async function listArchived(db: Db): Promise<string[]> {
  const rows = await db.all(
    AgentId,
    sql`SELECT DISTINCT triggers.agent_id AS agent_id
        FROM triggers JOIN agents ON agents.id = triggers.agent_id
        WHERE triggers.status = 'active' AND agents.status = 'archived'`,
  );
  return rows.map(({ agent_id }) => agent_id);
}

/** Pauses the triggers of an archived agent; restoring the agent does not resume them. */
export async function pauseArchived(tx: Tx, agent_id: string, now: number): Promise<number> {
  const agent = await findAgent(tx, agent_id);
  if (!agent || agent.archived_at === null) return 0;
  const reason = pausedByArchival(agent.archived_at);
  return tx.run(
    sql`UPDATE triggers SET status = 'paused', paused_reason = ${JSON.stringify(reason)},
          next_fire_at = ${null}, updated_at = ${now}
        WHERE agent_id = ${agent_id} AND status = 'active'`,
  );
}

function writeJson(value: PausedReason | TriggerRow["input"]): string | null {
  return value === null ? null : JSON.stringify(value);
}

function announceDue(tx: Tx, { id, next_fire_at }: TriggerRow): void {
  if (next_fire_at !== null) tx.tell("triggers.due", id);
}

function findAgent(tx: Tx, id: string) {
  return tx.one(Agent, sql`SELECT account_id, archived_at FROM agents WHERE id = ${id}`);
}

async function requireAgent(tx: Tx, { agent_id, account_id }: TriggerRow): Promise<void> {
  const param = "agent_id";
  const agent = await findAgent(tx, agent_id);
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

/** agents.errors.name_taken, agents.resources.trigger */
function nameTaken(name: string): ApiError {
  const message = `A trigger of the name ${JSON.stringify(name.slice(0, 64))} exists.`;
  return apiError("name_taken", { param: "name", message });
}

/** Part of a transaction: deletes triggers of an account with their fires and secrets. */
export function deleteTriggers(tx: Tx, account_id: string, limit: number): Promise<DeletedPart> {
  const tree = {
    find: () => tx.one(Id, sql`SELECT id FROM triggers WHERE account_id = ${account_id} LIMIT 1`),
    deleteChildren: ({ id }: { id: string }, most: number) =>
      deleteRows(tx, { table: sql`fires`, key: sql`id`, where: sql`trigger_id = ${id}` }, most),
    deleteParent: ({ id }: { id: string }) => remove(tx, id, account_id),
  };
  return deleteTrees(tree, limit);
}
