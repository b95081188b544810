// Files of backups: written aside, synced, and given their name only when they are whole.
import { closeSync, existsSync, fsyncSync, openSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { BackupError } from "./format.ts";

export interface BackupFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives the file its name; throws where another has taken it. */
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

/** End of the name of a file that is not whole yet. */
export const DRAFT_END = ".part";

/** Creates a file that only its owner may read, and never replaces one. */
export async function createBackupFile(file: string): Promise<BackupFile> {
  if (existsSync(file)) throw explainTaken(file);
  // Two backups of one name at once must not write one file.
  const draft = `${file}.${process.pid}${DRAFT_END}`;
  // A killed process of the same number may have left it behind.
  await rm(draft, { force: true });
  const handle = await open(draft, "wx", 0o600);
  return {
    write: (bytes) => handle.writeFile(bytes),
    async finish() {
      await handle.sync();
      try {
        await link(draft, file);
      } catch (failure) {
        throw (failure as NodeJS.ErrnoException).code === "EEXIST" ? explainTaken(file) : failure;
      }
      await handle.close();
      await rm(draft);
      syncDirectory(file);
    },
    async abandon() {
      await handle.close();
      await rm(draft, { force: true });
    },
  };
}

const explainTaken = (file: string) =>
  new BackupError(`${file} exists, and no backup replaces a file`);

/** Syncs the directory of a file, so that a power cut cannot take its name away. */
export function syncDirectory(file: string): void {
  try {
    const descriptor = openSync(dirname(file), "r");
    fsyncSync(descriptor);
    closeSync(descriptor);
  } catch {
    // Some systems cannot sync directories.
  }
}
