// Triggers and their fires in the database; each write is one transaction.
import { store } from "../../database/index.ts";
import { change, create, listArchived, pauseArchived, remove, rotate } from "./change.ts";
import { findNextDue, listDue, listDueAccounts, listTimed, realign } from "./due.ts";
import { fire, sweepFires } from "./fire.ts";
import {
  findHook,
  findRequested,
  findSigner,
  findTrigger,
  isHeld,
  listFires,
  listMarks,
  listTriggers,
} from "./lookup.ts";

export const triggerStore = store(
  "triggers",
  {
    find: findTrigger,
    list: listTriggers,
    listFires,
    listMarks,
    findSigner,
    findHook,
    findRequested,
    isHeld,
    listDueAccounts,
    listDue,
    findNextDue,
    listTimed,
    listArchived,
  },
  { fire, realign, create, change, rotate, remove, pauseArchived, sweepFires },
);
