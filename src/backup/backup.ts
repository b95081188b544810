// Makes one backup of a database, also while a server runs on it.
import { openSnapshot, type TransferPlace } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { BackupFile } from "./file.ts";
import { type BackupManifest, type OnProgress, sumRows } from "./format.ts";
import { openBackupKey } from "./secrets-key.ts";
import { writeBackup } from "./writer.ts";

export interface BackupOptions {
  place: TransferPlace;
  program: string;
  clock: Pick<Clock, "now">;
  /** File of the secrets key, where the backup is to hold the key. */
  secretsKeyFile: string | null;
  open(): BackupFile | Promise<BackupFile>;
  onProgress?: OnProgress;
  signal?: AbortSignal;
}

export interface BackupResult {
  bytes: number;
  rows: number;
  manifest: BackupManifest;
}

export async function makeBackup(options: BackupOptions): Promise<BackupResult> {
  const { place, open, secretsKeyFile } = options;
  const file = await open();
  let bytes = 0;
  const write = (chunk: Uint8Array) => {
    bytes += chunk.length;
    return file.write(chunk);
  };
  try {
    const snapshot = await openSnapshot(place);
    let manifest: BackupManifest;
    try {
      // Read behind the snapshot: a rotation before it would leave the older key.
      const takeKey = secretsKeyFile === null ? () => null : openBackupKey(secretsKeyFile);
      manifest = await writeBackup({ ...options, snapshot, takeKey, write });
    } finally {
      await snapshot.close();
    }
    await file.finish();
    return { bytes, rows: sumRows(manifest), manifest };
  } catch (failure) {
    await file.abandon();
    throw failure;
  }
}
