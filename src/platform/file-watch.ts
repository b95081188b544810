// Looks at a file now and then, and tells when it has become another one.
import { statSync } from "node:fs";
import type { Cancel, Clock } from "./clock.ts";

/** A person who has saved a file waits no longer than two looks. */
const LOOK_EVERY_MS = 1_000;

export interface FileWatchOptions {
  path: string;
  /** What the file was like when it was read last. */
  stamp: string;
  clock: Clock;
  onChange(): void;
}

export interface FileWatch {
  start(): void;
  stop(): void;
  /** The file is about to be read: what it is like now is known. */
  note(): void;
}

/**
 * What tells one state of a file from the next, through symbolic links; that it cannot be looked at
 * is one, too. A rewritten file has another time or size, an exchanged one another inode.
 */
export function readStamp(path: string): string {
  try {
    const { mtimeNs, size, ino, dev } = statSync(path, { bigint: true });
    return [mtimeNs, size, ino, dev].join(" ");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown";
  }
}

/** A pipe nobody writes to holds up whoever opens it, and with it the whole process. */
export function isPipe(path: string): boolean {
  try {
    return statSync(path).isFIFO();
  } catch {
    return false;
  }
}

/** The stamp of a file that is not there. */
export const MISSING = "ENOENT";

/** A look costs some microseconds, and works where a file system tells of no changes. */
export function watchFile({ path, stamp, clock, onChange }: FileWatchOptions): FileWatch {
  let known = stamp;
  let seen = stamp;
  let cancel: Cancel = () => {};

  const look = () => {
    const now = readStamp(path);
    // It may be half written: what is still changing is looked at once more.
    const isSettled = now === seen;
    seen = now;
    cancel = clock.after(LOOK_EVERY_MS, look);
    if (now === known || !isSettled) return;
    known = now;
    onChange();
  };
  return {
    start() {
      cancel = clock.after(LOOK_EVERY_MS, look);
    },
    stop: () => cancel(),
    note() {
      known = readStamp(path);
      seen = known;
    },
  };
}
