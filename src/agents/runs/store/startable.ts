// What a start has to know before it begins: the agent, what holds it, and its version.
import { type Static, Type } from "@sinclair/typebox";
import { notHeld } from "../../../access/holds/store.ts";
import { type Db, sql } from "../../../platform/database/index.ts";
import { maybe } from "../../../platform/shape.ts";
import { Budgets } from "../../definitions/version.ts";

export const Startable = Type.Object({
  account_id: Type.String(),
  status: Type.String(),
  current_version: Type.Integer(),
  /** By the operator: the agent, or all of its account's. */
  is_held: Type.Boolean(),
});
export type Startable = Static<typeof Startable>;

/** What of a version a run is started with. It never changes. */
export const Terms = Type.Object({
  /** null: the default model. */
  model: maybe(Type.String()),
  tools: Type.Array(Type.String()),
  budgets: Budgets,
});
export type Terms = Static<typeof Terms>;

/** Once, so that the statement around it stays the same text. */
const FREE = notHeld(sql`agents.id`, sql`agents.account_id`);

export function findStartable(db: Db, agent_id: string): Promise<Startable | undefined> {
  return db.one(
    Startable,
    sql`SELECT account_id, status, current_version, CASE WHEN ${FREE} THEN 0 ELSE 1 END AS is_held
        FROM agents WHERE id = ${agent_id}`,
  );
}

export function findTerms(db: Db, agent_id: string, version: number): Promise<Terms | undefined> {
  return db.one(
    Terms,
    sql`SELECT model, tools, budgets FROM agent_versions
        WHERE agent_id = ${agent_id} AND version = ${version}`,
  );
}
