// Reads the replies of servers of embeddings: every vector once, in the order of what was sent.
import { parseObject } from "../../../models/index.ts";
import { readVector } from "./vector.ts";

export interface ParsedEmbeddings {
  vectors: Float32Array[];
  /** null: it tells none. */
  prompt_tokens: number | null;
}

/** `count` vectors are due; a sentence: why it is no such reply. */
export type ReadReply = (text: string, count: number) => ParsedEmbeddings | string;

type JsonFields = Record<string, unknown>;

const NO_LIST = "its reply is no list of vectors";
const INCOMPLETE = "its reply has not one vector for each input";

/** `{data: [{index, embedding}], usage}`, in any order. */
export const readData: ReadReply = (text, count) => {
  const reply = parseObject(text);
  if (!Array.isArray(reply?.data)) return NO_LIST;
  const entries = reply.data.map((entry): JsonFields => (isJson(entry) ? entry : {}));
  // gateway.endpoints.embeddings.p2
  const sorted = sortEntries(entries, count);
  if (!sorted) return INCOMPLETE;
  const usage = isJson(reply.usage) ? reply.usage : {};
  const told = [usage.prompt_tokens, usage.total_tokens];
  return readAll(
    sorted.map(({ embedding }) => embedding),
    told,
  );
};

/** Ollama's own: `{embeddings: [[…]], prompt_eval_count}`, in the order of the inputs. */
export const readEmbeddings: ReadReply = (text, count) => {
  const reply = parseObject(text);
  if (!Array.isArray(reply?.embeddings)) return NO_LIST;
  if (reply.embeddings.length !== count) return INCOMPLETE;
  return readAll(reply.embeddings, [reply.prompt_eval_count]);
};

function readAll(raw: readonly unknown[], told: readonly unknown[]): ParsedEmbeddings | string {
  const vectors: Float32Array[] = [];
  for (const one of raw) {
    const vector = readVector(one);
    if (typeof vector === "string") return vector;
    vectors.push(vector);
  }
  // No text has no tokens: who tells none has not counted.
  const count = told.find((tokens) => Number.isSafeInteger(tokens) && (tokens as number) > 0);
  return { vectors, prompt_tokens: (count as number | undefined) ?? null };
}

/** null: one is left out, or there twice. Where no entry has an index, they are in order. */
function sortEntries(entries: readonly JsonFields[], count: number): JsonFields[] | null {
  if (entries.length !== count) return null;
  if (entries.every(({ index }) => index === undefined || index === null)) return [...entries];
  const sorted = new Array<JsonFields | undefined>(count);
  for (const entry of entries) {
    const { index } = entry;
    if (!Number.isSafeInteger(index)) return null;
    sorted[index as number] = entry;
  }
  const isWhole = sorted.length === count && !sorted.includes(undefined);
  return isWhole ? (sorted as JsonFields[]) : null;
}

function isJson(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
