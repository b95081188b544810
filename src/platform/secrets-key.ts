// The installation's secret key, in a file of its own, and the keys that are made from it.
import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

export interface SecretsKey {
  /** A function that hashes texts with a key of its own; 32 hexadecimal digits. */
  createHash(purpose: string): (text: string) => string;
}

const KEY_BYTES = 32;
const FORM = /^[A-Za-z0-9+/]{43}=\n?$/;

/**
 * The key of this file, which is made where there is none; null: a key for this run only. Where the
 * file cannot be had, `warn` gets a sentence and the key is one for this run only, too.
 */
export function openSecretsKey(file: string | null, warn: (why: string) => void): SecretsKey {
  if (file === null) return createSecretsKey(randomBytes(KEY_BYTES));
  try {
    return createSecretsKey(readKey(file, warn) ?? makeKey(file));
  } catch (failure) {
    const why = (failure as NodeJS.ErrnoException).code ?? (failure as Error).message;
    warn(`the secrets key in ${file} cannot be used (${why}): hashes in the log hold for this run`);
    return createSecretsKey(randomBytes(KEY_BYTES));
  }
}

/** Whether there is a key in this file, which is never made here; throws where it is of no use. */
export function hasSecretsKey(file: string, warn: (why: string) => void): boolean {
  return readKey(file, warn) !== undefined;
}

function createSecretsKey(bytes: Uint8Array): SecretsKey {
  return {
    createHash(purpose) {
      const key = new Uint8Array(hkdfSync("sha256", bytes, "", `wadi ${purpose}`, KEY_BYTES));
      return (text) => createHmac("sha256", key).update(text).digest("hex").slice(0, 32);
    },
  };
}

/** undefined: there is no such file. */
function readKey(file: string, warn: (why: string) => void): Uint8Array | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  // A pipe would be waited for.
  if (!stat.isFile()) throw new Error("it is no file");
  const text = readFileSync(file, "latin1");
  if (!FORM.test(text)) throw new Error("it holds no key");
  if (stat.mode & 0o077) warn(`the secrets key in ${file} can be read by others: chmod 600 it`);
  return Buffer.from(text, "base64");
}

/**
 * Only its owner may read it. It is whole from the first moment on, and of two processes that make
 * it at once the first one's stays.
 */
function makeKey(file: string): Uint8Array {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const bytes = randomBytes(KEY_BYTES);
  const draft = `${file}.${process.pid}`;
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    writeSync(descriptor, `${bytes.toString("base64")}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    linkSync(draft, file);
    return bytes;
  } catch (failure) {
    const isMade = (failure as NodeJS.ErrnoException).code === "EEXIST";
    const made = isMade ? readKey(file, () => undefined) : undefined;
    if (made) return made;
    throw failure;
  } finally {
    rmSync(draft);
  }
}
