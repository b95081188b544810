// One of the installation's secrets keys, and the keys that are made from it, each for its purpose.
import { createHmac, hkdfSync, randomBytes } from "node:crypto";

const KEY_BYTES = 32;
const ID_DIGITS = 16;

export interface MasterKey {
  /** What tells it from others, and tells nothing of it; 16 hexadecimal digits. */
  readonly id: string;
  /** The same bytes as a line of the key file, without its end. */
  readonly line: string;
  /** A key of 32 bytes for this purpose only. */
  derive(purpose: string): Uint8Array;
}

/** A function that hashes texts with a key of its own; 32 hexadecimal digits. */
export type Hash = (text: string) => string;

export function makeMasterKey(): MasterKey {
  return createMasterKey(randomBytes(KEY_BYTES));
}

/** The key of a line in the key file. */
export function readMasterKey(line: string): MasterKey {
  return createMasterKey(Buffer.from(line, "base64"));
}

export function createHash(key: MasterKey, purpose: string): Hash {
  const derived = key.derive(purpose);
  return (text) => createHmac("sha256", derived).update(text).digest("hex").slice(0, 32);
}

function createMasterKey(bytes: Buffer): MasterKey {
  // Each is made once: there are as many as purposes in this program.
  const made = new Map<string, Uint8Array>();
  const derive = (purpose: string) => {
    let derived = made.get(purpose);
    if (!derived) {
      derived = new Uint8Array(hkdfSync("sha256", bytes, "", `wadi ${purpose}`, KEY_BYTES));
      made.set(purpose, derived);
    }
    return derived;
  };
  const id = Buffer.from(derive("name of the key")).toString("hex").slice(0, ID_DIGITS);
  return { id, line: bytes.toString("base64"), derive };
}
