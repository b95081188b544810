// Counts the commits of a SQLite file, in a row inside it and in a file beside it.
import type { Database as Connection, Statement } from "bun:sqlite";
import {
  closeSync,
  constants,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from "node:fs";
import { hasTable } from "./sqlite.ts";

/** Size of a slot; two are written in turns, so a torn write leaves the previous number. */
const SLOT_BYTES = 512;
const SLOT = /^([0-9]{16}) ([0-9a-f]{8})\n/;

const counterFile = (file: string) => `${file}-commits`;

/** Reads the number beside the database `file`; null where there is none to read. */
export function readNotedCommits(file: string): number | null {
  let text: string;
  try {
    text = readFileSync(counterFile(file), "latin1");
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw failure;
  }
  const noted = [0, SLOT_BYTES].flatMap((at) => readSlot(text.slice(at, at + SLOT_BYTES)));
  return noted.length > 0 ? Math.max(...noted) : null;
}

export function readStoredCommits(connection: Connection): number | null {
  if (!hasTable(connection, "wadi_commits")) return null;
  return Number(connection.query("SELECT commits FROM wadi_commits").values()[0]?.[0] ?? 0);
}

/**
 * Aligns row and file at an opening. A higher file means an accepted loss, and raises the row;
 * otherwise the file follows the row, as after a loss of power.
 */
export function alignCounter(connection: Connection, noted: number | null): void {
  const stored = readStoredCommits(connection);
  if (stored === null) return;
  if (noted === null) createFile(connection.filename, stored);
  else if (stored < noted) connection.run("UPDATE wadi_commits SET commits = ?", [noted]);
  else if (stored > noted) {
    const descriptor = openSync(counterFile(connection.filename), "r+");
    writeSlot(descriptor, stored);
    closeSync(descriptor);
  }
}

export class CommitCounter {
  readonly #total: Statement;
  readonly #raise: Statement;
  readonly #read: Statement;
  readonly #descriptor: number;
  #seenChanges: number;
  #isOpen = true;

  static open(connection: Connection): CommitCounter | null {
    const isCounted = connection.filename !== ":memory:" && readStoredCommits(connection) !== null;
    return isCounted ? new CommitCounter(connection) : null;
  }

  private constructor(connection: Connection) {
    this.#total = connection.prepare("SELECT total_changes()");
    // Two statements take a third less time than one with RETURNING.
    this.#raise = connection.prepare("UPDATE wadi_commits SET commits = commits + 1");
    this.#read = connection.prepare("SELECT commits FROM wadi_commits");
    this.#descriptor = openSync(counterFile(connection.filename), "r+");
    this.#seenChanges = this.#readChanges();
  }

  /** Counts before a commit; null where the transaction has changed nothing. */
  count(): number | null {
    const changes = this.#readChanges();
    // A transaction without changes stays without a write.
    if (changes === this.#seenChanges) return null;
    this.#seenChanges = changes + this.#raise.run().changes;
    return Number(this.#read.values()[0]?.[0]);
  }

  /** Writes the number behind a commit, without a sync: the file never leads the database. */
  note(commits: number): void {
    try {
      writeSlot(this.#descriptor, commits);
    } catch {
      // The commit has happened; the next one notes a higher number.
    }
  }

  /** Does nothing at a second call: by then the descriptor may be another file's. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const statement of [this.#total, this.#raise, this.#read]) statement.finalize();
    closeSync(this.#descriptor);
  }

  #readChanges(): number {
    return Number(this.#total.values()[0]?.[0]);
  }
}

/** Creates the file for the database's owner, also where an administrator opens it. */
function createFile(file: string, commits: number): void {
  const { mode, uid, gid } = statSync(file);
  const flags = constants.O_RDWR | constants.O_CREAT;
  const descriptor = openSync(counterFile(file), flags, mode & 0o666);
  try {
    if (process.getuid?.() === 0) fchownSync(descriptor, uid, gid);
    writeSync(descriptor, "\n".repeat(2 * SLOT_BYTES), 0, "latin1");
    writeSlot(descriptor, commits);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function writeSlot(descriptor: number, commits: number): void {
  const digits = String(commits).padStart(16, "0");
  writeSync(descriptor, `${digits} ${checksum(digits)}\n`, (commits % 2) * SLOT_BYTES, "latin1");
}

function readSlot(text: string): number[] {
  const [, digits, sum] = SLOT.exec(text) ?? [];
  return digits && checksum(digits) === sum ? [Number(digits)] : [];
}

const checksum = (digits: string): string => Bun.hash.crc32(digits).toString(16).padStart(8, "0");
