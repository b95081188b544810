// Truncates inputs by their token ids, which one of the server's routes returns.
import { isGood, isRouteAbsent, type UpstreamError } from "../../../models/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import { TOKENS_MAX } from "../contract.ts";
import { type BatchItem, fitsSurely } from "./batch.ts";
import { classifyEmbeddingError } from "./failure.ts";
import type { TokenIds, TokenRoute } from "./protocol.ts";
import type { ReplicaClient } from "./replica-client.ts";

/** Time until the server is asked for its route again. */
const KNOWN_MS = 600_000;
/** Text of a trial; one letter is one or two tokens in every vocabulary. */
const PROBE = "a";

interface KnownRoute {
  route: TokenRoute | null;
  tail: number | undefined;
  until: number;
}

export class Tokenizer {
  readonly #routes: readonly TokenRoute[];
  readonly #model: string;
  readonly #clock: Clock;
  #known: KnownRoute | undefined;

  constructor(routes: readonly TokenRoute[], model: string, clock: Clock) {
    this.#routes = routes;
    this.#model = model;
    this.#clock = clock;
  }

  /** Returns the ids of a text with those around it; null if the server tells none. */
  async tokenize(client: ReplicaClient, text: string): Promise<TokenIds | null | UpstreamError> {
    const known = this.#known;
    if (!known || this.#clock.monotonic() >= known.until) return this.#find(client, text);
    if (known.route === null) return null;
    // The server may have been replaced by one of another kind.
    return (await this.#ask(client, known.route, text)) ?? this.#find(client, text);
  }

  async measureTail(client: ReplicaClient): Promise<number | UpstreamError> {
    const known = this.#known;
    if (!known?.route) return 0;
    if (known.tail !== undefined) return known.tail;
    const framed = await this.#ask(client, known.route, PROBE);
    if (framed === null || "ok" in framed) return framed ?? 0;
    const bare = await this.#ask(client, known.route, PROBE, false);
    if (bare === null || "ok" in bare) return bare ?? 0;
    known.tail = countTail(framed, bare);
    return known.tail;
  }

  /** Returns null if the server has no such route, or none that takes this form of body. */
  async #ask(client: ReplicaClient, { write, read }: TokenRoute, text: string, framed = true) {
    const reply = await client.post("/tokenize", write(this.#model, text, framed));
    if (!reply.ok) return reply;
    if (isGood(reply.status)) return read(reply.text);
    return isRouteAbsent(reply.status) ? null : classifyEmbeddingError(reply);
  }

  async #find(client: ReplicaClient, text: string): Promise<TokenIds | null | UpstreamError> {
    let isSure = true;
    for (const route of this.#routes) {
      const ids = await this.#ask(client, route, text);
      if (ids === null) continue;
      if (!("ok" in ids)) {
        this.#learn(route);
        return ids;
      }
      // A server may refuse the form of a body, which says nothing of its other routes.
      if (ids.code !== "upstream_error" && ids.code !== "model_unavailable") return ids;
      if (ids.upstreamStatus === undefined) return ids;
      isSure = false;
    }
    if (isSure) this.#learn(null);
    return null;
  }

  #learn(route: TokenRoute | null): void {
    this.#known = { route, tail: undefined, until: this.#clock.monotonic() + KNOWN_MS };
  }
}

function countTail(framed: TokenIds, bare: TokenIds): number {
  const frame = framed.length - bare.length;
  for (let lead = 0; lead <= frame; lead++) {
    if (bare.every((id, at) => framed[lead + at] === id)) return frame - lead;
  }
  return 0;
}

/**
 * gateway.limits.embeddings_input: sends the first token ids of a text that is too long, and those
 * behind every text. Without a tokenizer the server cuts by itself.
 */
export async function truncateInputs(
  client: ReplicaClient,
  tokenizer: Tokenizer | undefined,
  inputs: readonly string[],
): Promise<BatchItem[] | UpstreamError> {
  const items: BatchItem[] = [];
  for (const [index, content] of inputs.entries()) {
    if (!tokenizer || fitsSurely(content)) {
      items.push({ index, content, tokens: null });
      continue;
    }
    const ids = await tokenizer.tokenize(client, content);
    if (ids === null) {
      items.push({ index, content, tokens: null, isAlone: true });
    } else if ("ok" in ids) {
      return ids;
    } else if (ids.length <= TOKENS_MAX) {
      items.push({ index, content, tokens: ids.length });
    } else {
      const tail = await tokenizer.measureTail(client);
      if (typeof tail !== "number") return tail;
      const head = ids.slice(0, TOKENS_MAX - tail);
      const kept = [...head, ...ids.slice(ids.length - tail)];
      items.push({ index, content: kept, tokens: TOKENS_MAX });
    }
  }
  return items;
}
