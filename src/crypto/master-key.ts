// A secrets key of the installation, and the keys derived from it.
import { createHmac, hkdfSync, randomBytes } from "node:crypto";

const KEY_BYTES = 32;
const ID_DIGITS = 16;

export interface MasterKey {
  /** Public name of 16 hexadecimal digits. */
  readonly id: string;
  readonly line: string;
  derive(purpose: string): Uint8Array;
}

/** Hashes a text with a derived key to 32 hexadecimal digits. */
export type Hash = (text: string) => string;

export function makeMasterKey(): MasterKey {
  return createMasterKey(randomBytes(KEY_BYTES));
}

export function readMasterKey(line: string): MasterKey {
  return createMasterKey(Buffer.from(line, "base64"));
}

export function createHash(key: MasterKey, purpose: string): Hash {
  const derived = key.derive(purpose);
  return (text) => createHmac("sha256", derived).update(text).digest("hex").slice(0, 32);
}

function createMasterKey(bytes: Buffer): MasterKey {
  // The program has few purposes, so all derived keys are kept.
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
