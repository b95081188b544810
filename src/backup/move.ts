// Moves the data of a stopped installation to another place: in steps, each stored at the target.
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { processStore } from "../cluster/index.ts";
import {
  advance,
  beginMove,
  copyBatch,
  endMove,
  hasDatabase,
  isSamePlace,
  type Loader,
  lockPlace,
  type MoveOrigin,
  NO_PROGRESS,
  openLoader,
  openSnapshot,
  type PlaceLock,
  placeDraft,
  readMove,
  removeDrafts,
  type Snapshot,
  type TableProgress,
  type TransferPlace,
  type TransferTable,
} from "../database/index.ts";
import { installationStore } from "../installation/index.ts";
import type { Clock } from "../platform/clock.ts";
import { giveToOwnerOf } from "../platform/file-owner.ts";
import { BackupError, type OnProgress } from "./format.ts";
import { readInstallationRow } from "./installation-row.ts";

export interface MoveOptions {
  source: TransferPlace;
  sourceName: string;
  target: TransferPlace;
  targetName: string;
  /** Replaces other data at the target. */
  replaces: boolean;
  clock: Clock;
  onProgress?: OnProgress;
  /** Takes a sentence about what the move does. */
  say(line: string): void;
  /** Called when the target holds all data, before it becomes their place; again after changes. */
  beforeEnd(): void | Promise<void>;
  /** Ends the move with an error while its source still opens; the same move continues. */
  signal?: AbortSignal;
}

export interface MoveResult {
  rows: number;
  tables: number;
  is_resumed: boolean;
}

interface Origin extends MoveOrigin {
  /** Set where a move was cut off between its last two steps. */
  moved_to: string | null;
}

/** Times that a source may change during its move, before the move gives up. */
const ATTEMPTS_MAX = 3;
const WAY_OUT =
  "if they are elsewhere, leave the new place out of the settings until the move is over, or " +
  "name other settings by --config";
const CHANGED = "the source has changed since, so the move starts over";

export async function moveData(options: MoveOptions): Promise<MoveResult> {
  const { source, sourceName, target, clock } = options;
  if (isSamePlace(source, target)) {
    throw new BackupError(`the data are in ${sourceName} already, say the settings; ${WAY_OUT}`);
  }
  if (!(await hasDatabase(source))) {
    throw new BackupError(`${sourceName} has no data to move; ${WAY_OUT}`);
  }
  const locks = [await lockPlace(source)];
  try {
    locks.push(await lockPlace(target));
    await bringForward(source, clock.now());
    const origin = await readOrigin(source);
    const isResumed = await openTarget(options, origin);
    const loader = openLoader(target, { now: clock.now() });
    try {
      const copied = await copyUnchanged(options, loader, locks);
      await endTarget(options, loader);
      return { ...copied, is_resumed: isResumed };
    } finally {
      await loader.close();
    }
  } finally {
    for (const lock of locks.reverse()) await lock.release();
  }
}

/** Brings an older source to this program's schema, which the target gets. */
async function bringForward(source: TransferPlace, now: number): Promise<void> {
  await using loader = openClosing(source, now);
  await loader.transact((load) => load.bringForward());
}

function openClosing(place: TransferPlace, now: number): Loader & AsyncDisposable {
  const loader = openLoader(place, { now });
  return { ...loader, [Symbol.asyncDispose]: loader.close };
}

async function readOrigin(source: TransferPlace): Promise<Origin> {
  const snapshot = await openSnapshot(source);
  try {
    const read = (await readInstallationRow(snapshot))!;
    return {
      installation_id: read("id")!,
      stamp: await snapshot.readStamp(),
      moved_to: read("moved_to"),
    };
  } finally {
    await snapshot.close();
  }
}

/** Begins a move at the target, or finds the one that was interrupted: then returns true. */
async function openTarget(options: MoveOptions, origin: Origin): Promise<boolean> {
  const { target, targetName, replaces, clock, say } = options;
  const isThere = await hasDatabase(target);
  if (!isThere && target.kind === "sqlite") {
    requireUnmoved(options, origin);
    await createTarget(target.file, origin, clock.now());
    return false;
  }
  await using loader = openClosing(target, clock.now());
  const found = await loader.transact(readMove);
  const isOwn = found?.origin.installation_id === origin.installation_id;
  // A kill between the last two steps of a move leaves both a source and a target that name it.
  const isEnding = isOwn && origin.moved_to === targetName;
  if (!isEnding) requireUnmoved(options, origin);
  if (isEnding || (isOwn && found?.origin.stamp === origin.stamp)) {
    say("the interrupted move continues");
    return true;
  }
  if (isOwn) say(CHANGED);
  else if (isThere && !replaces) {
    throw new BackupError(`${targetName} has data: move over it with --yes, or name another`);
  }
  await begin(options, loader, origin);
  return false;
}

function requireUnmoved({ sourceName }: MoveOptions, { moved_to }: Origin): void {
  if (moved_to === null) return;
  throw new BackupError(`the data of ${sourceName} was moved to ${moved_to} already`);
}

