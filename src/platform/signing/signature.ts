// Signs messages as Standard Webhooks has it: over the raw bytes that are sent.
import { createHmac } from "node:crypto";

const PREFIX = "whsec_";
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * agents.authentication.webhook_signature agents.authentication.p1: the value of
 * `webhook-signature`, a signature for each secret, with spaces between. `timestamp_s` is that of
 * `webhook-timestamp`, whole seconds since 1970.
 */
export function signMessage(
  secrets: readonly string[],
  id: string,
  timestamp_s: number,
  body: Uint8Array,
): string {
  const head = `${id}.${timestamp_s}.`;
  const signatures = secrets.map((secret) => {
    const hmac = createHmac("sha256", keyOf(secret)).update(head).update(body);
    return `v1,${hmac.digest("base64")}`;
  });
  return signatures.join(" ");
}

/** Of `whsec_` and base64 the bytes that are meant; of any other text its own, in UTF-8. */
function keyOf(secret: string): Buffer {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  const key = Buffer.from(BASE64.test(encoded) ? encoded : "", "base64");
  return key.length > 0 ? key : Buffer.from(secret, "utf8");
}
