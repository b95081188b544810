// Reads the replies of embedding servers: one unit vector for each input, in their order.
import { parseObject, readObject } from "../../../platform/json.ts";
import { DIMENSIONS } from "../contract.ts";

export interface ParsedEmbeddings {
  vectors: Float32Array[];
  prompt_tokens: number | null;
}

/** Expects `count` vectors; returns a sentence for an invalid reply. */
export type ReadReply = (text: string, count: number) => ParsedEmbeddings | string;

type JsonFields = Readonly<Record<string, unknown>>;

const BYTES = DIMENSIONS * Float32Array.BYTES_PER_ELEMENT;
const PADDED_CHARS = Math.ceil(BYTES / 3) * 4;
const BARE_CHARS = Math.ceil((BYTES * 4) / 3);
const LENGTH_ERROR_MAX = 1e-6;
const NO_LIST = "its reply is no list of vectors";
const INCOMPLETE = "its reply has not one vector for each input";

/** `{data: [{index, embedding}], usage}`, in any order. */
export const readData: ReadReply = (text, count) => {
  const reply = parseObject(text);
  if (!Array.isArray(reply?.data)) return NO_LIST;
  const entries = reply.data.map(readObject);
  // gateway.endpoints.embeddings.p2
  const sorted = sortEntries(entries, count);
  if (!sorted) return INCOMPLETE;
  const usage = readObject(reply.usage);
  const counts = [usage.prompt_tokens, usage.total_tokens];
  return readAll(
    sorted.map(({ embedding }) => embedding),
    counts,
  );
};

/** Ollama's own: `{embeddings: [[…]], prompt_eval_count}`, in the order of the inputs. */
export const readEmbeddings: ReadReply = (text, count) => {
  const reply = parseObject(text);
  if (!Array.isArray(reply?.embeddings)) return NO_LIST;
  if (reply.embeddings.length !== count) return INCOMPLETE;
  return readAll(reply.embeddings, [reply.prompt_eval_count]);
};

function readAll(raw: readonly unknown[], counts: readonly unknown[]): ParsedEmbeddings | string {
  const vectors: Float32Array[] = [];
  for (const one of raw) {
    const vector = readVector(one);
    if (typeof vector === "string") return vector;
    vectors.push(vector);
  }
  // A usage of 0 was not counted, since every text has tokens.
  const count = counts.find((tokens) => Number.isSafeInteger(tokens) && (tokens as number) > 0);
  return { vectors, prompt_tokens: (count as number | undefined) ?? null };
}

/** Returns null if one is missing or repeated. Entries without an index are in order. */
function sortEntries(entries: readonly JsonFields[], count: number): JsonFields[] | null {
  if (entries.length !== count) return null;
  if (entries.every(({ index }) => index === undefined || index === null)) return [...entries];
  const sorted = new Array<JsonFields | undefined>(count);
  for (const entry of entries) {
    const { index } = entry;
    if (!Number.isSafeInteger(index)) return null;
    sorted[index as number] = entry;
  }
  // An index that is too high leaves a lower one out.
  return sorted.includes(undefined) ? null : (sorted as JsonFields[]);
}

function readVector(raw: unknown): Float32Array | string {
  const vector = typeof raw === "string" ? readBase64(raw) : readNumberList(raw);
  if (!vector) return `a vector of its reply has not ${DIMENSIONS} numbers`;
  let sum = 0;
  for (const number of vector) sum += number * number;
  if (!Number.isFinite(sum)) return "a vector of its reply has numbers that are not finite";
  if (sum === 0) return "a vector of its reply has no direction";
  // gateway.endpoints.embeddings.p1: some servers do not normalize, or use 16-bit floats.
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

function readNumberList(raw: unknown): Float32Array | null {
  if (!Array.isArray(raw) || raw.length !== DIMENSIONS) return null;
  const vector = new Float32Array(DIMENSIONS);
  for (let at = 0; at < DIMENSIONS; at++) {
    const number: unknown = raw[at];
    // NaN fails the check for finite numbers.
    vector[at] = typeof number === "number" ? number : Number.NaN;
  }
  return vector;
}
