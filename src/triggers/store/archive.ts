// Triggers of archived agents: which of them still fire, and their pause.
import { Type } from "@sinclair/typebox";
import { type Db, sql, type Tx } from "../../database/index.ts";
import { maybe, Timestamp } from "../../platform/schema.ts";
import { explainArchived } from "../trigger.ts";

const AgentId = Type.Object({ agent_id: Type.String() });
const Agent = Type.Object({ archived_at: maybe(Timestamp("null: it is active.")) });

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

/** An agent that is taken back leaves them paused. How many they were. */
export async function pauseArchived(tx: Tx, agent_id: string, now: number): Promise<number> {
  const agent = await tx.one(Agent, sql`SELECT archived_at FROM agents WHERE id = ${agent_id}`);
  if (!agent || agent.archived_at === null) return 0;
  const reason = explainArchived(agent.archived_at);
  return tx.run(
    sql`UPDATE triggers SET status = 'paused', paused_reason = ${JSON.stringify(reason)},
          next_fire_at = ${null}, updated_at = ${now}
        WHERE agent_id = ${agent_id} AND status = 'active'`,
  );
}
