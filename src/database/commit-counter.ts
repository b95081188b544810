// Counts the commits of a SQLite file: in a row inside it, and behind each in a file beside it.
import type { Database as Connection } from "bun:sqlite";
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

export interface CommitCounter {
  /** Behind the last statement of a transaction; null: it has changed nothing. */
  count(): number | null;
  /** Behind its commit: notes the number in the file. */
  note(commits: number): void;
  close(): void;
}

/** Two slots in sectors of their own, in turns: a torn write spoils one; the other is one less. */
const SLOT_BYTES = 512;
const SLOT = /^([0-9]{16}) ([0-9a-f]{8})\n/;

/** Where the number of the last commit of the database `file` is noted. */
const placeCounter = (file: string) => `${file}-commits`;

/** The number in the file beside the database `file`; null: there is none that can be read. */
export function readNotedCommits(file: string): number | null {
  let text: string;
  try {
    text = readFileSync(placeCounter(file), "latin1");
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw failure;
  }
  const noted = [0, SLOT_BYTES].flatMap((at) => readSlot(text.slice(at, at + SLOT_BYTES)));
  return noted.length > 0 ? Math.max(...noted) : null;
}

/** The number inside the database; null: its schema has none yet. */
export function readStoredCommits(connection: Connection): number | null {
  const hasTable = connection
    .query("SELECT 1 FROM sqlite_schema WHERE name = 'wadi_commits'")
    .values()[0];
  if (!hasTable) return null;
  return Number(connection.query("SELECT commits FROM wadi_commits").values()[0]?.[0] ?? 0);
}

/**
 * Brings row and file together at an opening. Where `noted` is more, somebody has accepted it, and
 * the row goes on from there; else the file follows the row, as behind a loss of power.
 */
export function alignCounter(connection: Connection, noted: number | null): void {
  const stored = readStoredCommits(connection);
  if (stored === null) return;
  if (noted === null) makeFile(connection.filename, stored);
  else if (stored < noted) connection.run("UPDATE wadi_commits SET commits = ?", [noted]);
  else if (stored > noted) {
    const descriptor = openSync(placeCounter(connection.filename), "r+");
    noteIn(descriptor, stored);
    closeSync(descriptor);
  }
}

/** The counter of a connection whose file alignCounter has seen; null: nothing is counted there. */
export function openCommitCounter(connection: Connection): CommitCounter | null {
  if (connection.filename === ":memory:" || readStoredCommits(connection) === null) return null;
  const total = connection.prepare("SELECT total_changes()");
  // Two statements take a third less time than one that is RETURNING.
  const raise = connection.prepare("UPDATE wadi_commits SET commits = commits + 1");
  const read = connection.prepare("SELECT commits FROM wadi_commits");
  const readTotal = () => Number(total.values()[0]?.[0]);
  const descriptor = openSync(placeCounter(connection.filename), "r+");
  let isOpen = true;
  let seen = readTotal();
  return {
    count() {
      // A transaction that changes nothing costs no write; one more row would make it one.
      const changes = readTotal();
      if (changes === seen) return null;
      seen = changes + raise.run().changes;
      return Number(read.values()[0]?.[0]);
    },
    note(commits) {
      try {
        // Not synced: it may fall behind the database, which is synced before, and never leads it.
        noteIn(descriptor, commits);
      } catch {
        // The commit has happened all the same; the next one notes a higher number.
      }
    },
    close() {
      // A number that is closed twice may be another file's by then.
      if (!isOpen) return;
      isOpen = false;
      total.finalize();
      raise.finalize();
      read.finalize();
      closeSync(descriptor);
    },
  };
}

const noteIn = (descriptor: number, commits: number) =>
  writeSync(descriptor, writeSlot(commits), (commits % 2) * SLOT_BYTES, "latin1");

/** It belongs to whom the database belongs to, also where an administrator makes it. */
function makeFile(file: string, commits: number): void {
  const { mode, uid, gid } = statSync(file);
  const flags = constants.O_RDWR | constants.O_CREAT;
  const descriptor = openSync(placeCounter(file), flags, mode & 0o666);
  try {
    if (process.getuid?.() === 0) fchownSync(descriptor, uid, gid);
    writeSync(descriptor, "\n".repeat(2 * SLOT_BYTES), 0, "latin1");
    noteIn(descriptor, commits);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const writeSlot = (commits: number): string => {
  const digits = String(commits).padStart(16, "0");
  return `${digits} ${checksum(digits)}\n`;
};

function readSlot(text: string): number[] {
  const [, digits, sum] = SLOT.exec(text) ?? [];
  return digits && checksum(digits) === sum ? [Number(digits)] : [];
}

const checksum = (digits: string): string => Bun.hash.crc32(digits).toString(16).padStart(8, "0");
