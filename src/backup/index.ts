// Backups: written from a snapshot, restored as a paused copy; and moves of data between engines.
export { makeBackup } from "./backup.ts";
export { type BackupDestination, openBackupDestination } from "./destination.ts";
export { createBackupFile } from "./file.ts";
export { sumRows } from "./format.ts";
export { backUpBeforeMigration } from "./migration-backup.ts";
export { type MoveResult, moveData } from "./move.ts";
export { restoreBackup } from "./restore.ts";
export { findBackupKey, prepareKeyFile, readKeys } from "./secrets-key.ts";
export { BackupTimer, openBackups } from "./timer.ts";
