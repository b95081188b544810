// Triggers and their fires in the database: each write one transaction.
import { sql, store } from "../../platform/database/index.ts";
import { FireRow } from "../fire.ts";
import { FoundTrigger } from "../trigger.ts";
import { type Firing, fire } from "./firing.ts";

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
  },
  {
    /** agents.does.trigger: one fire with its run, its event, and what comes next. */
    fire: (tx, firing: Firing) => fire(tx, firing),
  },
);
