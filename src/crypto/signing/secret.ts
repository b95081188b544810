// Secrets of Standard Webhooks: made here, or brought along by a sender.

export const SECRET_PREFIX = "whsec_";
const SHAPE = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;
/** What the standard asks for. */
const BYTES = { minimum: 24, maximum: 64 };
const MADE_BYTES = 32;

/** agents.resources.trigger agents.resources.webhook_endpoint: `whsec_` and base64. */
export function makeSigningSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(MADE_BYTES));
  const secret = SECRET_PREFIX + Buffer.from(bytes).toString("base64");
  bytes.fill(0);
  return secret;
}

/** What is wrong with a secret that somebody brings along, without a word of it; null: nothing. */
export function validateSigningSecret(secret: string): string | null {
  const bytes = SHAPE.test(secret)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), "base64")
    : null;
  const isWhole = bytes !== null && SECRET_PREFIX + bytes.toString("base64") === secret;
  if (isWhole && bytes.length >= BYTES.minimum && bytes.length <= BYTES.maximum) return null;
  return `must be \`whsec_\` and ${BYTES.minimum} to ${BYTES.maximum} bytes in base64`;
}
