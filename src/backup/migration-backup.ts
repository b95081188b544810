// A backup before each migration of an existing database, so that the version before can return.
import { dirname, join } from "node:path";
import type { DatabaseLocation } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Settings } from "../settings/index.ts";
import { makeBackup } from "./backup.ts";
import { openBackupDestination } from "./destination.ts";
import { BackupError } from "./format.ts";
import { writeStamp } from "./timer.ts";

export interface MigrationBackupOptions {
  settings: Pick<Settings, "backup" | "server">;
  place: DatabaseLocation;
  program: string;
  clock: Clock;
  /** Told the name of a backup. */
  say(message: string): void;
}

/** Returns a callback for `beforeMigration`; no migration begins without its backup. */
export function backUpBeforeMigration(options: MigrationBackupOptions) {
  const { settings, place, program, clock, say } = options;
  return async (missing: readonly { number: number }[]): Promise<void> => {
    if (place.kind === "memory") return;
    const data = place.kind === "sqlite" ? dirname(place.file) : settings.server.data;
    const destination = openBackupDestination(settings.backup, data, clock);
    const number = Math.max(...missing.map((migration) => migration.number));
    const prefix = `before-schema-${number}-`;
    const name = `${prefix}${writeStamp(clock.now())}.backup`;
    try {
      const open = () => destination.create(prefix, name);
      await makeBackup({ place, program, clock, secretsKeyFile: null, open });
    } catch (failure) {
      const { message } = failure as Error;
      throw new BackupError(`the database is not migrated without a backup: ${message}`);
    }
    const { to } = settings.backup;
    const where = to === "" ? join(data, "backups") : to;
    say(`the database is backed up to ${where}/${name} before its migration`);
  };
}
