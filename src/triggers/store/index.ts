// Triggers and their fires in the database: each write one transaction.
import { sql, store } from "../../platform/database/index.ts";
import { FireRow } from "../fire.ts";
import { FoundTrigger } from "../trigger.ts";
import { type Firing, fire } from "./firing.ts";
import { findHook, findRequested, findSigner } from "./hook.ts";

export const triggerStore = store(
  "triggers",
  {
    /** Of whichever account; undefined: there is none of this id. */
    find: (db, id: string) =>
      db.one(
        FoundTrigger,
        sql`SELECT triggers.*, agents.archived_at AS agent_archived_at
            FROM triggers JOIN agents ON agents.id = triggers.agent_id WHERE triggers.id = ${id}`,
      ),
    findFire: (db, id: string) => db.one(FireRow, sql`SELECT * FROM fires WHERE id = ${id}`),
    /** Of a trigger that takes requests: its account; null: there is none. */
    findSigner: (db, id: string) => findSigner(db, id),
    /** Such a trigger, with what stands against its fires now. */
    findHook: (db, id: string) => findHook(db, id),
    findRequested: (db, trigger_id: string, webhook_id: string) =>
      findRequested(db, trigger_id, webhook_id),
  },
  {
    /** agents.does.trigger: one fire with its run, its event, and what comes next. */
    fire: (tx, firing: Firing) => fire(tx, firing),
  },
);
