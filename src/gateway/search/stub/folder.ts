// The Markdown files of a folder: their paths, their states and their text.
import { constants } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";

const FILES_MAX = 50_000;
const FOLDERS_MAX = 50_000;
const FILE_BYTES_MAX = 1_048_576;
const STATS_MAX = 32;
/** Flags against a listed file that was replaced by a pipe without a writer, or by a link. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
const ENDING = /\.(?:md|markdown)$/i;

export interface FolderFile {
  path: string;
  place: string;
  /** Differs between two states of the file. */
  stamp: string;
  bytes: number;
}

interface Entry {
  path: string;
  isLink: boolean;
}

export interface Listing {
  files: FolderFile[];
  skipped: number;
}

/**
 * Lists the files by name, without hidden ones. Symbolic links count only to files inside the
 * folder. Throws the system's error if the folder itself cannot be read.
 */
export async function listFiles(folder: string): Promise<Listing> {
  const root = await realpath(folder);
  const { entries, skipped } = await listEntries(root);
  const listing: Listing = { files: [], skipped };
  for (let at = 0; at < entries.length; at += STATS_MAX) {
    const some = entries.slice(at, at + STATS_MAX).map((entry) => readState(root, entry));
    for (const file of await Promise.all(some)) {
      if (file) listing.files.push(file);
      else listing.skipped += 1;
    }
  }
  return listing;
}

async function listEntries(root: string) {
  const found: Entry[] = [];
  const folders = [""];
  let skipped = 0;
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error) => {
      if (folder === "") throw error;
      skipped += 1;
      return [];
    });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (folders.length < FOLDERS_MAX) folders.push(path);
        else skipped += 1;
      } else if (ENDING.test(entry.name)) {
        if (found.length < FILES_MAX) found.push({ path, isLink: entry.isSymbolicLink() });
        else skipped += 1;
      }
    }
  }
  return { entries: found, skipped };
}

async function readState(root: string, { path, isLink }: Entry): Promise<FolderFile | undefined> {
  try {
    const direct = join(root, path);
    const place = isLink ? await realpath(direct) : direct;
    const isInside = place.startsWith(root.endsWith(sep) ? root : root + sep);
    const state = await stat(place);
    if (!isInside || !state.isFile() || state.size > FILE_BYTES_MAX) return undefined;
    const { mtimeMs, size, ino } = state;
    return { path, place, stamp: `${mtimeMs} ${size} ${ino}`, bytes: size };
  } catch {
    return undefined;
  }
}

/** Reads at most as many bytes as were listed, since the file may grow; undefined: unreadable. */
export async function readText({ place, bytes }: FolderFile): Promise<string | undefined> {
  try {
    await using file = await open(place, OPEN_FLAGS);
    if (!(await file.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return undefined;
  }
}
