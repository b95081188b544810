// A backup before each migration of an existing database, so that the version before can return.
import { dirname, join } from "node:path";
import { type DatabaseLocation, openSnapshot, type TransferPlace } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Settings } from "../settings/index.ts";
import { makeBackup } from "./backup.ts";
import { type BackupDestination, openBackupDestination } from "./destination.ts";
import { BackupError } from "./format.ts";
import { readInstallationRow } from "./installation-row.ts";
import { shortenId, writeStamp } from "./timer.ts";

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
    let name = "";
    try {
      const id = await readId(place);
      const prefix = `before-schema-${number}-${id === null ? "" : `${shortenId(id)}-`}`;
      name = `${prefix}${writeStamp(clock.now())}.backup`;
      const open = () => destination.create(prefix, name);
      const { manifest } = await makeBackup({ place, program, clock, secretsKeyFile: null, open });
      // Without an id, a shared destination may hold backups of others by the same prefix.
      const isOwn = id !== null || settings.backup.to === "";
      // Another process may have migrated meanwhile, whose backup is the one from before.
      if (isOwn && !manifest.schema.includes(number)) {
        await removeOthers(destination, prefix, name).catch(({ message }) =>
          say(`an older backup is not removed: ${message}`),
        );
      }
    } catch (failure) {
      const { message } = failure as Error;
      throw new BackupError(`the database is not migrated without a backup: ${message}`);
    }
    const { to } = settings.backup;
    const where = to === "" ? join(data, "backups") : to;
    say(`the database is backed up to ${where}/${name} before its migration`);
  };
}

/** Reads the id of the installation; null: its schema is older than ids. */
async function readId(place: TransferPlace): Promise<string | null> {
  const snapshot = await openSnapshot(place);
  try {
    const read = await readInstallationRow(snapshot);
    return read?.("id") ?? null;
  } finally {
    await snapshot.close();
  }
}

/**
 * Removes the backups of starts before this one, whose migration to the same schema has failed: a
 * supervisor that starts the program again and again would fill the disk with them.
 */
async function removeOthers(destination: BackupDestination, prefix: string, name: string) {
  for (const other of await destination.list(prefix)) {
    if (other !== name && other.endsWith(".backup")) await destination.remove(other);
  }
}
