// Files of backups: written aside, synced, and given their name only when they are whole.
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { BackupError } from "./format.ts";

export interface BackupFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives the file its name; throws where another has taken it. */
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

/** Creates a file that only its owner may read, and never replaces one. */
export function createBackupFile(file: string): BackupFile {
  if (existsSync(file)) throw taken(file);
  const draft = `${file}.part`;
  // A killed backup may have left it behind.
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
  return {
    async write(bytes) {
      for (let rest = bytes; rest.length > 0; ) {
        rest = rest.subarray(writeSync(descriptor, rest));
      }
    },
    async finish() {
      fsyncSync(descriptor);
      close();
      try {
        linkSync(draft, file);
      } catch (failure) {
        throw (failure as NodeJS.ErrnoException).code === "EEXIST" ? taken(file) : failure;
      } finally {
        rmSync(draft, { force: true });
      }
      syncDirectory(file);
    },
    async abandon() {
      close();
      rmSync(draft, { force: true });
    },
  };
}

const taken = (file: string) => new BackupError(`${file} exists, and no backup replaces a file`);

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
