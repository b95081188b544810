// A start that its caller may send again: the caller's own word for it, and a hash of what it says.
import { writeCanonical } from "../../platform/canonical.ts";
import { apiError } from "../../platform/errors.ts";
import type { Idempotency } from "./store/admission.ts";

const HEADER = "Idempotency-Key";
const PRINTABLE = /^[\x20-\x7e]{1,128}$/;

/** undefined: the caller sent no key. */
export function readIdempotency(request: Request, body: unknown): Idempotency | undefined {
  const key = request.headers.get(HEADER);
  if (key === null) return undefined;
  if (!PRINTABLE.test(key)) {
    const message = `The header ${HEADER} must have 1 to 128 printable ASCII characters.`;
    throw apiError("validation", { param: HEADER, message });
  }
  // In whatever order its fields were sent.
  const body_hash = new Bun.CryptoHasher("sha256").update(writeCanonical(body)).digest("hex");
  return { key, body_hash };
}
