// What a signed request asks of the database before it may fire its trigger.
import { type Static, Type } from "@sinclair/typebox";
import { notHeld } from "../../access/holds/store.ts";
import { type Db, sql } from "../../database/index.ts";
import { NO_ID } from "../../platform/ids.ts";
import { Row } from "../../platform/schema.ts";
import { FireRow } from "../fire.ts";
import { FoundTrigger } from "../trigger.ts";

const Signer = Type.Object({ account_id: Type.String(), kind: Type.String() });

export const HookTrigger = Row(FoundTrigger, {
  /** By the operator: its agent, or all of its account's. */
  is_held: Type.Boolean(),
});
export type HookTrigger = Static<typeof HookTrigger>;

const Id = Type.Object({ id: Type.String() });

/** As long as the name of a kind. */
const NONE = "nothing";

/** Once, so that the statement around it stays the same text. */
const FREE = notHeld(sql`triggers.agent_id`, sql`triggers.account_id`);

/**
 * Whose secret signs the requests for a trigger; null: there is no such trigger, or none that takes
 * requests. A row in any case, so that it costs the same.
 */
export async function findSigner(db: Db, id: string): Promise<string | null> {
  const found = await db.one(
    Signer,
    sql`SELECT account_id, kind FROM triggers WHERE id = ${id}
        UNION ALL SELECT CAST(${NO_ID} AS TEXT), CAST(${NONE} AS TEXT) LIMIT 1`,
  );
  const { account_id, kind } = found!;
  return kind === "webhook" ? account_id : null;
}

/** Of whichever account. */
export function findHook(db: Db, id: string): Promise<HookTrigger | undefined> {
  return db.one(
    HookTrigger,
    sql`SELECT triggers.*, agents.archived_at AS agent_archived_at,
          CASE WHEN ${FREE} THEN 0 ELSE 1 END AS is_held
        FROM triggers JOIN agents ON agents.id = triggers.agent_id
        WHERE triggers.id = ${id} AND triggers.kind = 'webhook'`,
  );
}

/** Whether the operator holds the agent of a trigger, or all of its account's. */
export async function isHeld(db: Db, id: string): Promise<boolean> {
  const held = await db.one(Id, sql`SELECT id FROM triggers WHERE id = ${id} AND NOT ${FREE}`);
  return held !== undefined;
}

/** The fire of a request that came before, by its sender's own word for it. */
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
