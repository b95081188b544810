// A secrets key of the installation, and the keys derived from it.
// Bun's own hashes: loading node:crypto would cost each start 7 ms.

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
  return createMasterKey(crypto.getRandomValues(Buffer.alloc(KEY_BYTES)));
}

export function readMasterKey(line: string): MasterKey {
  return createMasterKey(Buffer.from(line, "base64"));
}

export function createHash(key: MasterKey, purpose: string): Hash {
  const derived = key.derive(purpose);
  return (text) => new Bun.CryptoHasher("sha256", derived).update(text).digest("hex").slice(0, 32);
}

function createMasterKey(bytes: Buffer): MasterKey {
  // The program has few purposes, so all derived keys are kept.
  const made = new Map<string, Uint8Array>();
  const derive = (purpose: string) => {
    let derived = made.get(purpose);
    if (!derived) {
      derived = deriveKey(bytes, `wadi ${purpose}`);
      made.set(purpose, derived);
    }
    return derived;
  };
  const id = Buffer.from(derive("name of the key")).toString("hex").slice(0, ID_DIGITS);
  return { id, line: bytes.toString("base64"), derive };
}

/** HKDF of RFC 5869 with SHA-256 and no salt, for a key of one block. */
function deriveKey(bytes: Uint8Array, info: string): Uint8Array {
  const hmac = (key: Uint8Array) => new Bun.CryptoHasher("sha256", key);
  const extracted = hmac(new Uint8Array(KEY_BYTES)).update(bytes).digest();
  return new Uint8Array(hmac(extracted).update(info).update(Uint8Array.of(1)).digest());
}
