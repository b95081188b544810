// Triggers and their fires in the database: each write one transaction.

import type { SealedSecret } from "../../crypto/store.ts";
import { store } from "../../database/index.ts";
import type { TriggerRow } from "../trigger.ts";
import { listArchived, pauseArchived } from "./archive.ts";
import {
  change,
  create,
  findTrigger,
  remove,
  rotate,
  type SecretChange,
  type TriggerChange,
} from "./change.ts";
import {
  type DuePosition,
  type DueTurn,
  findNextDue,
  listDue,
  listDueAccounts,
  listTimed,
  type Realignment,
  realign,
} from "./due.ts";
import { type FireInput, fire } from "./fire.ts";
import { findHook, findRequested, findSigner, isHeld } from "./hook.ts";
import { type FireFilter, listFires, listTriggers, type TriggerFilter } from "./lists.ts";
import { sweepFires } from "./retention.ts";

export const triggerStore = store(
  "triggers",
  {
    /** Of whichever account; undefined: there is none of this id. */
    find: (db, id: string) => findTrigger(db, id),
    /** Of a trigger that takes requests: its account; null: there is none. */
    findSigner: (db, id: string) => findSigner(db, id),
    /** Such a trigger, with what stands against its fires now. */
    findHook: (db, id: string) => findHook(db, id),
    isHeld: (db, id: string) => isHeld(db, id),
    findRequested: (db, trigger_id: string, webhook_id: string) =>
      findRequested(db, trigger_id, webhook_id),
    /** Accounts that have something due, those that wait longest first. */
    listDueAccounts: (db, now: number) => listDueAccounts(db, now),
    listDue: (db, now: number, turns: readonly DueTurn[]) => listDue(db, now, turns),
    findNextDue: (db, after: number) => findNextDue(db, after),
    /** Triggers with an instant to come, a page at a time. */
    listTimed: (db, after: DuePosition, limit: number) => listTimed(db, after, limit),
    /** Newest first. */
    list: (db, filter: TriggerFilter) => listTriggers(db, filter),
    /** Newest first. */
    listFires: (db, filter: FireFilter) => listFires(db, filter),
    /** The ids of archived agents of which a trigger is not paused yet. */
    listArchived: (db) => listArchived(db),
  },
  {
    /** agents.does.trigger: one fire with its run, its event, and what comes next. */
    fire: (tx, firing: FireInput) => fire(tx, firing),
    realign: (tx, changes: readonly Realignment[]) => realign(tx, changes),
    create: (tx, row: TriggerRow, secret: SealedSecret | null, triggers_max: number) =>
      create(tx, row, secret, triggers_max),
    change: (tx, given: TriggerChange) => change(tx, given),
    rotate: (tx, given: SecretChange) => rotate(tx, given),
    remove: (tx, id: string, account_id: string) => remove(tx, id, account_id),
    pauseArchived: (tx, agent_id: string, now: number) => pauseArchived(tx, agent_id, now),
    sweepFires: (tx, until: number, limit: number) => sweepFires(tx, until, limit),
  },
);
