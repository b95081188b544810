// Client of Wadi's API: a method for each operation, retries, streams, runs that are followed
// over reconnects, and the verification of webhooks.
import type { components, webhooks } from "./api.js";
import { type Followed, type Methods, OPERATIONS, type OperationEntry } from "./operations.js";

export type { components, operations, paths, webhooks } from "./api.js";

export interface ClientOptions {
  /** Address of the server, with or without `/v1`. */
  baseUrl: string;
  key: string;
  /** How often a failed request is sent again (2). */
  retries?: number;
  /** How often in a row a stream of a run is opened again without a new frame (10). */
  reconnects?: number;
  /** Wait before the first retry where no `Retry-After` is sent (500); doubled each time. */
  delayMs?: number;
  /** With a longer `Retry-After` the error is thrown instead (60,000). */
  maxWaitMs?: number;
  /** Time for a whole reply, or for the head of a stream (600,000). */
  timeoutMs?: number;
  /** A stream without a byte for so long is broken (60,000); the server writes every 15 s. */
  idleMs?: number;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Of operations that take one; each call without it makes a new one. */
  idempotencyKey?: string;
}

export type Run = components["schemas"]["Run"];
export type RunEvent = components["schemas"]["RunEvent"];
type Signed = webhooks[keyof webhooks]["post"]["requestBody"];
export type SignedEvent = Signed["content"]["application/json"];

export interface Wadi extends Methods {
  /** Each frame once until the run ends, also over breaks of the connection. */
  followRun(input: Followed, options?: CallOptions): AsyncGenerator<RunEvent>;
  /** The run as it ends. */
  waitForRun(input: Followed, options?: CallOptions): Promise<Run>;
}

