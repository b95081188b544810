// Reads one vector as a server writes it, checks it, and brings it to unit length.
import { DIMENSIONS } from "../contract.ts";

const BYTES = DIMENSIONS * Float32Array.BYTES_PER_ELEMENT;
const PADDED_CHARS = Math.ceil(BYTES / 3) * 4;
const BARE_CHARS = Math.ceil((BYTES * 4) / 3);
/** So far a length may be from one: what is left of it in 32-bit floats. */
const LENGTH_ERROR_MAX = 1e-6;

/** A sentence: why it is none. */
export function readVector(raw: unknown): Float32Array | string {
  const vector = typeof raw === "string" ? readBase64(raw) : readNumbers(raw);
  if (!vector) return `a vector of its reply has not ${DIMENSIONS} numbers`;
  let sum = 0;
  for (const number of vector) sum += number * number;
  if (!Number.isFinite(sum)) return "a vector of its reply has numbers that are not finite";
  if (sum === 0) return "a vector of its reply has no direction";
  // gateway.endpoints.embeddings.p1: some servers do not normalise, or in 16-bit floats.
  const length = Math.sqrt(sum);
  if (Math.abs(length - 1) > LENGTH_ERROR_MAX) {
    for (let at = 0; at < DIMENSIONS; at++) vector[at] = vector[at]! / length;
  }
  return vector;
}

/** 32-bit floats, little-endian; some leave out the `=` at its end. */
function readBase64(text: string): Float32Array | null {
  if (text.length !== PADDED_CHARS && text.length !== BARE_CHARS) return null;
  const bytes = Buffer.from(text, "base64");
  if (bytes.length !== BYTES) return null;
  const vector = new Float32Array(DIMENSIONS);
  for (let at = 0; at < DIMENSIONS; at++) vector[at] = bytes.readFloatLE(at * 4);
  return vector;
}

function readNumbers(raw: unknown): Float32Array | null {
  if (!Array.isArray(raw) || raw.length !== DIMENSIONS) return null;
  const vector = new Float32Array(DIMENSIONS);
  for (let at = 0; at < DIMENSIONS; at++) {
    const number: unknown = raw[at];
    // Not a number, and so not finite either.
    vector[at] = typeof number === "number" ? number : Number.NaN;
  }
  return vector;
}
