// A search engine on a server: its requests, its errors, its health and the pauses it asks for.
import {
  createHealthCheck,
  Replicas,
  type UpstreamError,
  upstreamError,
  writeHeaders,
} from "../../models/index.ts";
import type { TrustedEgress } from "../../net/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { parseObject, readObject } from "../../platform/json.ts";
import type { SearchSettings } from "../../settings/index.ts";
import { requestServer, type ServerReply } from "../metered/client.ts";
import type { MeteredBackendOptions } from "../metered/service.ts";
import type { EngineQuery, Search, SearchEngine, SearchHit, SearchOutcome } from "./contract.ts";

/** Maximum size of a reply; twenty hits are some kilobytes. */
const BYTES_MAX = 4 * 1024 * 1024;
const HEALTH_INTERVAL_MS = 10_000;
/** Pause above which an engine counts as down; clients wait for a minute by themselves. */
export const LONG_PAUSE_MS = 60_000;

export interface EngineKind {
  url: string;
  path: string;
  /** Headers of every request; the operator's own go first. */
  headers: Readonly<Record<string, string>>;
  health: string | null;
  writeQuery(query: EngineQuery): Record<string, string>;
  writeHeaders?(query: EngineQuery): Record<string, string>;
  readHits(reply: Record<string, unknown>): SearchHit[] | UpstreamError;
  classifyError(reply: ServerReply): UpstreamError;
  /** Reads a pause that the engine asks for by other headers than `Retry-After`. */
  readPause?(header: ServerReply["header"]): number | null;
}

export function openEngine(
  kind: EngineKind,
  settings: SearchSettings,
  { log, ...options }: MeteredBackendOptions,
): SearchEngine {
  const { egress, clock } = options;
  const { connect_timeout_ms: connectTimeoutMs, timeout_ms } = settings;
  // The kind says how a key is sent.
  const own = { accept: "application/json", ...kind.headers };
  const headers = writeHeaders({ ...settings, api_key: null }, own);
  const pause = new Pause(clock);
  const openHealthCheck = (path: string) =>
    createHealthCheck(egress.open(kind.url + path, { headers, connectTimeoutMs }));
  const server = createRequest(kind, { ...options, headers, connectTimeoutMs });
  const health = kind.health === null ? null : openHealthCheck(kind.health);
  const replicas = new Replicas([{ name: new URL(kind.url).host, server, check: health }], {
    what: "search engine",
    max_in_flight: 0,
    health_every_ms: HEALTH_INTERVAL_MS,
    first_token_timeout_ms: timeout_ms,
    clock,
    log,
  });
  const search: Search = async (query, signal) => {
    // gateway.errors.service_unavailable: another request could prolong the pause.
    const paused = pause.find();
    if (paused) return { ...paused, attempts: 0 };
    const { account } = query;
    const result = await replicas.call<SearchOutcome>({ account, signal }, (request, _, leftMs) =>
      request(query, signal, leftMs),
    );
    if (!result.ok && result.retryAfterMs !== undefined) pause.begin(result.retryAfterMs);
    return result;
  };
  return {
    search,
    isDown: () => pause.leftMs() > LONG_PAUSE_MS || replicas.isDown(),
    status: () => replicas.status(),
    start: () => replicas.start(),
    stop: () => replicas.stop(),
  };
}

export class Pause {
  readonly #clock: Clock;
  #until = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(): UpstreamError | undefined {
    const retryAfterMs = this.leftMs();
    if (retryAfterMs === 0) return undefined;
    const reason = "it is not asked, for it told us to wait";
    return upstreamError("upstream_rate_limited", reason, { retryAfterMs });
  }

  /** Keeps the longest of several pauses. */
  begin(pauseMs: number): void {
    this.#until = Math.max(this.#until, this.#clock.monotonic() + pauseMs);
  }

  leftMs(): number {
    return Math.max(0, this.#until - this.#clock.monotonic());
  }
}

type RequestOptions = Omit<MeteredBackendOptions, "log"> & Parameters<TrustedEgress["open"]>[1];
type EngineRequest = (
  query: EngineQuery,
  signal: AbortSignal,
  timeoutMs: number,
) => Promise<SearchOutcome | UpstreamError>;

function createRequest(kind: EngineKind, options: RequestOptions): EngineRequest {
  const { egress, clock, ...serverOptions } = options;
  return async (query, signal, timeout_ms) => {
    const url = `${kind.url}${kind.path}?${writeQuery(kind.writeQuery(query))}`;
    // Connections are pooled by host, so opening a server for each query is cheap.
    const reply = await requestServer(egress.open(url, serverOptions), {
      account: query.account,
      headers: kind.writeHeaders?.(query) ?? {},
      bytesMax: BYTES_MAX,
      timeout_ms,
      clock,
      signal,
    });
    if (!reply.ok) return reply;
    if (reply.status === 200) return readReply(kind, reply.text);
    const error = kind.classifyError(reply);
    if (reply.status !== 429 && reply.status !== 503) return error;
    const retryAfterMs = kind.readPause?.(reply.header) ?? reply.retry_after_ms;
    return retryAfterMs === null ? error : { ...error, retryAfterMs };
  };
}

function readReply(kind: EngineKind, text: string): SearchOutcome | UpstreamError {
  const reply = parseObject(text);
  if (!reply) return engineError("upstream_error", "its reply is no JSON object", 200);
  const hits = kind.readHits(reply);
  return Array.isArray(hits) ? { ok: true, hits } : hits;
}

export function readHitList(list: unknown, snippetName: string): SearchHit[] | null {
  if (!Array.isArray(list)) return null;
  return list.map((hit: unknown) => {
    const fields = readObject(hit);
    const read = (name: string) => (typeof fields[name] === "string" ? fields[name] : "");
    return { title: read("title"), url: read("url"), snippet: read(snippetName) };
  });
}

export function classifyStatus(
  status: number,
  reasons: Readonly<Record<number, string>> = {},
): UpstreamError {
  const fail = (code: UpstreamError["code"], reason: string) =>
    engineError(code, reasons[status] ?? reason, status);
  switch (status) {
    case 401:
    case 402:
    case 403:
    case 404:
      return fail("model_unavailable", `it turns us away with status ${status}`);
    case 429:
      return fail("upstream_rate_limited", "it had too many requests of us");
    case 503:
      return fail("upstream_rate_limited", "it takes no requests now");
    case 408:
    case 504:
      return fail("upstream_timeout", "it timed out");
    default: {
      const isRedirect = status >= 300 && status < 400;
      return fail(
        "upstream_error",
        isRedirect ? "it redirects us" : `it answered with status ${status}`,
      );
    }
  }
}

/** An error that the query may have caused must not count against the engine's health. */
export function engineError(
  code: UpstreamError["code"],
  reason: string,
  upstreamStatus: number,
): UpstreamError {
  const retryable = upstreamStatus >= 500 || code === "model_unavailable";
  return upstreamError(code, reason, { retryable, upstreamStatus });
}

function writeQuery(query: Record<string, string>): string {
  // "%20" is a space to every server, "+" only to most; a plus sign is "%2B" already.
  return new URLSearchParams(query).toString().replaceAll("+", "%20");
}
