// The protocols of embedding servers: how vectors are requested and how tokens are counted.
import { parseJson, parseObject, readList, readObject } from "../../../platform/json.ts";
import { TOKENS_MAX } from "../contract.ts";
import { type ReadReply, readData, readEmbeddings } from "./reply.ts";

export type EncodingFormat = "float" | "base64";
export type TokenIds = readonly number[];
/** A text, or the token ids of a text that was cut. */
export type InputContent = string | TokenIds;

/** A form of `/tokenize`. */
export interface TokenRoute {
  /** `framed`: with the tokens around every text, such as `<s>` and `</s>`. */
  write(model: string, text: string, framed: boolean): object;
  /** A reply without ids shows that the server counts in another way. */
  read(text: string): TokenIds | null;
}

export interface EmbeddingProtocol {
  path: string;
  write(model: string, input: readonly InputContent[], encoding_format: EncodingFormat): object;
  read: ReadReply;
  batchMax: number | null;
  /** Routes to try for counting; without any the server cuts by itself. */
  tokenRoutes: readonly TokenRoute[];
}

const readTokens = (text: string) => readIds(parseObject(text)?.tokens);

const VLLM_TOKENS: TokenRoute = {
  write: (model, prompt, framed) => ({ model, prompt, add_special_tokens: framed }),
  read: readTokens,
};

/** llama.cpp answers to any body and finds no tokens in a foreign one. */
const LLAMA_TOKENS: TokenRoute = {
  write: (_, content, framed) => ({ content, add_special: framed }),
  read: readTokens,
};

/** Text Embeddings Inference: a list for each text, of ids with their words. */
const TEI_TOKENS: TokenRoute = {
  write: (_, text, framed) => ({ inputs: [text], add_special_tokens: framed }),
  read(text) {
    const [tokens] = readList(parseJson(text));
    return readIds(readList(tokens).map((token) => readObject(token).id));
  },
};

/** The standard format: vLLM, SGLang, llama.cpp, a provider. */
export const STANDARD: EmbeddingProtocol = {
  path: "/v1/embeddings",
  write: (model, input, encoding_format) => ({ model, input, encoding_format }),
  read: readData,
  batchMax: null,
  tokenRoutes: [VLLM_TOKENS, LLAMA_TOKENS],
};

/** Text Embeddings Inference refuses more texts than `/info` names. */
export const TEI: EmbeddingProtocol = { ...STANDARD, batchMax: 32, tokenRoutes: [TEI_TOKENS] };

/**
 * Ollama's own route is the only one that takes a window, at which it cuts. One text must fit into
 * `num_batch`, 2,048 by default. Both are in every request: other values reload the model.
 */
export const OLLAMA: EmbeddingProtocol = {
  path: "/api/embed",
  write: (model, input) => ({
    model,
    input,
    truncate: true,
    options: { num_ctx: TOKENS_MAX, num_batch: TOKENS_MAX },
  }),
  read: readEmbeddings,
  batchMax: null,
  tokenRoutes: [],
};

function readIds(value: unknown): TokenIds | null {
  const ids = readList(value);
  return ids.length > 0 && ids.every((id) => Number.isSafeInteger(id)) ? (ids as TokenIds) : null;
}
