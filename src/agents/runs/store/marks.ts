// The newest runs of many agents, as lists show them.
import { type Static, Type } from "@sinclair/typebox";
import { type Db, sql } from "../../../database/index.ts";
import { RunRow } from "../run.ts";

export const RunMark = Type.Object({
  id: Type.String({ description: "Identifier." }),
  agent_id: Type.String({ description: "Agent of the run." }),
  status: RunRow.properties.status,
  created_at: RunRow.properties.created_at,
});
export type RunMark = Static<typeof RunMark>;

/** Agents of one statement: databases bound the parts of a union. */
const AGENTS_A_READ = 50;

/** Lists the newest runs of each agent, the newest first. */
export async function listRunMarks(
  db: Db,
  agent_ids: readonly string[],
  limit: number,
): Promise<RunMark[]> {
  const marks: RunMark[] = [];
  for (let at = 0; at < agent_ids.length; at += AGENTS_A_READ) {
    const parts = agent_ids.slice(at, at + AGENTS_A_READ).map(
      (id) => sql`SELECT * FROM (SELECT id, agent_id, status, created_at, number FROM runs
        WHERE agent_id = ${id} ORDER BY number DESC LIMIT ${limit}) AS part`,
    );
    const union = parts.reduce((all, part) => sql`${all} UNION ALL ${part}`);
    marks.push(
      ...(await db.all(
        RunMark,
        sql`SELECT id, agent_id, status, created_at FROM (${union}) AS found
            ORDER BY agent_id, number DESC`,
      )),
    );
  }
  return marks;
}