export class WadiError extends Error {
  override readonly name = "WadiError";
  /** Of the error, for programs. Null where the status says it all. */
  code: string | null = null;
  param: string | null = null;
  requestId: string | null = null;
  /** Seconds; null: the server names none. */
  retryAfter: number | null = null;
  /** Whether the server says that a retry does not help. */
  isFinal = false;
  /** The status of the reply is 0 if none came, or if it broke off. */
  constructor(
    message: string,
    readonly status: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The request was not signed with the secret, or too long ago. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

/** Statuses of which the same request may get another at its next attempt. */
const RETRYABLE = [0, 408, 429, 500, 502, 503, 504, 529];
/** Codes with those statuses that stay until someone acts. */
const LASTING =
  /^(model_unavailable|not_enabled|daily_runs_limit|(deliveries|endpoints|triggers)_limit)$/;
const MAX_DELAY_MS = 8000;
const LAST = /^(message_stop|response\.(completed|incomplete|failed)|run\.(completed|failed))$/;

type Values = Record<string, unknown>;
type Read<T> = (reply: Response) => Promise<T>;
/** What is known of every frame. */
interface Frame {
  type?: string;
  error?: { message: string; code?: string; param?: string | null };
  request_id?: string;
}

export function createWadi(options: ClientOptions): Wadi {
  const client = new Client(options);
  const methods = Object.entries(OPERATIONS).flatMap(([name, entry]) => [
    [name, (input?: Values, own?: CallOptions) => client.call(entry, input, own, readJson)],
    [`${name}Stream`, (input: Values, own?: CallOptions) => client.stream(entry, input, own)],
  ]);
  return {
    ...Object.fromEntries(methods),
    followRun: client.followRun.bind(client),
    waitForRun: client.waitForRun.bind(client),
  };
}

class Client {
  readonly #options: Required<ClientOptions>;

  constructor(options: ClientOptions) {
    const times = { delayMs: 500, maxWaitMs: 60_000, timeoutMs: 600_000, idleMs: 60_000 };
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    const own = Object.fromEntries(given) as unknown as ClientOptions;
    const baseUrl = options.baseUrl.replace(/(\/v1)?\/*$/, "");
    this.#options = { retries: 2, reconnects: 10, ...times, fetch, ...own, baseUrl };
  }

  async call<T>(
    entry: OperationEntry,
    input: Values = {},
    options: CallOptions = {},
    read: Read<T>,
    retries = this.#options.retries,
  ): Promise<T> {
    const [url, init] = this.#prepare(entry, input, options);
    for (let nth = 0; ; nth++) {
      try {
        return await this.#attempt(url, init, read, options.signal);
      } catch (error) {
        options.signal?.throwIfAborted();
        const failure = toWadiError(error);
        const wait = this.#waitAfter(failure, entry.isRepeatable, nth);
        if (wait === undefined || nth >= retries) throw failure;
        await sleep(wait, options.signal);
      }
    }
  }

  async *stream(
    entry: OperationEntry,
    input: Values,
    options: CallOptions = {},
    retries?: number,
  ): AsyncGenerator<Frame> {
    const sent = input.body ? { ...input, body: { ...input.body, stream: true } } : input;
    const body = await this.call(entry, sent, options, async (reply) => reply.body!, retries);
    try {
      for await (const frame of readFrames(body, this.#options.idleMs)) {
        if (frame === null) return;
        if (frame.error) throw createError(0, frame);
        yield frame;
        if (LAST.test(frame.type ?? "")) return;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      throw toWadiError(error);
    }
    throw new WadiError("The stream broke off.", 0);
  }

  async *followRun(input: Followed, options: CallOptions = {}): AsyncGenerator<RunEvent> {
    const isNew = createFilter();
    for (let failures = 0; ; ) {
      try {
        const frames = this.stream(OPERATIONS.streamRunEvents, { ...input }, options, 0);
        for await (const frame of frames) {
          failures = 0;
          const event = frame as RunEvent;
          if (isNew(event)) yield event;
        }
        return;
      } catch (error) {
        if (!(error instanceof WadiError)) throw error;
        const wait = this.#waitAfter(error, true, failures++);
        if (wait === undefined || failures > this.#options.reconnects) throw error;
        await sleep(wait, options.signal);
      }
    }
  }

  async waitForRun(input: Followed, options?: CallOptions): Promise<Run> {
    let last: RunEvent | undefined;
    for await (const event of this.followRun(input, options)) last = event;
    return (last as Extract<RunEvent, { type: "run.completed" }>).run;
  }

  #prepare(entry: OperationEntry, input: Values, options: CallOptions): [URL, RequestInit] {
    const { body, ...rest } = input;
    const path = entry.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = rest[name];
      delete rest[name];
      return encodeURIComponent(String(value));
    });
    const url = new URL(this.#options.baseUrl + path);
    for (const [name, value] of Object.entries(rest)) {
      for (const [key, one] of Object.entries(value instanceof Object ? value : { "": value })) {
        if (one != null) url.searchParams.set(key ? `${name}[${key}]` : name, String(one));
      }
    }
    const headers = new Headers(options.headers);
    headers.set("authorization", `Bearer ${this.#options.key}`);
    const key = options.idempotencyKey ?? crypto.randomUUID();
    if (entry.hasIdempotencyKey) headers.set("idempotency-key", key);
    const init = { method: entry.method, headers, redirect: "error" } as const;
    if (body === undefined) return [url, init];
    headers.set("content-type", "application/json");
    return [url, { ...init, body: JSON.stringify(body) }];
  }

  async #attempt<T>(url: URL, init: RequestInit, read: Read<T>, own?: AbortSignal): Promise<T> {
    const { fetch: send, timeoutMs } = this.#options;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    try {
      const signal = AbortSignal.any([late.signal, ...(own ? [own] : [])]);
      const reply = await send(url, { ...init, signal });
      if (reply.ok) return await read(reply);
      throw createError(reply.status, await reply.json().catch(() => ({})), reply.headers);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Milliseconds until the next attempt; undefined: there is none. */
  #waitAfter(failure: WadiError, isRepeatable: boolean, nth: number): number | undefined {
    const { status, code, retryAfter, isFinal } = failure;
    if (isFinal || LASTING.test(code ?? "")) return undefined;
    if (!(isRepeatable ? RETRYABLE.includes(status) : status === 429)) return undefined;
    const { delayMs, maxWaitMs } = this.#options;
    const backoff = Math.min(delayMs * 2 ** nth, MAX_DELAY_MS) * (0.5 + Math.random() / 2);
    const wait = retryAfter === null ? backoff : retryAfter * 1000;
    return wait > maxWaitMs ? undefined : wait;
  }
}

/** Whether a frame is new: each connection begins with all steps. */
function createFilter(): (event: RunEvent) => boolean {
  const seen: Values = { seq: 0 };
  const change = (name: string, value: unknown) => {
    const isNew = seen[name] !== value;
    seen[name] = value;
    return isNew;
  };
  return (event) => {
    if (event.type === "run.status") return change("status", event.status);
    if ("approval" in event) return change(`${event.type} ${event.approval.id}`, true);
    if (event.type !== "step.completed") return true;
    return event.step.seq > (seen.seq as number) && change("seq", event.step.seq);
  };
}

const toWadiError = (error: unknown): WadiError =>
  error instanceof WadiError ? error : new WadiError(String(error), 0, { cause: error });

const readJson = async (reply: Response) => (reply.status === 204 ? undefined : reply.json());

function createError(status: number, body: Frame, headers = new Headers()): WadiError {
  const { error, request_id } = body ?? {};
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const failure = new WadiError(error?.message ?? `The server answered ${status}.`, status);
  return Object.assign(failure, {
    code: error?.code ?? null,
    param: error?.param ?? null,
    requestId: headers.get("x-request-id") ?? request_id ?? null,
    retryAfter: Number.isFinite(seconds) ? seconds : null,
    isFinal: headers.get("x-should-retry") === "false",
  });
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const over = new AbortController();
  await new Promise<unknown>((wake) => {
    const timer = setTimeout(wake, ms);
    const stop = () => wake(clearTimeout(timer));
    signal?.addEventListener("abort", stop, { signal: over.signal });
  });
  over.abort();
  signal?.throwIfAborted();
}

/** The frames of server-sent events; null: `[DONE]`. */
async function* readFrames(body: ReadableStream<Uint8Array>, idleMs: number) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      timer = setTimeout(() => reader.cancel(), idleMs);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split(/\r?\n\r?\n/);
      text = blocks.pop()!;
      for (const block of blocks) {
        // The server writes the data of a frame as one line.
        const data = /^data: ?(.*)$/m.exec(block)?.[1];
        if (data) yield data === "[DONE]" ? null : (JSON.parse(data) as Frame);
      }
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

/** Returns the event of a request that the server has signed; throws if another has. */
export async function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string,
  { toleranceSeconds = 300, now = Date.now() } = {},
): Promise<SignedEvent> {
  const all = headers instanceof Headers ? Object.fromEntries(headers) : headers;
  const [id, time, signatures] = ["id", "timestamp", "signature"].map(
    (name) => `${all[`webhook-${name}`] ?? ""}`,
  ) as [string, string, string];
  const isRecent = Math.abs(now / 1000 - Number(time)) <= toleranceSeconds;
  if (!/^\d+$/.test(time) || !isRecent) throw new WebhookError("Its time is not now.");
  const decode = (text: string) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const use = { name: "HMAC", hash: "SHA-256" };
  const bytes = decode(secret.replace(/^whsec_/, ""));
  const key = await crypto.subtle.importKey("raw", bytes, use, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${time}.${body}`);
  for (const [, one] of signatures.matchAll(/(?:^| )v1,([A-Za-z0-9+/]{43}=)(?= |$)/g)) {
    // Compares in constant time.
    if (await crypto.subtle.verify("HMAC", key, decode(one!), signed)) return JSON.parse(body);
  }
  throw new WebhookError("Its signature is wrong.");
}
