// The file of the secrets key: a line, or two while a rotation is under way, the newest first.
import {
  closeSync,
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
import { type MasterKey, makeMasterKey, readMasterKey } from "./master-key.ts";

const FORM = /^[A-Za-z0-9+/]{43}=(?:\n[A-Za-z0-9+/]{43}=)?\n?$/;
/** Two lines; whatever is longer need not be read to be no key. */
const FILE_BYTES_MAX = 90;

/** Newest first; undefined: there is no such file. Throws where it is of no use. */
export function readKeyFile(
  file: string,
  warn: (why: string) => void,
): readonly MasterKey[] | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  // A pipe would be waited for.
  if (!stat.isFile()) throw new Error("it is no file");
  const text = stat.size > FILE_BYTES_MAX ? "" : readFileSync(file, "latin1");
  if (!FORM.test(text)) throw new Error("it holds no key");
  if (stat.mode & 0o077) warn(`the secrets key in ${file} can be read by others: chmod 600 it`);
  return text.trimEnd().split("\n").map(readMasterKey);
}

/**
 * Makes the file with a key of its own; only its owner may read it. It is whole from the first
 * moment on, and of two processes that make it at once the first one's stays.
 */
export function makeKeyFile(file: string): readonly MasterKey[] {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const key = makeMasterKey();
  const draft = writeDraft(`${file}.${process.pid}`, [key]);
  try {
    linkSync(draft, file);
    keepNames(file);
    return [key];
  } catch (failure) {
    const isMade = (failure as NodeJS.ErrnoException).code === "EEXIST";
    const made = isMade ? readKeyFile(file, () => undefined) : undefined;
    if (made) return made;
    throw failure;
  } finally {
    rmSync(draft);
  }
}

/**
 * Puts these keys, newest first, in the place of those in the file, which is there: whoever reads
 * it finds either, also after a crash. It stays whose it was, and readable by whom it was. Only one
 * may do so at a time, and what a dead one left behind goes.
 */
export function replaceKeyFile(name: string, keys: readonly MasterKey[]): void {
  // What a link shows, and not the link, becomes another.
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

/** Why a file is of no use, in a word or two that quote nothing of it. */
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
    writeSync(descriptor, keys.map(({ line }) => `${line}\n`).join(""));
    fsyncSync(descriptor);
    return draft;
  } catch (failure) {
    rmSync(draft, { force: true });
    throw failure;
  } finally {
    closeSync(descriptor);
  }
}

/** A server under another user must be able to read what its administrator has rotated. */
function giveTo(descriptor: number, { uid, gid, mode }: Owner): void {
  const own = fstatSync(descriptor);
  if (own.uid !== uid || own.gid !== gid) fchownSync(descriptor, uid, gid);
  fchmodSync(descriptor, mode & 0o777);
}

/** Nothing is sealed with a key whose file a power cut could take away again. */
function keepNames(file: string): void {
  for (const directory of [dirname(file), dirname(dirname(file))]) {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(directory, "r");
      fsyncSync(descriptor);
    } catch {
      // Not every system can, and one may not be ours to open.
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }
}
