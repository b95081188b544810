// Batches of inputs: divided by what a server takes at once, and shortened where it refuses them.
import { estimateTokens, isGood, type UpstreamError } from "../../../models/index.ts";
import { TOKENS_MAX } from "../contract.ts";
import {
  classifyEmbeddingError,
  invalidEmbeddings,
  isBase64Refused,
  isTooLong,
} from "./failure.ts";
import type { EmbeddingProtocol, EncodingFormat, InputContent } from "./protocol.ts";
import type { ReplicaClient } from "./replica-client.ts";
import type { ParsedEmbeddings } from "./reply.ts";

export interface BatchItem {
  index: number;
  content: InputContent;
  tokens: number | null;
  /** The item may be too long, which only the usage of its own reply shows. */
  isAlone?: true;
}

/** Maximum tokens around a text, with the space that some tokenizers put before it. */
const FRAME_TOKENS = 4;
/** Maximum NFKC bytes (which bge-m3 reads) that never exceed the token limit. */
const SAFE_BYTES = TOKENS_MAX - FRAME_TOKENS;
/** Maximum estimate that surely fits: it may be wrong by a third. */
const LIKELY_TOKENS = TOKENS_MAX * 0.75;
/** Maximum cuts by reported usage; after them only what surely fits is kept. */
const CUTS_MAX = 6;
/** Margin for letters that have fewer tokens than the ones that stay. */
const CUT_MARGIN = 0.99;

/** gateway.limits.embeddings_input: tests if the text fits with every tokenizer. */
export function fitsSurely(text: string): boolean {
  if (text.length > SAFE_BYTES || Buffer.byteLength(text) > SAFE_BYTES) return false;
  return Buffer.byteLength(text.normalize("NFKC")) <= SAFE_BYTES;
}

/** Estimates tokens where no tokenizer counts them; the server cuts or refuses longer texts. */
export function estimateBatchItem(text: string): number {
  return Math.min(TOKENS_MAX, Math.max(1, Math.ceil(estimateTokens(text))));
}

/**
 * Keeps the order of the inputs. Texts and token ids are in separate batches, since vLLM takes no
 * mixed list.
 */
export function divide(items: readonly BatchItem[], batchMax: number): BatchItem[][] {
  const single = items.filter(({ isAlone }) => isAlone);
  const others = items.filter(({ isAlone }) => !isAlone);
  const texts = others.filter(({ content }) => typeof content === "string");
  const cut = others.filter(({ content }) => typeof content !== "string");
  const batches = [texts, cut].flatMap((kind) => {
    const count = Math.ceil(kind.length / batchMax);
    const at = (batch: number) => kind.slice(batch * batchMax, (batch + 1) * batchMax);
    return Array.from({ length: count }, (_, batch) => at(batch));
  });
  return [...batches, ...single.map((item) => [item])];
}

export class BatchConverter {
  readonly #model: string;
  /** Base64 is a quarter of the size of numbers, and most servers know it. */
  #encodingFormat: EncodingFormat = "base64";

  constructor(model: string) {
    this.#model = model;
  }

  async convert(
    client: ReplicaClient,
    protocol: EmbeddingProtocol,
    batch: readonly BatchItem[],
  ): Promise<ParsedEmbeddings | UpstreamError> {
    let items = batch;
    let refusals = 0;
    let cuts = 0;
    for (;;) {
      const reply = await this.#post(client, protocol, items);
      if (!reply.ok) return reply;
      if (isGood(reply.status)) {
        const parsed = protocol.read(reply.text, items.length);
        if (typeof parsed === "string") {
          return invalidEmbeddings(parsed, { upstreamStatus: reply.status });
        }
        const fitting = shortenByUsage(items, parsed.prompt_tokens, cuts++);
        if (!fitting) return parsed;
        items = fitting;
        continue;
      }
      const shorter = isTooLong(reply) ? shortenRefused(items, refusals++) : null;
      if (!shorter) return classifyEmbeddingError(reply);
      items = shorter;
    }
  }

  async #post(client: ReplicaClient, protocol: EmbeddingProtocol, items: readonly BatchItem[]) {
    const input = items.map(({ content }) => content);
    const send = (format: EncodingFormat) =>
      client.post(protocol.path, protocol.write(this.#model, input, format));
    const reply = await send(this.#encodingFormat);
    if (this.#encodingFormat === "float" || !reply.ok || !isBase64Refused(reply)) return reply;
    const again = await send("float");
    // The refusal may have been about something else.
    if (again.ok && isGood(again.status)) this.#encodingFormat = "float";
    return again;
  }
}

const CUTS: readonly ((text: string) => string)[] = [
  (text) => keepStart(text, LIKELY_TOKENS, estimateTokens),
  (text) => keepStart(text, SAFE_BYTES, countBytes),
];

function shortenRefused(items: readonly BatchItem[], refusals: number): BatchItem[] | null {
  const cut = CUTS[refusals];
  if (!cut) return null;
  let isShorter = false;
  const shorter = items.map((item) => {
    const { content, tokens } = item;
    if (typeof content !== "string" || tokens !== null || fitsSurely(content)) return item;
    const kept = cut(content);
    if (kept.length < content.length) isShorter = true;
    return { ...item, content: kept };
  });
  return isShorter ? shorter : shortenRefused(items, refusals + 1);
}

/**
 * gateway.limits.embeddings_input: a server without a tokenizer may have a longer window than ours.
 * Shortens a text that was converted beyond it; null if it was not.
 */
export function shortenByUsage(
  items: readonly BatchItem[],
  reportedTokens: number | null,
  cuts: number,
): BatchItem[] | null {
  const [item] = items;
  if (!item?.isAlone || typeof item.content !== "string") return null;
  if (reportedTokens === null || reportedTokens <= TOKENS_MAX) return null;
  const { content } = item;
  const share = (TOKENS_MAX * CUT_MARGIN) / reportedTokens;
  const letters = cuts < CUTS_MAX ? content.length * share : 0;
  // Half a surrogate pair is no text.
  const kept = content.slice(0, letters).replace(/[\ud800-\udbff]$/, "");
  const safe = keepStart(content, SAFE_BYTES, countBytes);
  const longer = kept.length > safe.length ? kept : safe;
  return longer.length < content.length ? [{ ...item, content: longer }] : null;
}

function countBytes(letter: string): number {
  return Math.max(Buffer.byteLength(letter), Buffer.byteLength(letter.normalize("NFKC")));
}

function keepStart(text: string, max: number, weigh: (letter: string) => number): string {
  let sum = 0;
  let end = 0;
  for (const letter of text) {
    sum += weigh(letter);
    if (sum > max) break;
    end += letter.length;
  }
  return text.slice(0, end);
}
