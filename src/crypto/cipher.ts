// Seals a secret with a key, bound to the place where it lies, and opens it there only.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { NO_ID } from "../platform/ids.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";
import type { SealedSecret, SecretKind, SecretOwner, SecretPlace } from "./store.ts";

const CIPHER = "aes-256-gcm";
const VERSION = "v1";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Writes `v1.KEY_ID.BASE64` of a random vector, the hidden secret and its tag. */
export function seal(key: MasterKey, about: SecretOwner, secret: string): SealedSecret {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, deriveKey(key, about), iv);
  cipher.setAAD(bind(key, about));
  const hidden = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  const text = Buffer.concat([iv, hidden, cipher.getAuthTag()]).toString("base64url");
  return { ...about, sealed: `${VERSION}.${key.id}.${text}`, key_id: key.id };
}

/** Returns null for a secret of another key or place, and for a damaged one. */
export function unseal(key: MasterKey, place: SecretPlace, sealed: string): string | null {
  const start = `${VERSION}.${key.id}.`;
  if (!sealed.startsWith(start)) return null;
  const bytes = Buffer.from(sealed.slice(start.length), "base64url");
  if (bytes.length < IV_BYTES + TAG_BYTES) return null;
  const iv = bytes.subarray(0, IV_BYTES);
  const decipher = createDecipheriv(CIPHER, deriveKey(key, place), iv);
  decipher.setAAD(bind(key, place));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const opened = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([opened, decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
}

function deriveKey(key: MasterKey, { kind }: SecretPlace): Uint8Array {
  return key.derive(`secrets of kind ${kind}`);
}

/** Keeps writers of the database from moving a secret to another row or owner. */
function bind(key: MasterKey, { kind, row_id, account_id }: SecretPlace): Buffer {
  return Buffer.from(JSON.stringify([VERSION, key.id, kind, row_id, account_id]));
}

export interface Decoy {
  key: MasterKey;
  sealed: SealedSecret;
}

/** Seals `text` with a key of its own; opening it costs as much as a real secret of its length. */
export function createDecoy(kind: SecretKind, text: string): Decoy {
  const key = makeMasterKey();
  const about = { kind, row_id: NO_ID, account_id: NO_ID, set_at: 0 };
  return { key, sealed: seal(key, about, text) };
}
