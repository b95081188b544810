// Counts a prompt's tokens at its model's server, by the first known route that the server has.
import type { TrustedEgress, TrustedServer } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import { parseObject, writeJson } from "../../platform/json.ts";
import { SizeCache } from "../../platform/size-cache.ts";
import { fetchText, isGood, isRouteAbsent } from "./body.ts";
import type { CountTokens, ModelRequest } from "./contract.ts";
import { type RequestForm, rootOf, writeHeaders, writeRequest } from "./openai/request.ts";

export interface TokenCountOptions extends RequestForm {
  /** Each up to and with `/v1`. */
  urls: readonly string[];
  api_key: string | null;
  headers: Readonly<Record<string, string>>;
  connect_timeout_ms: number;
  egress: TrustedEgress;
  clock: Clock;
}

/** Maximum time of one count, since the caller is waiting. */
const TIMEOUT_MS = 5_000;
/** Time until known and absent routes are tried again. */
const KNOWN_MS = 600_000;
/** Pause after a server that did not answer in time. */
const REST_MS = 10_000;
/** Maximum size of a reply; vLLM sends the tokens too, 1.5 MB for 200,000. */
const REPLY_BYTES_MAX = 4 * 1024 * 1024;
const CACHE_SIZE = 1_000;

interface CountReply {
  /** Conclusive replies show whether the route exists; errors may be of this prompt or moment. */
  isConclusive: boolean;
  value: Record<string, unknown> | null;
}
type Post = (path: string, body: string) => Promise<Record<string, unknown> | null>;
type CountRoute = (post: Post, prompt: string) => Promise<number | null>;

/** Exact routes: those that put messages and tools through the model's own template. */
const ROUTES: readonly CountRoute[] = [
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
    const text = writeJson({ content, add_special: true, parse_special: true });
    return readLength((await post("/tokenize", text))?.tokens);
  },
];

/** Counts at the first server that can; a server's failure is none of the request. */
export function createTokenCount(options: TokenCountOptions): CountTokens {
  const replicas = options.urls.map((url) => new ReplicaCounter(url, options));
  const cache = new SizeCache<number>(CACHE_SIZE);
  return async (request, signal) => {
    const prompt = writePrompt(request, options);
    const key = Bun.SHA256.hash(prompt, "base64") as string;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const limit = abortAfter(options.clock, TIMEOUT_MS, signal);
    try {
      for (const replica of replicas) {
        if (limit.signal.aborted) break;
        const tokens = await replica.count(request, prompt, signal, limit.signal);
        if (tokens === null) continue;
        cache.set(key, tokens, 1);
        return tokens;
      }
      return null;
    } finally {
      limit.cancel();
    }
  };
}

/** Learns which route a replica has, from replies that say so and never from a refusal. */
class ReplicaCounter {
  readonly #root: string;
  readonly #options: TokenCountOptions;
  readonly #headers: Record<string, string>;
  #routes = ROUTES;
  #knownUntil = 0;
  #restsUntil = 0;

  constructor(url: string, options: TokenCountOptions) {
    this.#root = rootOf(url);
    this.#options = options;
    this.#headers = writeHeaders(options);
  }

  async count(
    request: ModelRequest,
    prompt: string,
    caller: AbortSignal,
    signal: AbortSignal,
  ): Promise<number | null> {
    const { clock } = this.#options;
    if (clock.monotonic() < this.#restsUntil) return null;
    if (clock.monotonic() >= this.#knownUntil) this.#routes = ROUTES;
    let isAbsent = true;
    const post: Post = async (path, body) => {
      const { isConclusive, value } = await postJson(this.#open(path), body, request, signal);
      if (!isConclusive) isAbsent = false;
      return value;
    };
    const tried = this.#routes;
    const left: CountRoute[] = [];
    try {
      for (const route of tried) {
        isAbsent = true;
        const count = await route(post, prompt);
        if (count !== null) {
          this.#learn([route]);
          return count;
        }
        if (!isAbsent) left.push(route);
      }
    } catch {
      if (!caller.aborted) this.#restsUntil = clock.monotonic() + REST_MS;
      return null;
    }
    // Another request may have learnt more meanwhile.
    if (this.#routes !== tried || left.length === tried.length) return null;
    // A server without its known route may have become another one.
    if (left.length === 0 && tried !== ROUTES) this.#routes = ROUTES;
    else this.#learn(left);
    return null;
  }

  #open(path: string): TrustedServer {
    const { egress, connect_timeout_ms } = this.#options;
    const headers = this.#headers;
    return egress.open(`${this.#root}${path}`, {
      headers,
      connectTimeoutMs: connect_timeout_ms,
    });
  }

  #learn(routes: readonly CountRoute[]): void {
    this.#routes = routes;
    this.#knownUntil = this.#options.clock.monotonic() + KNOWN_MS;
  }
}

async function postJson(
  server: TrustedServer,
  body: string,
  { request_id, account }: ModelRequest,
  signal: AbortSignal,
): Promise<CountReply> {
  const headers = { "x-request-id": request_id };
  const request = { body, account, headers, bytesMax: REPLY_BYTES_MAX, signal };
  const reply = await fetchText(server, request);
  if (reply.status === null) throw new Error(reply.failure);
  const { status, text } = reply;
  // A good reply without a count is one of an absent route, too.
  const isConclusive = text !== null && (isGood(status) || isRouteAbsent(status));
  return { isConclusive, value: isGood(status) && text !== null ? parseObject(text) : null };
}

/** Writes only fields that affect the length. */
function writePrompt(request: ModelRequest, form: RequestForm): string {
  const sampling = { temperature: null, top_p: null, presence_penalty: null, seed: null, stop: [] };
  const rest = { ...sampling, frequency_penalty: null, max_tokens: 1, stream: false };
  return writeRequest({ ...request, ...rest }, form);
}

function readNumber(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;
}

function readLength(value: unknown): number | null {
  return Array.isArray(value) ? readNumber(value.length) : null;
}
