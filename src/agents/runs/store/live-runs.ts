// Whether runs that something started by itself are still under way.
import { Type } from "@sinclair/typebox";
import { type Db, sql } from "../../../database/index.ts";

const Id = Type.Object({ id: Type.String() });

/** A part: a run of this trigger is not final; one that waits for a person is not either. */
export async function hasLiveRun(db: Db, trigger_id: string): Promise<boolean> {
  const live = await db.one(
    Id,
    sql`SELECT id FROM runs WHERE trigger_id = ${trigger_id} AND finished_at IS NULL LIMIT 1`,
  );
  return live !== undefined;
}
