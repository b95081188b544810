// The two servers of text inference, one for chats (TGI) and one for embeddings (TEI).

import { readCount, readTable, readWord } from "./json-fields.ts";
import type { ServerFacts, ServerKind } from "./server-kind.ts";

/** What TEI calls the kinds of its models. */
const SERVES: Readonly<Record<string, ServerFacts["serves"]>> = {
  embedding: "embeddings",
  reranker: "reranking",
  classifier: "classification",
};

export const embeddingsInference: ServerKind = {
  name: "Text Embeddings Inference",
  is_self_hosted: true,
  health_route: "/health",
  count_route: "/tokenize",
  embeddings_kind: "tei",
  recognise: ({ info }) => findKind(info.json?.model_type) !== undefined,
  learn({ answers: { info } }) {
    const said = info.json ?? {};
    return {
      version: readWord(said.version),
      only_model: readWord(said.model_id),
      serves: SERVES[findKind(said.model_type)!]!,
      context_window: readCount(said.max_input_length),
      requests_max: readCount(said.max_concurrent_requests),
    };
  },
};

export const generationInference: ServerKind = {
  name: "Text Generation Inference",
  is_self_hosted: true,
  health_route: "/health",
  count_route: "/chat_tokenize",
  recognise: ({ info }) =>
    readCount(info.json?.max_total_tokens) !== null && readWord(info.json?.model_id) !== null,
  learn({ answers: { info } }) {
    const said = info.json ?? {};
    const input = readCount(said.max_input_tokens) ?? readCount(said.max_input_length);
    return {
      version: readWord(said.version),
      context_window: readCount(said.max_total_tokens),
      // Beyond them it refuses with 429.
      requests_max: readCount(said.max_concurrent_requests),
      notes: input === null ? [] : [`of its window at most ${input} tokens are the messages`],
    };
  },
};

/** A table with the kind for its only name, or the kind itself. */
function findKind(model_type: unknown): string | undefined {
  const names = typeof model_type === "string" ? [model_type] : Object.keys(readTable(model_type));
  return names.find((name) => Object.hasOwn(SERVES, name));
}
