// Reads a backup: verifies it against its manifest, and yields its rows by table.
import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { createZstdDecompress } from "node:zlib";
import { explainFile } from "./file-failure.ts";
import {
  BackupError,
  BackupHeader,
  BackupManifest,
  FORMAT,
  parseLine,
  TableHead,
} from "./format.ts";

/** Longer than any row, whose texts have bounds of their own. */
const LINE_CHARACTERS_MAX = 64 * 1_048_576;
/** Maximum of all lines that are no rows; a thousand tables need less. */
const HEADS_CHARACTERS_MAX = 1_048_576;
const BATCH_CHARACTERS = 256 * 1_024;
const BATCH_ROWS_MAX = 1_000;

export interface TableBatch extends TableHead {
  /** Rows of the table in batches before. */
  before: number;
  rows: readonly string[];
}

/**
 * Reads the whole file; throws a BackupError unless all of it is as its manifest says. The signal
 * ends the reading.
 */
export async function verifyBackup(file: string, signal?: AbortSignal): Promise<BackupManifest> {
  const hash = createHash("sha256");
  const tables: BackupManifest["tables"] = [];
  let header: BackupHeader | null = null;
  let held: string | null = null;
  let characters = 0;
  // A small file can hold millions of heads, and nothing of it is verified yet.
  const limit = (line: string) => {
    characters += line.length;
    if (characters > HEADS_CHARACTERS_MAX) throw damaged(file);
    return line;
  };
  const take = (line: string) => {
    hash.update(`${line}\n`);
    if (!header) header = readHeader(file, limit(line));
    else if (line.startsWith("[") && tables.length > 0) tables.at(-1)!.rows += 1;
    else {
      const head = parseLine<TableHead>(TableHead, limit(line));
      if (!head) throw damaged(file);
      tables.push({ name: head.table, rows: 0 });
    }
  };
  for await (const lines of readLines(file)) {
    signal?.throwIfAborted();
    for (const line of lines) {
      // The last line is the manifest, which is no part of its own sum.
      if (held !== null) take(held);
      held = line;
    }
  }
  const manifest = held === null ? null : parseLine<BackupManifest>(BackupManifest, limit(held));
  if (!manifest) throw new BackupError(`${file} has no end: it is no whole backup`);
  const isSame = Bun.deepEquals(tables, manifest.tables);
  if (!isSame || manifest.sha256 !== hash.digest("hex")) throw damaged(file);
  return manifest;
}

/** Yields the rows of a verified backup in batches; the signal ends the reading. */
export async function* readRows(file: string, signal?: AbortSignal): AsyncGenerator<TableBatch> {
  let head: TableHead | null = null;
  let before = 0;
  let rows: string[] = [];
  let characters = 0;
  for await (const lines of readLines(file)) {
    signal?.throwIfAborted();
    for (const line of lines) {
      if (line.startsWith("[")) {
        rows.push(line);
        characters += line.length;
        if (characters < BATCH_CHARACTERS && rows.length < BATCH_ROWS_MAX) continue;
      }
      if (head && rows.length > 0) yield { ...head, before, rows };
      before += rows.length;
      rows = [];
      characters = 0;
      if (!line.startsWith("{")) continue;
      head = parseLine<TableHead>(TableHead, line);
      before = 0;
    }
  }
}

function readHeader(file: string, line: string): BackupHeader {
  const header = parseLine<BackupHeader>(BackupHeader, line);
  if (!header) throw new BackupError(`${file} is no backup of Wadi`);
  if (header.wadi_backup === FORMAT) return header;
  const found = `${file} is a backup of format ${header.wadi_backup}`;
  throw new BackupError(`${found}, and this program reads format ${FORMAT}: use the newer wadi`);
}

const damaged = (file: string) =>
  new BackupError(`${file} is damaged: its content is not what its manifest says; use another`);

async function* readLines(file: string): AsyncGenerator<string[]> {
  const bytes = createZstdDecompress();
  const source = createReadStream(file).on("error", (failure) => bytes.destroy(failure));
  source.pipe(bytes);
  const decoder = new TextDecoder();
  // Only the new characters are searched, since a line may come in thousands of chunks.
  let begun: string[] = [];
  let characters = 0;
  try {
    for await (const chunk of bytes) {
      const lines = decoder.decode(chunk as Uint8Array, { stream: true }).split("\n");
      const rest = lines.pop()!;
      if (lines.length > 0) {
        yield [begun.join("") + lines[0]!, ...lines.slice(1)];
        begun = [];
        characters = 0;
      }
      begun.push(rest);
      characters += rest.length;
      if (characters > LINE_CHARACTERS_MAX) throw damaged(file);
    }
    // The decoder stops at the end of the last frame, whatever follows.
    if (bytes.bytesWritten !== statSync(file).size) throw damaged(file);
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (failure instanceof BackupError) throw failure;
    if (code === "ENOENT") throw new BackupError(`there is no file ${file}`);
    if (code?.startsWith("E") && !code.startsWith("ERR_")) throw explainFile(file, "read", failure);
    throw new BackupError(`${file} is no backup of Wadi, or it is damaged`);
  } finally {
    source.destroy();
  }
  // A cut line would otherwise be taken for the manifest.
  if (characters > 0) throw new BackupError(`${file} has no end: it is no whole backup`);
}
