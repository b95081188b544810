// The file of the secrets key: one line, or two during a rotation, newest first.
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { giveToOwnerOf } from "../platform/file-owner.ts";
import { type MasterKey, makeMasterKey, readMasterKey } from "./master-key.ts";

const FORM = /^[A-Za-z0-9+/]{43}=(?:\n[A-Za-z0-9+/]{43}=)?\n?$/;
const FILE_BYTES_MAX = 90;

/** Reads the keys, newest first; returns undefined without a file, and throws for a bad one. */
export function readKeyFile(
  file: string,
  warn: (message: string) => void,
): readonly MasterKey[] | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  // Reading a pipe would block.
  if (!stat.isFile()) throw new Error("it is no file");
  const text = stat.size > FILE_BYTES_MAX ? "" : readFileSync(file, "latin1");
  const keys = parseKeys(text);
  if (!keys) throw new Error("it holds no key");
  if (stat.mode & 0o077) warn(`the secrets key in ${file} can be read by others: chmod 600 it`);
  return keys;
}

/** Parses the text of a key file; undefined where it is no such text. */
export function parseKeys(text: string): readonly MasterKey[] | undefined {
  return FORM.test(text) ? text.trimEnd().split("\n").map(readMasterKey) : undefined;
}

export function writeKeys(keys: readonly MasterKey[]): string {
  return keys.map(({ line }) => `${line}\n`).join("");
}

/** Makes a file that only its owner may read; of two processes at once, the first one wins. */
export function makeKeyFile(file: string): readonly MasterKey[] {
  const keys = [makeMasterKey()];
  try {
    copyKeyFile(file, keys);
    return keys;
  } catch (failure) {
    const made = existsSync(file) && readKeyFile(file, () => undefined);
    if (made) return made;
    throw failure;
  }
}

/**
 * Replaces the keys of an existing file, newest first; a crash leaves the old or the new ones.
 * Owner and rights stay. Only one process may do so at a time.
 */
export function replaceKeyFile(name: string, keys: readonly MasterKey[]): void {
  // The target of a link is replaced, not the link.
  const file = realpathSync(name);
  const draft = writeDraft(`${file}.new`, keys, statSync(file));
  try {
    renameSync(draft, file);
  } catch (failure) {
    rmSync(draft, { force: true });
    throw failure;
  }
  keepNames(file);
}

/** Writes keys to a file that is not there yet. */
export function copyKeyFile(file: string, keys: readonly MasterKey[]): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = writeDraft(`${file}.${process.pid}`, keys);
  try {
    giveToOwnerOf(dirname(file), draft);
    linkSync(draft, file);
    keepNames(file);
  } finally {
    rmSync(draft);
  }
}

export function explainKeyFile(failure: unknown): string {
  return (failure as NodeJS.ErrnoException).code ?? (failure as Error).message;
}

interface Owner {
  uid: number;
  gid: number;
  mode: number;
}

function writeDraft(draft: string, keys: readonly MasterKey[], owner?: Owner): string {
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    if (owner) giveTo(descriptor, owner);
    writeSync(descriptor, writeKeys(keys));
    fsyncSync(descriptor);
    return draft;
  } catch (failure) {
    rmSync(draft, { force: true });
    throw failure;
  } finally {
    closeSync(descriptor);
  }
}

/** Keeps owner and mode, so that a server under another user can read the rotated file. */
function giveTo(descriptor: number, { uid, gid, mode }: Owner): void {
  const own = fstatSync(descriptor);
  if (own.uid !== uid || own.gid !== gid) fchownSync(descriptor, uid, gid);
  fchmodSync(descriptor, mode & 0o777);
}

/** Syncs the directories, so that a power cut cannot take the file away again. */
function keepNames(file: string): void {
  for (const directory of [dirname(file), dirname(dirname(file))]) {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(directory, "r");
      fsyncSync(descriptor);
    } catch {
      // Some systems cannot sync directories, and we may not have the right to.
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }
}
