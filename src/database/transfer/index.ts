// The transfer of whole databases: what is read at one moment, and written to an empty place.
export { placeDraft, removeDrafts } from "./drafts.ts";
export { type Loader, type LoadTransaction, openLoader } from "./loader.ts";
export { isLocked, lockPlace, type PlaceLock } from "./lock.ts";
export {
  advance,
  beginMove,
  copyBatch,
  endMove,
  type MoveOrigin,
  NO_PROGRESS,
  readMove,
  type TableProgress,
} from "./move-progress.ts";
export { RowRefused } from "./row.ts";
export { openSnapshot, type Snapshot } from "./snapshot.ts";
export { hasDatabase, isSamePlace, mergeLog, type TransferPlace } from "./state.ts";
export { describeSchema, pickMigrations, type TransferTable } from "./tables.ts";
