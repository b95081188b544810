// Writes a snapshot of a database as a backup.
import { createHash } from "node:crypto";
import type { Snapshot, TransferTable } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { type BackupHeader, type BackupManifest, FORMAT, type OnProgress } from "./format.ts";

export interface BackupWriteOptions {
  snapshot: Snapshot;
  program: string;
  clock: Pick<Clock, "now">;
  /** Returns the text of the key that the backup is to hold. */
  takeKey(key_id: string | null): string | null;
  write(bytes: Uint8Array): Promise<void>;
  onProgress?: OnProgress;
  /** Ends the writing with an error. */
  signal?: AbortSignal;
}

const FRAME_CHARACTERS = 1_048_576;
const LEVEL = 3;

export async function writeBackup(options: BackupWriteOptions): Promise<BackupManifest> {
  const { snapshot, program, clock, signal, onProgress } = options;
  const created_at = new Date(clock.now()).toISOString();
  const lines = new LineCompressor(options.write);
  const { schema } = snapshot;
  const header: BackupHeader = { wadi_backup: FORMAT, program, created_at, schema: [...schema] };
  await lines.add(JSON.stringify(header));
  // Counting blocks the event loop, and a server shows no progress.
  const total = onProgress ? await snapshot.countAll() : 0;
  const known = { installation_id: null as string | null, key_id: null as string | null };
  const tables: BackupManifest["tables"] = [];
  let done = 0;
  for (const table of snapshot.tables) {
    await lines.add(JSON.stringify({ table: table.name, columns: table.columns }));
    let rows = 0;
    for await (const batch of snapshot.scan(table)) {
      signal?.throwIfAborted();
      if (table.name === "wadi_installation") known.installation_id = readCell(table, batch, "id");
      if (table.name === "secrets_key") known.key_id = readCell(table, batch, "key_id");
      await lines.add(batch.join("\n"));
      rows += batch.length;
      onProgress?.(done + rows, total);
    }
    done += rows;
    tables.push({ name: table.name, rows });
  }
  const manifest = {
    ...{ program, created_at, schema: [...schema], ...known },
    ...{ secrets_key: options.takeKey(known.key_id), tables },
  };
  return lines.end((sha256) => ({ ...manifest, sha256 }));
}

function readCell(table: TransferTable, batch: readonly string[], column: string): string {
  return JSON.parse(batch[0]!)[table.columns.indexOf(column)];
}

/** Compresses lines in frames, so that the memory of a backup is bounded. */
class LineCompressor {
  readonly #write: BackupWriteOptions["write"];
  readonly #hash = createHash("sha256");
  #waiting: string[] = [];
  #characters = 0;

  constructor(write: BackupWriteOptions["write"]) {
    this.#write = write;
  }

  async add(lines: string): Promise<void> {
    const text = `${lines}\n`;
    this.#hash.update(text);
    this.#waiting.push(text);
    this.#characters += text.length;
    if (this.#characters >= FRAME_CHARACTERS) await this.#flush();
  }

  async end(describe: (sha256: string) => BackupManifest): Promise<BackupManifest> {
    const manifest = describe(this.#hash.digest("hex"));
    this.#waiting.push(`${JSON.stringify(manifest)}\n`);
    await this.#flush();
    return manifest;
  }

  async #flush(): Promise<void> {
    const text = this.#waiting.join("");
    this.#waiting = [];
    this.#characters = 0;
    await this.#write(await Bun.zstdCompress(text, { level: LEVEL }));
  }
}
