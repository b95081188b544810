// Files of backups: written aside, synced, and given their name only when they are whole.
import { closeSync, fsyncSync, lstatSync, openSync, readdirSync, rmSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { explainFile } from "./file-failure.ts";
import { BackupError } from "./format.ts";

export interface BackupFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Gives the file its name; throws where another has taken it. */
  finish(): Promise<void>;
  /** Removes what was written; never throws, since a failure has come before it. */
  abandon(): Promise<void>;
}

/** Name of a file that is not whole yet, with the process that writes it. */
const DRAFT = /\.(\d+)\.part$/;
/** Characters of a name in that of its draft, which may not be too long for the file system. */
const NAME_CHARACTERS_MAX = 80;
/** Codes of FAT and of network shares that have no hard links. */
const LINKLESS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"];

/**
 * Creates a file that only its owner may read, and never replaces one. Drafts with the prefix that
 * killed processes have left are removed first.
 */
export async function createBackupFile(file: string, prefix?: string): Promise<BackupFile> {
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (failure) {
      throw explainFile(file, "written", failure);
    }
  };
  const begun = `${basename(file).slice(0, NAME_CHARACTERS_MAX)}.`;
  // Two backups of one name at once must not write one file.
  const draft = join(dirname(file), `${begun}${process.pid}.part`);
  const handle = await attempt(async () => {
    if (lstatSync(file, { throwIfNoEntry: false })) throw explainTaken(file);
    removeDrafts(dirname(file), prefix ?? begun);
    return open(draft, "wx", 0o600);
  });
  return {
    write: (bytes) => attempt(() => handle.writeFile(bytes)),
    finish: () =>
      attempt(async () => {
        await handle.sync();
        await handle.close();
        await giveName(draft, file);
        syncDirectory(file);
      }),
    async abandon() {
      // A finish whose name was taken has closed it.
      await handle.close().catch(() => {});
      await rm(draft, { force: true }).catch(() => {});
    },
  };
}

async function giveName(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file).catch((failure) => {
      if (!LINKLESS.includes(failure.code)) throw failure;
      return moveDraft(draft, file);
    });
  } catch (failure) {
    throw (failure as NodeJS.ErrnoException).code === "EEXIST" ? explainTaken(file) : failure;
  }
  // The backup is whole, also where its first name stays.
  await rm(draft, { force: true }).catch(() => {});
}

async function moveDraft(draft: string, file: string): Promise<void> {
  // The empty file keeps others from taking the name.
  await (await open(file, "wx", 0o600)).close();
  await rename(draft, file).catch(async (failure) => {
    await rm(file);
    throw failure;
  });
}

/** Removes drafts of processes that have ended; this process writes one draft at a time. */
function removeDrafts(directory: string, prefix: string): void {
  try {
    for (const name of readdirSync(directory)) {
      const pid = Number(DRAFT.exec(name)?.[1]);
      if (!name.startsWith(prefix) || !pid || (pid !== process.pid && isLiving(pid))) continue;
      rmSync(join(directory, name), { force: true });
    }
  } catch {
    // A draft that stays only takes room.
  }
}

function isLiving(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (failure) {
    // Another user's process may not be signalled, but lives.
    return (failure as NodeJS.ErrnoException).code !== "ESRCH";
  }
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
