// Restores a backup: into a new file that replaces the old one, or in one PostgreSQL transaction.
// A kill at any moment leaves the target as it was, or whole.
import { existsSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { processStore } from "../cluster/index.ts";
import {
  describeSchema,
  hasDatabase,
  inspectDatabase,
  type LoadTransaction,
  lockPlace,
  mergeLog,
  NewerDatabase,
  openLoader,
  type PlaceLock,
  pickMigrations,
  placeDraft,
  RowRefused,
  removeDrafts,
  type TransferPlace,
} from "../database/index.ts";
import { installationStore } from "../installation/index.ts";
import type { Clock } from "../platform/clock.ts";
import { giveToOwnerOf } from "../platform/file-owner.ts";
import type { Ids } from "../platform/ids.ts";
import { syncDirectory } from "./file.ts";
import { BackupError, type BackupManifest, type OnProgress, sumRows } from "./format.ts";
import { readRows, verifyBackup } from "./reader.ts";
import { findBackupKey, prepareKeyFile } from "./secrets-key.ts";

export interface RestoreOptions {
  file: string;
  place: TransferPlace;
  /** Name of the place for people. */
  placeName: string;
  /** Replaces data that is there. */
  replaces: boolean;
  /** File that gets the backup's secrets key, where the restore is to write it. */
  secretsKeyFile?: string | undefined;
  clock: Clock;
  ids: Ids;
  onProgress?: OnProgress;
  /** Ends the restore with an error while the target is still as it was. */
  signal?: AbortSignal;
}

interface RestoreWork extends RestoreOptions, Pick<PlaceLock, "requireHeld"> {
  manifest: BackupManifest;
}

export async function restoreBackup(options: RestoreOptions): Promise<BackupManifest> {
  const { file, place, signal } = options;
  // Everything is verified before anything is changed.
  const manifest = await verifyBackup(file, signal);
  await requireTables(file, manifest);
  const writeKey = prepareKey(options, manifest);
  const lock = await lockPlace(place);
  try {
    await requirePermission(options);
    const work = { ...options, manifest, requireHeld: lock.requireHeld };
    if (place.kind === "postgres") await load(work, place);
    else {
      // A link to a database stays one.
      const file = existsSync(place.file) ? realpathSync(place.file) : place.file;
      await replaceFile(work, file);
    }
    writeKey();
  } finally {
    await lock.release();
  }
  return manifest;
}

function prepareKey({ file, secretsKeyFile }: RestoreOptions, manifest: BackupManifest) {
  if (secretsKeyFile === undefined) return () => {};
  const keys = findBackupKey(manifest);
  if (keys) return prepareKeyFile(keys, secretsKeyFile);
  throw new BackupError(`${file} does not hold the key of its secrets: drop --with-key`);
}

/** Tables with one row, which a migration writes. */
const SINGLE = ["wadi_installation", "sweeps"];

/** Refuses a schema that no database has, and a backup without one of its tables. */
async function requireTables(file: string, { schema, tables }: BackupManifest): Promise<void> {
  const wanted = (await describeSchema(schema))?.map(({ name }) => name);
  const held = tables.map(({ name }) => name);
  if (!Bun.deepEquals(wanted, held)) {
    throw new BackupError(`${file} does not hold the tables of its schema; use another`);
  }
  const other = tables.find(({ name, rows }) => SINGLE.includes(name) && rows !== 1);
  if (other) throw new BackupError(`${file} needs one row in its table ${other.name}; use another`);
}

async function requirePermission({ place, placeName, replaces }: RestoreOptions): Promise<void> {
  if (!(await hasDatabase(place))) return;
  if (!replaces) {
    throw new BackupError(`${placeName} has data: restore over it with --yes, or name another`);
  }
  try {
    await inspectDatabase(place);
  } catch (failure) {
    // Damaged data may be replaced; data of a newer program may not.
    if (failure instanceof NewerDatabase) throw failure;
  }
}

async function replaceFile(work: RestoreWork, file: string) {
  const draft = placeDraft(file, "restore");
  // A killed restore may have left its own behind.
  removeDrafts(file);
  try {
    await load(work, { kind: "sqlite", file: draft });
    giveToOwnerOf(existsSync(file) ? file : dirname(file), draft);
    // From here on the old database consists of one file, which the new one replaces at once.
    if (statSync(file, { throwIfNoEntry: false })?.size) mergeLog(file);
    for (const part of ["-wal", "-shm", "-commits"]) rmSync(`${file}${part}`, { force: true });
    renameSync(draft, file);
    syncDirectory(file);
  } finally {
    removeDrafts(file);
  }
}

async function load(
  { file, manifest, clock, ids, onProgress, requireHeld, signal }: RestoreWork,
  place: TransferPlace,
): Promise<void> {
  const now = clock.now();
  const loader = openLoader(place, { now, isFresh: place.kind === "sqlite" });
  try {
    await loader.transact(async (target) => {
      await target.drop();
      const tables = await target.create(pickMigrations(manifest.schema));
      let done = 0;
      for await (const { table: name, columns, before, rows } of readRows(file, signal)) {
        const table = tables.find((one) => one.name === name);
        if (!table || !Bun.deepEquals(table.columns, columns)) {
          throw new BackupError(`${file} holds a table ${name} that its schema does not have`);
        }
        await target.insert(table, rows).catch((failure: unknown) => {
          if (!(failure instanceof RowRefused)) throw failure;
          const row = `row ${before + failure.index + 1} of its table ${name}`;
          throw new BackupError(`${file} cannot be restored: ${row} ${failure.fault}; use another`);
        });
        done += rows.length;
        onProgress?.(done, sumRows(manifest));
      }
      if (done !== sumRows(manifest))
        throw new BackupError(`${file} has changed while it was read`);
      await target.bringForward();
      await adopt(target, manifest, ids.uuid(), now);
      requireHeld();
    });
  } finally {
    await loader.close();
  }
}

/** Makes the copy an installation of its own: no process of the original's lives in it. */
async function adopt(
  { tx }: LoadTransaction,
  { installation_id }: BackupManifest,
  id: string,
  now: number,
): Promise<void> {
  for (const { epoch } of await processStore.reads.list(tx)) {
    await processStore.writes.end(tx, epoch, now);
  }
  await installationStore.writes.adopt(tx, id, installation_id, now);
}
