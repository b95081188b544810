// The routes by which servers tell the token ids of a text.
import { parseObject } from "../../../models/index.ts";

export type TokenIds = readonly number[];

export interface TokenRoute {
  /** As a talk reads it. */
  path: string;
  /** `framed`: with the tokens that stand around every text, as `<s>` and `</s>`. */
  write(model: string, text: string, framed: boolean): object;
  /** null: no ids, which says that the server counts in another way. */
  read(text: string): TokenIds | null;
}

/** vLLM and SGLang. */
export const VLLM_TOKENS: TokenRoute = {
  path: "/tokenize",
  write: (model, prompt, framed) => ({ model, prompt, add_special_tokens: framed }),
  read: (text) => readIds(parseObject(text)?.tokens),
};

/** llama.cpp: it answers to any body, and finds no tokens in what is not its own. */
export const LLAMA_TOKENS: TokenRoute = {
  path: "/tokenize",
  write: (_, content, framed) => ({ content, add_special: framed }),
  read: (text) => readIds(parseObject(text)?.tokens),
};

/** Text Embeddings Inference: a list for each text, of ids with what they stand for. */
export const TEI_TOKENS: TokenRoute = {
  path: "/tokenize",
  write: (_, text, framed) => ({ inputs: [text], add_special_tokens: framed }),
  read(text) {
    const [tokens] = readList(parse(text));
    return readIds(readList(tokens).map((token) => (token as { id?: unknown } | null)?.id));
  },
};

function readIds(value: unknown): TokenIds | null {
  const ids = readList(value);
  return ids.length > 0 && ids.every((id) => Number.isSafeInteger(id)) ? (ids as TokenIds) : null;
}

function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
