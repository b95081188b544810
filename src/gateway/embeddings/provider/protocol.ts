// How each kind of server is asked for vectors, and how it counts what they are made of.
import { TOKENS_MAX } from "../contract.ts";
import type { BatchItem } from "./batch-item.ts";
import { type ReadReply, readData, readEmbeddings } from "./reply.ts";
import { LLAMA_TOKENS, TEI_TOKENS, type TokenRoute, VLLM_TOKENS } from "./token-route.ts";

export type EncodingFormat = "float" | "base64";

export interface EmbeddingProtocol {
  /** As a talk reads it. */
  path: string;
  write(model: string, parts: readonly BatchItem[], encoding_format: EncodingFormat): object;
  read: ReadReply;
  /** Most texts in one request; null: it knows no such bound, or has not told it. */
  batch_max: number | null;
  /** What it may count with, in this order; none: it cuts by itself. */
  token_routes: readonly TokenRoute[];
}

/** What speaks the standard format: vLLM, SGLang, llama.cpp, a provider. */
export const STANDARD: EmbeddingProtocol = {
  path: "/v1/embeddings",
  write: (model, parts, encoding_format) => ({ model, input: list(parts), encoding_format }),
  read: readData,
  batch_max: null,
  token_routes: [VLLM_TOKENS, LLAMA_TOKENS],
};

/** Text Embeddings Inference, which refuses more texts than it says in `/info`. */
export const TEI: EmbeddingProtocol = { ...STANDARD, batch_max: 32, token_routes: [TEI_TOKENS] };

/**
 * Only its own route takes a window, at which it cuts. Of `num_batch`, which is 2,048 by itself,
 * it makes the physical batch that one text must fit in. Both stand in every request, since with
 * other values it would load the model again.
 */
export const OLLAMA: EmbeddingProtocol = {
  path: "/api/embed",
  write: (model, parts) => ({
    model,
    input: list(parts),
    truncate: true,
    options: { num_ctx: TOKENS_MAX, num_batch: TOKENS_MAX },
  }),
  read: readEmbeddings,
  batch_max: null,
  token_routes: [],
};

function list(parts: readonly BatchItem[]) {
  return parts.map(({ content }) => content);
}
