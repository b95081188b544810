// Pages of triggers and of their fires, newest first, and what of fires is too old to be kept.
import { Type } from "@sinclair/typebox";
import { type Db, none, type Sql, sql, type Tx } from "../../platform/database/index.ts";
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

function goBehind({ at, id }: NonNullable<Behind>): Sql {
  return sql`AND (triggers.created_at, triggers.id) < (${at}, ${id})`;
}

const AgentId = Type.Object({ agent_id: Type.String() });

export function listTriggers(
  db: Db,
  { account_id, before, limit }: TriggerFilter,
): Promise<FoundTrigger[]> {
  return db.all(
    FoundTrigger,
    sql`SELECT triggers.*, agents.archived_at AS agent_archived_at
        FROM triggers JOIN agents ON agents.id = triggers.agent_id
        WHERE triggers.secret_number >= 0
          ${account_id === null ? none : sql`AND triggers.account_id = ${account_id}`}
          ${before === null ? none : goBehind(before)}
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

/** Agents that are archived while a trigger of theirs is not paused yet. */
export async function listArchived(db: Db): Promise<string[]> {
  const rows = await db.all(
    AgentId,
    sql`SELECT DISTINCT triggers.agent_id AS agent_id
        FROM triggers JOIN agents ON agents.id = triggers.agent_id
        WHERE triggers.status = 'active' AND agents.status = 'archived'`,
  );
  return rows.map(({ agent_id }) => agent_id);
}

/** Deletes up to `limit` fires that ended before `until`, also of triggers that are gone. */
export function sweepFires(tx: Tx, until: number, limit: number): Promise<number> {
  return tx.run(
    sql`DELETE FROM fires WHERE id IN
          (SELECT id FROM fires WHERE ended_at < ${until} ORDER BY ended_at LIMIT ${limit})`,
  );
}
