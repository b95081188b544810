// The Markdown files of a folder: which there are, what each is like now, and their text.
import { constants } from "node:fs";
import { type FileHandle, open, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";

const FILES_MAX = 50_000;
const BYTES_MAX = 1_048_576;
const FOLDERS_MAX = 50_000;
/** How many files are looked at at once. */
const LOOKS_MAX = 32;
/** It may have become a pipe that nobody writes to, or a link to elsewhere, since it was seen. */
const OPENING = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
const ENDING = /\.(?:md|markdown)$/i;

export interface FolderFile {
  /** Below the folder, with `/` between the names. */
  path: string;
  /** Where it lies, behind whatever symbolic link. */
  place: string;
  /** Tells one state of the file from the next. */
  stamp: string;
  bytes: number;
}

interface Entry {
  path: string;
  isLink: boolean;
}

export interface Listing {
  files: FolderFile[];
  /** Files that are too large or cannot be looked at, and folders that cannot be read. */
  leftOut: number;
  /** There are more than are looked at. */
  isCut: boolean;
}

/**
 * Files in the order of their names; hidden ones are left out, and so are symbolic links that lead
 * to a folder, or out of this one. Throws the system's error where the folder cannot be read.
 */
export async function listFiles(folder: string): Promise<Listing> {
  const root = await realpath(folder);
  const { entries, unread, isCut } = await listEntries(root);
  const listing: Listing = { files: [], leftOut: unread, isCut };
  for (let at = 0; at < entries.length; at += LOOKS_MAX) {
    const some = entries.slice(at, at + LOOKS_MAX);
    const files = await Promise.all(some.map((entry) => lookAt(root, entry)));
    for (const file of files) {
      if (file) listing.files.push(file);
      else listing.leftOut += 1;
    }
  }
  return listing;
}

async function listEntries(root: string) {
  const entries: Entry[] = [];
  const folders = [""];
  let unread = 0;
  for (const folder of folders) {
    const found = await readdir(join(root, folder), { withFileTypes: true }).catch(
      (failure: unknown) => {
        if (folder === "") throw failure;
        unread += 1;
        return [];
      },
    );
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of found) {
      if (entry.name.startsWith(".")) continue;
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (folders.length === FOLDERS_MAX) return { entries, unread, isCut: true };
        folders.push(path);
      } else if (ENDING.test(entry.name)) {
        if (entries.length === FILES_MAX) return { entries, unread, isCut: true };
        entries.push({ path, isLink: entry.isSymbolicLink() });
      }
    }
  }
  return { entries, unread, isCut: false };
}

/** null: it is no file, lies outside, is too large, or went away meanwhile. */
async function lookAt(root: string, { path, isLink }: Entry): Promise<FolderFile | null> {
  try {
    const direct = join(root, path);
    const place = isLink ? await realpath(direct) : direct;
    if (!place.startsWith(root.endsWith(sep) ? root : root + sep)) return null;
    const sight = await stat(place);
    const { mtimeMs, size, ino } = sight;
    if (!sight.isFile() || size > BYTES_MAX) return null;
    return { path, place, stamp: [mtimeMs, size, ino].join(" "), bytes: size };
  } catch {
    return null;
  }
}

/** Its text, in which what is no UTF-8 is marked; null: it cannot be read. */
export async function readText({ place, bytes }: FolderFile): Promise<string | null> {
  try {
    const file = await open(place, OPENING);
    try {
      return (await file.stat()).isFile() ? await readBytes(file, bytes) : null;
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}

/** So many at most, for it may have grown meanwhile. */
async function readBytes(file: FileHandle, bytes_max: number): Promise<string> {
  const bytes = Buffer.allocUnsafe(bytes_max);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes_max; length += read) {
    read = (await file.read(bytes, length, bytes_max - length, length)).bytesRead;
  }
  return bytes.toString("utf8", 0, length);
}
