// Signs and verifies messages as Standard Webhooks has it: over the raw bytes that are sent.
import { createHmac, timingSafeEqual } from "node:crypto";
import { makeSigningSecret, SECRET_PREFIX } from "./secret.ts";

const VERSION = "v1,";
const SIGNATURE = /^v1,[A-Za-z0-9+/]{43}=$/;
const SENT_TWICE = /,(?:[ \t]|$)/;
/** The one that signs now, and the one before it. */
const SECRETS_AT_ONCE = 2;
/** Stands in where there are fewer. */
const NOBODYS = makeSigningSecret();
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * agents.authentication.webhook_signature agents.authentication.p1: the value of
 * `webhook-signature`, a signature for each secret, with spaces between. `timestampS` is that of
 * `webhook-timestamp`, whole seconds since 1970.
 */
export function signMessage(
  secrets: readonly string[],
  id: string,
  timestampS: number,
  body: Uint8Array,
): string {
  const head = `${id}.${timestampS}.`;
  return secrets.map((secret) => VERSION + sign(secret, head, body)).join(" ");
}

/** What a sender sends beside a body, each as its header says it. */
export interface SignedHead {
  id: string;
  timestamp: string;
  signature: string;
}

/**
 * agents.authentication.webhook_signature agents.authentication.p1 agents.authentication.p2:
 * whether one of the secrets has signed the bytes of this body under this head. It takes as long
 * whether one has or none, also where there is no secret: as many are tried as can be in force at
 * once, and each against every signature, in constant time.
 */
export function verifyMessage(
  secrets: readonly string[],
  { id, timestamp, signature }: SignedHead,
  body: Uint8Array,
): boolean {
  const head = `${id}.${timestamp}.`;
  const sent = listSignatures(signature);
  let matches = 0;
  for (let at = 0; at < Math.max(SECRETS_AT_ONCE, secrets.length); at++) {
    const expected = Buffer.from(sign(secrets[at] ?? NOBODYS, head, body), "latin1");
    const isSomebodys = Number(at < secrets.length);
    for (const one of sent) matches |= Number(timingSafeEqual(expected, one)) & isSomebodys;
  }
  return matches === 1;
}

/** Those of our version; what other versions say is left to who knows them. */
function listSignatures(text: string): Buffer[] {
  // Sent twice it arrives as one, with this between: of which of the two it is nobody could say.
  if (SENT_TWICE.test(text)) return [];
  const found = text.split(" ").filter((one) => SIGNATURE.test(one));
  return found.map((one) => Buffer.from(one.slice(VERSION.length), "latin1"));
}

function sign(secret: string, head: string, body: Uint8Array): string {
  return createHmac("sha256", keyOf(secret)).update(head).update(body).digest("base64");
}

/** Of `whsec_` and base64 the bytes that are meant; of any other text its own, in UTF-8. */
function keyOf(secret: string): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : "";
  const key = Buffer.from(BASE64.test(encoded) ? encoded : "", "base64");
  return key.length > 0 ? key : Buffer.from(secret, "utf8");
}
