// Triggers and their fires in the database: each write one transaction.
import { sql, store } from "../../platform/database/index.ts";
import { FireRow } from "../fire.ts";
import { FoundTrigger, type PausedReason } from "../trigger.ts";
import {
  type DuePlace,
  type DueTurn,
  findNextDue,
  listDue,
  listDueAccounts,
  listTimed,
  pauseDue,
  type Realignment,
  realign,
} from "./due.ts";
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
    /** Accounts that have something due, those that wait longest first. */
    listDueAccounts: (db, now: number) => listDueAccounts(db, now),
    listDue: (db, now: number, turns: readonly DueTurn[]) => listDue(db, now, turns),
    findNextDue: (db, after: number) => findNextDue(db, after),
    /** Triggers with an instant to come, a page at a time. */
    listTimed: (db, after: DuePlace, limit: number) => listTimed(db, after, limit),
  },
  {
    /** agents.does.trigger: one fire with its run, its event, and what comes next. */
    fire: (tx, firing: Firing) => fire(tx, firing),
    realign: (tx, changes: readonly Realignment[]) => realign(tx, changes),
    pauseDue: (tx, due: DuePlace, reason: PausedReason, now: number) =>
      pauseDue(tx, due, reason, now),
  },
);
