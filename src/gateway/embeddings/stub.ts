// The embedder inside the program: hashes pieces of words into unit vectors, deterministically.
import { splitTokens, timeoutError } from "../../models/index.ts";
import { DIMENSIONS, type Embedder, TOKENS_MAX } from "./contract.ts";

const WORDS = /[\p{L}\p{M}\p{N}]+/gu;
const PIECES = [3, 4];
const WORD_WEIGHT = 4;

const HASH_BASIS = 0x811c9dc5;
const HASH_PRIME = 0x01000193;

const cut = (text: string) => splitTokens(text, TOKENS_MAX);

export function createStubEmbedder(): Embedder {
  return {
    countTokens: (inputs) => inputs.reduce((sum, text) => sum + cut(text).length, 0),
    isDown: () => false,
    start() {},
    stop() {},
    async embed({ inputs }, signal) {
      // Like a server it answers after the call has returned.
      await Promise.resolve();
      if (signal.aborted) return timeoutError("left");
      const tokenized = inputs.map(cut);
      return {
        ok: true,
        vectors: tokenized.map((tokens) => embedText(tokens.join(""))),
        prompt_tokens: tokenized.reduce((sum, { length }) => sum + length, 0),
        attempts: 1,
      };
    },
  };
}

export function embedText(text: string): Float32Array {
  const plain = text.normalize("NFKC").toLowerCase();
  const sums = new Float64Array(DIMENSIONS);
  // A text without letters is one word.
  const words = plain.match(WORDS) ?? [plain];
  for (const word of words) addWord(sums, ` ${word} `);
  // The square root damps repetitions.
  for (let at = 0; at < DIMENSIONS; at++) {
    sums[at] = Math.sign(sums[at]!) * Math.sqrt(Math.abs(sums[at]!));
  }
  return normalize(sums, hash(plain, 0, plain.length) % DIMENSIONS);
}

function addWord(sums: Float64Array, word: string): void {
  add(sums, hash(word, 0, word.length), WORD_WEIGHT);
  for (const size of PIECES) {
    for (let start = 0; start + size <= word.length; start++) add(sums, hash(word, start, size), 1);
  }
}

/** One bit chooses the sign, so that collisions cancel out. */
function add(sums: Float64Array, hash: number, weight: number): void {
  sums[hash % DIMENSIONS]! += hash & 0x8000_0000 ? -weight : weight;
}

/** If everything has cancelled out, `fallback` is the only dimension. */
function normalize(sums: Float64Array, fallback: number): Float32Array {
  const length = Math.hypot(...sums);
  if (length === 0) sums[fallback] = 1;
  return Float32Array.from(sums, (sum) => sum / (length || 1));
}

/** FNV-1a over UTF-16 units, mixed at the end for its low bits. */
function hash(text: string, start: number, size: number): number {
  let sum = HASH_BASIS;
  for (let at = start; at < start + size; at++) {
    sum = Math.imul(sum ^ text.charCodeAt(at), HASH_PRIME);
  }
  sum = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d);
  return (sum ^ (sum >>> 13)) >>> 0;
}
