// Pages of triggers and of their fires, newest first.
import { type Db, none, type Sql, sql } from "../../database/index.ts";
import { type FireOutcome, FireRow } from "../fire.ts";
import { FoundTrigger } from "../trigger.ts";

/** A place in a list, behind which it goes on; null: at its beginning. */
type Behind = { at: number; id: string } | null;

export interface TriggerFilter {
  /** null: of all accounts. */
  account_id: string | null;
  before: Behind;
  limit: number;
}

export interface FireFilter {
  trigger_id: string;
  /** null: whatever came of it. */
  outcome: FireOutcome | null;
  before: Behind;
  limit: number;
}

export function listTriggers(
  db: Db,
  { account_id, before, limit }: TriggerFilter,
): Promise<FoundTrigger[]> {
  return db.all(
    FoundTrigger,
    sql`SELECT triggers.*, agents.archived_at AS agent_archived_at
        FROM triggers JOIN agents ON agents.id = triggers.agent_id
        WHERE triggers.created_at > 0
          ${account_id === null ? none : sql`AND triggers.account_id = ${account_id}`}
          ${goBehind(before)}
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

function goBehind(before: Behind): Sql {
  if (before === null) return none;
  return sql`AND (triggers.created_at, triggers.id) < (${before.at}, ${before.id})`;
}
