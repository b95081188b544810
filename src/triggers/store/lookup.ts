// Reads of triggers and their fires: single ones, pages, and what a signed request needs to know.
import { type Static, Type } from "@sinclair/typebox";
import { notHeld } from "../../access/holds/store.ts";
import { countRows, type Db, none, sql } from "../../database/index.ts";
import { NO_ID } from "../../platform/ids.ts";
import { Row } from "../../platform/schema.ts";
import { type FireOutcome, FireRow } from "../fire.ts";
import { FoundTrigger } from "../trigger.ts";

type PageStart = { at: number; id: string } | null;

export interface TriggerFilter {
  account_id: string | null;
  before: PageStart;
  limit: number;
}

export interface FireFilter {
  trigger_id: string;
  outcome: FireOutcome | null;
  before: PageStart;
  limit: number;
}

/** Reads page after page until a short one. */
export async function* readPages<T extends { created_at: number; id: string }>(
  limit: number,
  read: (page: { before: PageStart; limit: number }) => Promise<T[]>,
): AsyncGenerator<T[], void> {
  for (let before: PageStart = null; ; ) {
    const rows = await read({ before, limit });
    yield rows;
    if (rows.length < limit) return;
    const { created_at: at, id } = rows.at(-1)!;
    before = { at, id };
  }
}

const Signer = Type.Object({ account_id: Type.String(), kind: Type.String() });

const HookTrigger = Row(FoundTrigger, {
  is_held: Type.Boolean(),
});
type HookTrigger = Static<typeof HookTrigger>;

/** Same length as a kind, so that an unknown trigger costs the same. */
const NO_KIND = "nothing";

const FREE = notHeld(sql`triggers.agent_id`, sql`triggers.account_id`);

export function findTrigger(db: Db, id: string): Promise<FoundTrigger | undefined> {
  return db.one(
    FoundTrigger,
    sql`SELECT triggers.*, agents.archived_at AS agent_archived_at
        FROM triggers JOIN agents ON agents.id = triggers.agent_id WHERE triggers.id = ${id}`,
  );
}

export function listTriggers(
  db: Db,
  { account_id, before, limit }: TriggerFilter,
): Promise<FoundTrigger[]> {
  const ofAccount = account_id === null ? none : sql`AND triggers.account_id = ${account_id}`;
  const afterPage =
    before === null
      ? none
      : sql`AND (triggers.created_at, triggers.id) < (${before.at}, ${before.id})`;
  return db.all(
    FoundTrigger,
    sql`SELECT triggers.*, agents.archived_at AS agent_archived_at
        FROM triggers JOIN agents ON agents.id = triggers.agent_id
        WHERE triggers.created_at > 0 ${ofAccount} ${afterPage}
        ORDER BY triggers.created_at DESC, triggers.id DESC LIMIT ${limit}`,
  );
}

export function listFires(
  db: Db,
  { trigger_id, outcome, before, limit }: FireFilter,
): Promise<FireRow[]> {
  return db.all(
    FireRow,
    sql`SELECT * FROM fires WHERE trigger_id = ${trigger_id}
          ${outcome === null ? none : sql`AND outcome = ${outcome}`}
          ${before === null ? none : sql`AND (created_at, id) < (${before.at}, ${before.id})`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
  );
}

export const FireMark = Type.Object({
  id: Type.String({ description: "Identifier." }),
  trigger_id: Type.String({ description: "The trigger." }),
  outcome: FireRow.properties.outcome,
  run_id: FireRow.properties.run_id,
  created_at: FireRow.properties.created_at,
});
export type FireMark = Static<typeof FireMark>;

/** Triggers of one statement: databases bound the parts of a union. */
const TRIGGERS_A_READ = 50;

/** Lists the newest fires of each trigger, the newest first. */
export async function listMarks(
  db: Db,
  trigger_ids: readonly string[],
  limit: number,
): Promise<FireMark[]> {
  const marks: FireMark[] = [];
  for (let at = 0; at < trigger_ids.length; at += TRIGGERS_A_READ) {
    const parts = trigger_ids.slice(at, at + TRIGGERS_A_READ).map(
      (id) => sql`SELECT * FROM (SELECT id, trigger_id, outcome, run_id, created_at FROM fires
        WHERE trigger_id = ${id} ORDER BY created_at DESC, id DESC LIMIT ${limit}) AS part`,
    );
    const union = parts.reduce((all, part) => sql`${all} UNION ALL ${part}`);
    marks.push(
      ...(await db.all(
        FireMark,
        sql`SELECT * FROM (${union}) AS found ORDER BY created_at DESC, id DESC`,
      )),
    );
  }
  return marks;
}

/**
 * Finds the account whose secret signs requests for a trigger, or null. A row is always read, so
 * that an unknown trigger costs the same.
 */
export async function findSigner(db: Db, id: string): Promise<string | null> {
  const found = await db.one(
    Signer,
    sql`SELECT account_id, kind FROM triggers WHERE id = ${id}
        UNION ALL SELECT CAST(${NO_ID} AS TEXT), CAST(${NO_KIND} AS TEXT) LIMIT 1`,
  );
  const { account_id, kind } = found!;
  return kind === "webhook" ? account_id : null;
}

export function findHook(db: Db, id: string): Promise<HookTrigger | undefined> {
  return db.one(
    HookTrigger,
    sql`SELECT triggers.*, agents.archived_at AS agent_archived_at,
          CASE WHEN ${FREE} THEN 0 ELSE 1 END AS is_held
        FROM triggers JOIN agents ON agents.id = triggers.agent_id
        WHERE triggers.id = ${id} AND triggers.kind = 'webhook'`,
  );
}

export async function isHeld(db: Db, id: string): Promise<boolean> {
  return (await countRows(db, sql`FROM triggers WHERE id = ${id} AND NOT ${FREE}`)) > 0;
}

/** Finds the fire of an earlier request with the same `webhook-id`. */
export function findRequested(
  db: Db,
  trigger_id: string,
  webhook_id: string,
): Promise<FireRow | undefined> {
  return db.one(
    FireRow,
    sql`SELECT * FROM fires WHERE trigger_id = ${trigger_id} AND webhook_id = ${webhook_id}`,
  );
}
