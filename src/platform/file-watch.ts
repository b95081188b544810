// Polls a file and reports when it has changed.
import { statSync } from "node:fs";
import type { Cancel, Clock } from "./clock.ts";

/** Interval between two checks; a change is reported after the second that sees it. */
const CHECK_EVERY_MS = 1_000;

export const MISSING = "ENOENT";

/**
 * Identifies one state of a file, through symbolic links: a rewritten file has another time or
 * size, a replaced one another inode. An unreadable file has the error code as its stamp.
 */
export function readStamp(path: string): string {
  try {
    const { mtimeNs, size, ino, dev } = statSync(path, { bigint: true });
    return [mtimeNs, size, ino, dev].join(" ");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown";
  }
}

/** Opening a pipe without a writer would block the whole process. */
export function isPipe(path: string): boolean {
  try {
    return statSync(path).isFIFO();
  } catch {
    return false;
  }
}

export interface FileWatchOptions {
  path: string;
  stamp: string;
  clock: Clock;
  onChange(): void;
}

/** Polling costs some microseconds and works on file systems without change events. */
export class FileWatch {
  readonly #options: FileWatchOptions;
  #readStamp: string;
  #lastStamp: string;
  #cancel: Cancel = () => {};

  constructor(options: FileWatchOptions) {
    this.#options = options;
    this.#readStamp = options.stamp;
    this.#lastStamp = options.stamp;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(CHECK_EVERY_MS, () => this.#check());
  }

  stop(): void {
    this.#cancel();
  }

  /** Notes that the file is about to be read: its present state is no change. */
  note(): void {
    this.#readStamp = readStamp(this.#options.path);
    this.#lastStamp = this.#readStamp;
  }

  #check(): void {
    const stamp = readStamp(this.#options.path);
    // A file that still changes may be half written.
    const isSettled = stamp === this.#lastStamp;
    this.#lastStamp = stamp;
    this.start();
    if (stamp === this.#readStamp || !isSettled) return;
    this.#readStamp = stamp;
    this.#options.onChange();
  }
}
