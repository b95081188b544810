// Secrets and signatures of Standard Webhooks, over the raw bytes that are sent.
import { createHmac, timingSafeEqual } from "node:crypto";

const SECRET_PREFIX = "whsec_";
const SECRET_SHAPE = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;
const SECRET_BYTES = { made: 32, minimum: 24, maximum: 64 };

const VERSION = "v1,";
const SIGNATURE = /^v1,[A-Za-z0-9+/]{43}=$/;
const SENT_TWICE = /,(?:[ \t]|$)/;
const SECRETS_AT_ONCE = 2;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * agents.authentication.webhook_signature agents.authentication.p1: writes `webhook-signature`, one
 * signature for each secret. `timestampS` is the value of `webhook-timestamp`.
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

export interface SignedHead {
  id: string;
  timestamp: string;
  signature: string;
}

/**
 * agents.authentication.webhook_signature agents.authentication.p1 agents.authentication.p2: checks
 * that one of the secrets has signed this body. It takes equal time for any outcome and number of
 * secrets: every possible secret is compared with every signature in constant time.
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
    const expected = Buffer.from(sign(secrets[at] ?? DECOY_SECRET, head, body), "latin1");
    const isReal = Number(at < secrets.length);
    for (const one of sent) matches |= Number(timingSafeEqual(expected, one)) & isReal;
  }
  return matches === 1;
}

function listSignatures(text: string): Buffer[] {
  // A header sent twice arrives joined by a comma, which no signature contains.
  if (SENT_TWICE.test(text)) return [];
  const found = text.split(" ").filter((one) => SIGNATURE.test(one));
  return found.map((one) => Buffer.from(one.slice(VERSION.length), "latin1"));
}

function sign(secret: string, head: string, body: Uint8Array): string {
  return createHmac("sha256", keyOf(secret)).update(head).update(body).digest("base64");
}

/** Decodes `whsec_` and base64; any other text is its own key. */
function keyOf(secret: string): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : "";
  const key = Buffer.from(BASE64.test(encoded) ? encoded : "", "base64");
  return key.length > 0 ? key : Buffer.from(secret, "utf8");
}

/** agents.resources.trigger agents.resources.webhook_endpoint: `whsec_` and base64. */
export function makeSigningSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES.made));
  const secret = SECRET_PREFIX + Buffer.from(bytes).toString("base64");
  bytes.fill(0);
  return secret;
}

/** Secret in place of a missing one, so that both cases take equal time. */
const DECOY_SECRET = makeSigningSecret();

/** Returns what is wrong with a secret from outside, without quoting it. */
export function validateSigningSecret(secret: string): string | null {
  const { minimum, maximum } = SECRET_BYTES;
  const bytes = SECRET_SHAPE.test(secret)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), "base64")
    : null;
  const isWhole = bytes !== null && SECRET_PREFIX + bytes.toString("base64") === secret;
  if (isWhole && bytes.length >= minimum && bytes.length <= maximum) return null;
  return `must be \`whsec_\` and ${minimum} to ${maximum} bytes in base64`;
}
