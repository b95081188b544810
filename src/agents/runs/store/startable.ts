// What a start has to know before it begins: the agent, its version, and what holds it.
import { type Static, Type } from "@sinclair/typebox";
import { notHeld } from "../../../access/holds/store.ts";
import { type Db, sql } from "../../../database/index.ts";

export const Startable = Type.Object({
  account_id: Type.String(),
  status: Type.String(),
  current_version: Type.Integer(),
  /** By the operator: the agent, or all of its account's. */
  is_held: Type.Boolean(),
});
export type Startable = Static<typeof Startable>;

/** Once, so that the statement around it stays the same text. */
const FREE = notHeld(sql`agents.id`, sql`agents.account_id`);

export function findStartable(db: Db, agent_id: string): Promise<Startable | undefined> {
  return db.one(
    Startable,
    sql`SELECT account_id, status, current_version, CASE WHEN ${FREE} THEN 0 ELSE 1 END AS is_held
        FROM agents WHERE id = ${agent_id}`,
  );
}
