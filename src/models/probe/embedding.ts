// Finds out whether a server makes vectors of texts, and how wide they are: one word is enough.

import { explain } from "./capability-tests.ts";
import { isGood, type ProbeClient } from "./client.ts";
import { readCount, readList, readTable } from "./json-fields.ts";

export interface Embedding {
  /** How many numbers one vector has; null: none was made, and `why` says what came. */
  dimensions: number | null;
  why: string | null;
}

/** `model`: the name that it is asked by; null: it has one and takes no name. */
export async function tryEmbedding(
  asking: ProbeClient,
  base: string,
  model: string | null,
): Promise<Embedding> {
  const name = model === null ? {} : { model };
  // A list, as the gateway will send it.
  const body = { ...name, input: ["Hi"], encoding_format: "float" };
  const heard = await asking.post(`${base}/embeddings`, body);
  const vector = readList(readTable(readList(heard.json?.data)[0]).embedding);
  const isVector = vector.every((number) => typeof number === "number");
  const dimensions = isVector ? readCount(vector.length) : null;
  if (dimensions !== null) return { dimensions, why: null };
  const isStrange = isGood(heard.status) && heard.text !== null;
  return { dimensions, why: isStrange ? "its answer is no embedding" : explain(heard) };
}
