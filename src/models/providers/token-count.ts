// Asks a model's server how long a prompt is, by whichever of the known routes it has.

import type { TrustedEgress, TrustedServer } from "../../net/index.ts";
import { abortAfter, type Clock } from "../../platform/clock.ts";
import { writeJson } from "../../platform/json.ts";
import { fetchText, parseObject } from "./body.ts";
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

/** All that is asked for one count has this long together: the caller is waiting. */
const TIMEOUT_MS = 5_000;
/** The route that a server was found to have, or not to have, is looked at again after so long. */
const KNOWN_MS = 600_000;
/** A server that did not answer, or not in time, is left alone for so long. */
const REST_MS = 10_000;
/** vLLM sends the tokens too: 200,000 of them are 1.5 MB. */
const REPLY_BYTES_MAX = 4 * 1024 * 1024;
const COUNTS_KEPT = 1_000;

/** These statuses, and a good reply without a count, say that a server has no such route. */
const ABSENT: readonly number[] = [404, 405, 501];

/** Does it tell what the server can? A refusal may be of this prompt, or of this moment. */
interface CountReply {
  isTelling: boolean;
  value: Record<string, unknown> | null;
}
/** Asks one path with one body; null: what came is no JSON, or no good reply. */
type Post = (path: string, body: string) => Promise<Record<string, unknown> | null>;
/** One server's way to count a chat; null: this server has another, or none. */
type CountRoute = (post: Post, prompt: string) => Promise<number | null>;

/** Only those that read messages and tools through the model's own template are exact. */
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

/** Counts at the first server that can; a failure of theirs is never one of the request. */
export function createTokenCount(options: TokenCountOptions): CountTokens {
  const replicas = options.urls.map((url) => createReplicaCount(url, options));
  const kept = createCountsKept();
  return async (ask, signal) => {
    const prompt = writePrompt(ask, options);
    const key = Bun.SHA256.hash(prompt, "base64") as string;
    const known = kept.find(key);
    if (known !== undefined) return known;
    const limit = abortAfter(options.clock, TIMEOUT_MS, signal);
    try {
      for (const count of replicas) {
        if (limit.signal.aborted) break;
        const tokens = await count(ask, prompt, signal, limit.signal);
        if (tokens !== null) return kept.add(key, tokens);
      }
      return null;
    } finally {
      limit.cancel();
    }
  };
}

/** Learns which route a replica has: only from what says so, never from one prompt's refusal. */
function createReplicaCount(url: string, { clock, egress, ...options }: TokenCountOptions) {
  const root = rootOf(url);
  const { connect_timeout_ms } = options;
  const headers = writeHeaders(options);
  let routes = ROUTES;
  let known_until = 0;
  let rests_until = 0;
  const learn = (learned: readonly CountRoute[]) => {
    routes = learned;
    known_until = clock.monotonic() + KNOWN_MS;
  };
  return async (
    request: ModelRequest,
    prompt: string,
    caller: AbortSignal,
    signal: AbortSignal,
  ) => {
    if (clock.monotonic() < rests_until) return null;
    if (clock.monotonic() >= known_until) routes = ROUTES;
    let isAbsent = true;
    const post: Post = async (path, body) => {
      const server = egress.open(`${root}${path}`, {
        headers,
        connectTimeoutMs: connect_timeout_ms,
      });
      const { isTelling, value } = await postJson(server, body, request, signal);
      if (!isTelling) isAbsent = false;
      return value;
    };
    const tried = routes;
    const left: CountRoute[] = [];
    try {
      for (const route of tried) {
        isAbsent = true;
        const count = await route(post, prompt);
        if (count !== null) {
          learn([route]);
          return count;
        }
        if (!isAbsent) left.push(route);
      }
      // Another request may have learnt more meanwhile.
      if (routes !== tried || left.length === tried.length) return null;
      // What it had is gone: it may have become another server.
      if (left.length === 0 && tried !== ROUTES) routes = ROUTES;
      else learn(left);
    } catch {
      if (!caller.aborted) rests_until = clock.monotonic() + REST_MS;
    }
    return null;
  };
}

/** Rejects when nothing came. */
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
  const isGood = status >= 200 && status < 300;
  // A reply that could not be read says nothing.
  const isTelling = text !== null && (isGood || ABSENT.includes(status));
  return { isTelling, value: isGood && text !== null ? parseObject(text) : null };
}

/** What decides the length: how the model samples does not, nor how long it may answer. */
function writePrompt(request: ModelRequest, form: RequestForm): string {
  const sampling = { temperature: null, top_p: null, presence_penalty: null, seed: null, stop: [] };
  const rest = { ...sampling, frequency_penalty: null, max_tokens: 1, stream: false };
  return writeRequest({ ...request, ...rest }, form);
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
