// What of each input is sent, and how much of a text surely has at most so many tokens.
import { estimateTokens } from "../../../models/index.ts";
import { TOKENS_MAX } from "../contract.ts";

export interface BatchItem {
  /** Its place among the inputs. */
  index: number;
  /** Token ids are a text that was cut. */
  content: string | readonly number[];
  /** null: nobody has counted them. */
  tokens: number | null;
  /** It may be too long, and only the usage of its reply will tell: it is sent alone. */
  is_alone?: true;
}

/** The borders that a tokenizer sets around a text, and the space that some set in front of it. */
const FRAME_TOKENS = 4;
/** No text has more tokens than bytes; bge-m3 reads it in NFKC, which can be longer. */
const BYTES_SURE = TOKENS_MAX - FRAME_TOKENS;
/** Of what is estimated a third may be wrong: src/models/tokens.ts. */
const TOKENS_LIKELY = TOKENS_MAX * 0.75;

/** gateway.limits.embeddings_input: true: whatever its tokenizer makes of it, nothing is cut. */
export function fitsSurely(text: string): boolean {
  if (text.length > BYTES_SURE || Buffer.byteLength(text) > BYTES_SURE) return false;
  return Buffer.byteLength(text.normalize("NFKC")) <= BYTES_SURE;
}

/** Where nobody counts, as an estimate; the server cuts, or refuses, what is longer. */
export function estimateBatchItem(text: string): number {
  return Math.min(TOKENS_MAX, Math.max(1, Math.ceil(estimateTokens(text))));
}

/** What is kept of texts that nobody counted, and that were refused for their length. */
const KEEPING: readonly ((text: string) => string)[] = [
  (text) => keep(text, TOKENS_LIKELY, estimateTokens),
  (text) => keep(text, BYTES_SURE, countBytes),
];

/** The parts after one more refusal, shorter; null: none of them could be cut any more. */
export function shorten(parts: readonly BatchItem[], refusals: number): BatchItem[] | null {
  const cut = KEEPING[refusals];
  if (!cut) return null;
  let isShorter = false;
  const shorter = parts.map((part) => {
    const { content, tokens } = part;
    if (typeof content !== "string" || tokens !== null || fitsSurely(content)) return part;
    const kept = cut(content);
    if (kept.length < content.length) isShorter = true;
    return { ...part, content: kept };
  });
  return isShorter ? shorter : shorten(parts, refusals + 1);
}

/** So often a text is cut by what its reply has told; then as much is left as surely fits. */
const CUTS_MAX = 6;
/** The letters that are cut away may have fewer tokens than those that stay. */
const CUT_MARGIN = 0.99;

/**
 * gateway.limits.embeddings_input: the text that was converted whole although it is too long,
 * shorter; null: it was not. A server without a tokenizer may have a longer window than ours.
 */
export function shortenTold(
  parts: readonly BatchItem[],
  told_tokens: number | null,
  cuts: number,
): BatchItem[] | null {
  const [part] = parts;
  if (!part?.is_alone || typeof part.content !== "string") return null;
  if (told_tokens === null || told_tokens <= TOKENS_MAX) return null;
  const { content } = part;
  const letters = cuts < CUTS_MAX ? (content.length * TOKENS_MAX * CUT_MARGIN) / told_tokens : 0;
  // Half a surrogate pair is no text.
  const kept = content.slice(0, letters).replace(/[\ud800-\udbff]$/, "");
  const sure = keep(content, BYTES_SURE, countBytes);
  const longer = kept.length > sure.length ? kept : sure;
  return longer.length < content.length ? [{ ...part, content: longer }] : null;
}

function countBytes(letter: string): number {
  return Math.max(Buffer.byteLength(letter), Buffer.byteLength(letter.normalize("NFKC")));
}

function keep(text: string, most: number, weigh: (letter: string) => number): string {
  let sum = 0;
  let end = 0;
  for (const letter of text) {
    sum += weigh(letter);
    if (sum > most) break;
    end += letter.length;
  }
  return text.slice(0, end);
}
