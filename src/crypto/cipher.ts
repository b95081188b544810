// Seals a secret with a key, bound to the place where it lies, and opens it there only.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { MasterKey } from "./master-key.ts";
import type { SealedSecret, SecretOwner, SecretPlace } from "./store.ts";

const CIPHER = "aes-256-gcm";
const VERSION = "v1";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** `v1.KEY_ID.BASE64`, of the bytes drawn for this sealing, what is hidden, and its tag. */
export function seal(key: MasterKey, about: SecretOwner, secret: string): SealedSecret {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, deriveKey(key, about), iv);
  cipher.setAAD(bind(key, about));
  const hidden = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  const text = Buffer.concat([iv, hidden, cipher.getAuthTag()]).toString("base64url");
  return { ...about, sealed: `${VERSION}.${key.id}.${text}`, key_id: key.id };
}

/** null: it was not sealed with this key for this place, or is damaged. */
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
    // The tag says no; nothing of what was opened until then is to be believed.
    return null;
  }
}

function deriveKey(key: MasterKey, { kind }: SecretPlace): Uint8Array {
  return key.derive(`secrets of kind ${kind}`);
}

/** Whoever can write to the database can move no secret to another row or another owner. */
function bind(key: MasterKey, { kind, row_id, account_id }: SecretPlace): Buffer {
  return Buffer.from(JSON.stringify([VERSION, key.id, kind, row_id, account_id]));
}
