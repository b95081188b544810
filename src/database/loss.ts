// Finds commits that a SQLite database has lost, before anything writes to it.
import { Database as Connection } from "bun:sqlite";
import { copyFileSync, existsSync, realpathSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readNotedCommits, readStoredCommits } from "./commit-counter.ts";
import { hasTable } from "./sqlite.ts";

/** File that a start creates only after the database. */
const SECRETS_KEY = "secrets.key";
const BUSY_TIMEOUT_MS = 2_000;
const WAY_ON = "or go on without it with `wadi serve --accept-loss`";

export interface DetectedLoss {
  noted: number | null;
  loss: string | null;
}

export function findLoss(file: string): DetectedLoss {
  // The noted count is read first, so that a concurrent commit cannot look like a loss.
  const noted = readNotedCommits(file);
  if (noted === null) return { noted, loss: findLostDatabase(file) };
  const stored = readContent(file)?.commits ?? 0;
  if (stored >= noted) return { noted, loss: null };
  const missing = `${noted - stored} of ${noted} commits`;
  const kept = existsSync(placeKeptLog(file, noted))
    ? ` (its log is kept as ${basename(placeKeptLog(file, noted))})`
    : "";
  const sentence = `${file} lacks the last ${missing}${kept}`;
  const loss = `${sentence}: put back the files that belong to it, ${WAY_ON}`;
  return { noted, loss };
}

/** Copies the log of a damaged database, which SQLite may cut at the next opening. */
export function keepLog(file: string, { noted }: DetectedLoss): void {
  // For a linked database, SQLite puts the log beside the link's target.
  const log = `${existsSync(file) ? realpathSync(file) : file}-wal`;
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  const kept = placeKeptLog(file, noted ?? 0);
  if (size === 0 || existsSync(kept)) return;
  // Renamed once it is whole, because the disk may be full.
  copyFileSync(log, `${kept}.part`);
  renameSync(`${kept}.part`, kept);
}

const placeKeptLog = (file: string, noted: number): string => `${file}-wal.behind-${noted}`;

function findLostDatabase(file: string): string | null {
  const directory = dirname(file);
  if (!existsSync(join(directory, SECRETS_KEY)) || readContent(file)) return null;
  const sentence = `${directory} has a ${SECRETS_KEY}, and its database is missing or empty`;
  return `${sentence}: put it back, ${WAY_ON}`;
}

function readContent(file: string): { commits: number | null } | undefined {
  // Uses stat only: closing a descriptor of ours would drop SQLite's locks.
  if (!statSync(file, { throwIfNoEntry: false })?.size) return undefined;
  // A read-only connection leaves database and log as they are when it closes.
  const connection = new Connection(file, { readonly: true, strict: true });
  try {
    connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    if (!hasTable(connection, "wadi_schema")) return undefined;
    return { commits: readStoredCommits(connection) };
  } finally {
    connection.close(true);
  }
}
