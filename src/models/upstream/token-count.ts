// Asks a model's server how long a prompt is, by whichever of the known routes it has.
import type { Clock } from "../../platform/clock.ts";
import type { TrustedEgress, TrustedServer } from "../../platform/egress/index.ts";
import { type BodyReader, createWholeReader } from "./body.ts";
import type { Ask, CountTokens } from "./contract.ts";
import { type RequestForm, writeHeaders, writeRequest } from "./openai-request.ts";

export interface TokenCountOptions extends RequestForm {
  /** Each up to and with `/v1`. */
  urls: readonly string[];
  api_key: string | null;
  headers: Readonly<Record<string, string>>;
  connect_timeout_ms: number;
  egress: TrustedEgress;
  clock: Clock;
}

/** All that is asked for one count has this long together: the caller is waiting. */
const TIMEOUT_MS = 5_000;
/** What a server was found to know, or not to know, is looked at again after so long. */
const KNOWN_MS = 600_000;
/** A server that did not answer is left alone for so long. */
const REST_MS = 30_000;
/** vLLM sends the tokens too: 200,000 of them are 1.5 MB. */
const REPLY_BYTES_MAX = 4 * 1024 * 1024;
const COUNTS_KEPT = 1_000;

/** Asks one path with one body; null: the server refuses. */
type Post = (path: string, body: string) => Promise<Record<string, unknown> | null>;
/** One server's way to count a chat; null: this server has another, or none. */
type Route = (post: Post, prompt: string) => Promise<number | null>;

/** Only those that read messages and tools through the model's own template are exact. */
const ROUTES: readonly Route[] = [
  // vLLM and SGLang. Older SGLangs refuse messages; llama.cpp answers with no count.
  async (post, prompt) => readNumber((await post("/tokenize", prompt))?.count),
  // llama.cpp.
  async (post, prompt) =>
    readNumber((await post("/v1/chat/completions/input_tokens", prompt))?.input_tokens),
  // TGI.
  async (post, prompt) => readLength((await post("/chat_tokenize", prompt))?.tokenize_response),
  // An older llama.cpp, whose template puts the special tokens in as text.
  async (post, prompt) => {
    const content = (await post("/apply-template", prompt))?.prompt;
    if (typeof content !== "string") return null;
    const text = JSON.stringify({ content, add_special: true, parse_special: true });
    return readLength((await post("/tokenize", text))?.tokens);
  },
];

/** Counts at the first server that can; a failure of theirs is never one of the request. */
export function createTokenCount(options: TokenCountOptions): CountTokens {
  const replicas = options.urls.map((url) => createReplicaCount(url, options));
  const kept = createCountsKept();
  return async (ask, signal) => {
    const prompt = writePrompt(ask, options);
    const key = Bun.SHA256.hash(prompt, "base64") as string;
    const known = kept.find(key);
    if (known !== undefined) return known;
    const limit = new AbortController();
    const stop = () => limit.abort();
    const cancel = options.clock.after(TIMEOUT_MS, stop);
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (const count of replicas) {
        if (signal.aborted || limit.signal.aborted) break;
        const tokens = await count(ask, prompt, signal, limit.signal);
        if (tokens !== null) return kept.add(key, tokens);
      }
      return null;
    } finally {
      cancel();
      signal.removeEventListener("abort", stop);
    }
  };
}

/** Learns which route a replica has. */
function createReplicaCount(url: string, { clock, egress, ...options }: TokenCountOptions) {
  const root = url.replace(/\/(?:v1\/?)?$/, "");
  const { connect_timeout_ms } = options;
  const headers = writeHeaders(options);
  let routes = ROUTES;
  let known_until = 0;
  const learn = (learned: readonly Route[], for_ms: number) => {
    routes = learned;
    known_until = clock.monotonic() + for_ms;
  };
  return async (ask: Ask, prompt: string, caller: AbortSignal, signal: AbortSignal) => {
    if (clock.monotonic() >= known_until) routes = ROUTES;
    const post: Post = (path, body) => {
      const server = egress.open(`${root}${path}`, { headers, connect_timeout_ms });
      return postJson(server, body, ask.request_id, signal);
    };
    try {
      for (const route of routes) {
        const count = await route(post, prompt);
        if (count === null) continue;
        learn([route], KNOWN_MS);
        return count;
      }
      // A route that is known may well refuse one prompt that its template cannot take.
      if (routes === ROUTES) learn([], KNOWN_MS);
    } catch {
      if (!caller.aborted) learn([], REST_MS);
    }
    return null;
  };
}

/** null: it was refused, or answered with something else; rejects when nothing came. */
function postJson(
  server: TrustedServer,
  body: string,
  request_id: string,
  signal: AbortSignal,
): Promise<Record<string, unknown> | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown> | null>();
  let reader: BodyReader;
  const nothing = () => resolve(null);
  const exchange = server.post(
    body,
    { "x-request-id": request_id },
    {
      onHead(head) {
        const isGood = head.status >= 200 && head.status < 300;
        reader = createWholeReader(head, {
          bytes_max: REPLY_BYTES_MAX,
          judge: (text) => resolve(isGood ? parse(text) : null),
          onTooLarge: nothing,
          onPacked: nothing,
          breakOff: (why) => why,
        });
      },
      onBody: (bytes) => reader.take(bytes),
      onEnd: () => reader.end(),
      onFailure: (failure) => reject(new Error(failure)),
    },
  );
  const leave = () => reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  // Whatever is still open, such as the rest of a reply that is too long.
  return promise.finally(() => {
    signal.removeEventListener("abort", leave);
    exchange.cut();
  });
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** What decides the length: how the model samples does not, nor how long it may answer. */
function writePrompt(ask: Ask, form: RequestForm): string {
  const sampling = { temperature: null, top_p: null, presence_penalty: null, seed: null, stop: [] };
  const rest = { ...sampling, frequency_penalty: null, max_tokens: 1, stream: false };
  return writeRequest({ ...ask, ...rest }, form);
}

/** The counts used last, by the hash of what was counted: never the texts. */
function createCountsKept() {
  const counts = new Map<string, number>();
  return {
    find(key: string): number | undefined {
      const count = counts.get(key);
      if (count !== undefined) this.add(key, count);
      return count;
    },
    add(key: string, count: number): number {
      // What was used last stands last.
      counts.delete(key);
      counts.set(key, count);
      if (counts.size > COUNTS_KEPT) counts.delete(counts.keys().next().value!);
      return count;
    },
  };
}

function readNumber(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;
}

function readLength(value: unknown): number | null {
  return Array.isArray(value) ? readNumber(value.length) : null;
}