/** Creates a file that says from its first moment on that it is not whole. */
async function createTarget(file: string, origin: MoveOrigin, now: number): Promise<void> {
  const draft = placeDraft(file, "move");
  removeDrafts(file);
  try {
    const loader = openLoader({ kind: "sqlite", file: draft }, { now, isFresh: true });
    await loader.transact((load) => beginMove(load, origin)).finally(loader.close);
    for (const part of ["", "-wal", "-shm", "-commits"]) rmSync(`${file}${part}`, { force: true });
    giveToOwnerOf(dirname(file), draft);
    renameSync(draft, file);
  } finally {
    removeDrafts(file);
  }
}

async function begin({ target }: MoveOptions, loader: Loader, origin: MoveOrigin): Promise<void> {
  // The counter of replaced data would make the new data look as if commits were missing.
  if (target.kind === "sqlite") rmSync(`${target.file}-commits`, { force: true });
  await loader.transact((load) => beginMove(load, origin));
}

/**
 * Copies everything, and ends the source; starts over where a command has written to it meanwhile.
 * The source ends before the target is whole, so that never both start. A kill between the two
 * leaves a source that names the target, and the same command ends the move.
 */
async function copyUnchanged(options: MoveOptions, loader: Loader, locks: readonly PlaceLock[]) {
  const { source, say, signal } = options;
  for (let attempts = 1; attempts <= ATTEMPTS_MAX; attempts++) {
    const copied = await copyAll(options, loader);
    const { origin } = (await loader.transact(readMove))!;
    if (copied) {
      signal?.throwIfAborted();
      await options.beforeEnd();
      for (const lock of locks) lock.requireHeld();
      if (await endSource(options, origin.stamp)) return copied;
    }
    say(CHANGED);
    await begin(options, loader, await readOrigin(source));
  }
  throw new BackupError("the source changes again and again: end all commands that write to it");
}

/** Returns undefined where the target's rows are not those of the source. */
async function copyAll(options: MoveOptions, loader: Loader) {
  const { source, target, onProgress, signal } = options;
  const progress = (await loader.transact(readMove))!.tables;
  const snapshot = await openSnapshot(source);
  try {
    const total = await snapshot.countAll();
    let done = 0;
    for (const table of snapshot.tables) {
      const before = progress.get(table.name) ?? NO_PROGRESS;
      const copied = await copyTable(snapshot, table, before, loader, (rows) => {
        onProgress?.(done + rows, total);
        signal?.throwIfAborted();
      });
      progress.set(table.name, copied);
      done += copied.rows;
    }
    const isSame = done === total && (await isWhole(target, progress, signal));
    return isSame ? { rows: done, tables: snapshot.tables.length } : undefined;
  } finally {
    await snapshot.close();
  }
}

async function copyTable(
  snapshot: Snapshot,
  table: TransferTable,
  before: TableProgress,
  loader: Loader,
  onRows: (rows: number) => void,
): Promise<TableProgress> {
  let progress = before;
  for await (const batch of snapshot.scan(table, before.after ?? undefined)) {
    const next = advance(progress, table, batch);
    await loader.transact((load) => copyBatch(load, table, batch, next));
    progress = next;
    onRows(progress.rows);
  }
  return progress;
}

/** Compares counts and sums of what the target holds with those of what was read. */
async function isWhole(
  target: TransferPlace,
  copied: ReadonlyMap<string, TableProgress>,
  signal?: AbortSignal,
): Promise<boolean> {
  const snapshot = await openSnapshot(target, { isUnfinished: true });
  try {
    for (const table of snapshot.tables) {
      let found = NO_PROGRESS;
      for await (const batch of snapshot.scan(table)) {
        signal?.throwIfAborted();
        found = advance(found, table, batch);
      }
      const { rows, sum } = copied.get(table.name) ?? NO_PROGRESS;
      if (found.rows !== rows || found.sum !== sum) return false;
    }
    return true;
  } finally {
    await snapshot.close();
  }
}

/** Ends the source unless it has changed since it was stamped; then returns false. */
async function endSource(
  { source, targetName, clock }: MoveOptions,
  stamp: string,
): Promise<boolean> {
  const now = clock.now();
  await using loader = openClosing(source, now);
  return await loader.transact(async (load) => {
    // Ended before a kill: nothing has written to it since.
    if ((await installationStore.reads.find(load.tx)).moved_to !== null) return true;
    if (!(await load.lockUnchanged(stamp))) return false;
    await installationStore.writes.noteMove(load.tx, targetName, now);
    await load.refuseWrites();
    return true;
  });
}

async function endTarget({ clock }: MoveOptions, loader: Loader): Promise<void> {
  const now = clock.now();
  await loader.transact(async (load) => {
    for (const { epoch } of await processStore.reads.list(load.tx)) {
      await processStore.writes.end(load.tx, epoch, now);
    }
    await installationStore.writes.noteMove(load.tx, null, now);
    await endMove(load);
  });
}
