// A search engine on a server: how it is asked, how long it is left alone, and how it fares.
import {
  createHealthCheck,
  createReplicas,
  parseObject,
  type UpstreamError,
  writeHeaders,
} from "../../models/index.ts";
import type { TrustedEgress } from "../../net/index.ts";
import type { SearchSettings } from "../../settings/index.ts";
import { requestServer, type ServerReply } from "../metered/client.ts";
import type { MeteredBackendOptions } from "../metered/service.ts";
import type { EngineQuery, Search, SearchEngine, SearchHit, SearchOutcome } from "./contract.ts";
import { createWait, LONG_WAIT_MS } from "./wait.ts";

/** Twenty hits are some kilobytes: what is larger is no list of them. */
const BYTES_MAX = 4 * 1024 * 1024;
const HEALTH_EVERY_MS = 10_000;

/** What tells one kind of engine from another. */
export interface EngineKind {
  /** Every route lies behind it. */
  url: string;
  /** The path of a search. */
  path: string;
  /** Of every request, under the operator's own. */
  headers: Readonly<Record<string, string>>;
  /** The path of its health; null: it has none. */
  health: string | null;
  writeQuery(ask: EngineQuery): Record<string, string>;
  /** What tells one request from the others; left out: nothing. */
  writeHeaders?(ask: EngineQuery): Record<string, string>;
  /** Of a reply with status 200. */
  readHits(reply: Record<string, unknown>): SearchHit[] | UpstreamError;
  /** Of any other. */
  judgeError(heard: ServerReply): UpstreamError;
  /** How long it told us to wait, beside `Retry-After`; left out, null: it did not. */
  readWait?(header: ServerReply["header"]): number | null;
}

/** Nothing is asked before its start. */
export function openEngine(
  kind: EngineKind,
  settings: SearchSettings,
  { log, ...around }: MeteredBackendOptions,
): SearchEngine {
  const { egress, clock } = around;
  const { connect_timeout_ms, timeout_ms } = settings;
  // How a key is sent is the kind's to say.
  const own = { accept: "application/json", ...kind.headers };
  const headers = writeHeaders({ ...settings, api_key: null }, own);
  const wait = createWait(clock);
  const openLook = (path: string) =>
    createHealthCheck(egress.open(kind.url + path, { headers, connect_timeout_ms }));
  const server = createAsking(kind, { ...around, headers, connect_timeout_ms });
  const { ask: askReplicas, ...replicas } = createReplicas(
    [
      {
        name: new URL(kind.url).host,
        server,
        look: kind.health === null ? null : openLook(kind.health),
      },
    ],
    {
      who: "search engine",
      max_in_flight: 0,
      health_every_ms: HEALTH_EVERY_MS,
      first_token_timeout_ms: timeout_ms,
      clock,
      log,
    },
  );
  const search: Search = async (ask, signal) => {
    // gateway.errors.service_unavailable: told at once, for asking again could prolong the wait.
    const waiting = wait.find();
    if (waiting) return { ...waiting, attempts: 0 };
    const { account } = ask;
    const ending = await askReplicas<SearchOutcome>({ account, signal }, (asking, _, left_ms) =>
      asking(ask, signal, left_ms),
    );
    if (!ending.ok && ending.retryAfterMs !== undefined) wait.note(ending.retryAfterMs);
    return ending;
  };
  return {
    search,
    isDown: () => wait.left_ms() > LONG_WAIT_MS || replicas.isDown(),
    start: replicas.start,
    stop: replicas.stop,
  };
}

type AskingOptions = Omit<MeteredBackendOptions, "log"> & Parameters<TrustedEgress["open"]>[1];
type Asking = (
  ask: EngineQuery,
  signal: AbortSignal,
  timeout_ms: number,
) => Promise<SearchOutcome | UpstreamError>;

function createAsking(kind: EngineKind, { egress, clock, ...fixed }: AskingOptions): Asking {
  return async (ask, signal, timeout_ms) => {
    const url = `${kind.url}${kind.path}?${writeQuery(kind.writeQuery(ask))}`;
    // Connections belong to the host, so that a server for each query costs none.
    const heard = await requestServer(egress.open(url, fixed), {
      account: ask.account,
      headers: kind.writeHeaders?.(ask) ?? {},
      bytesMax: BYTES_MAX,
      timeout_ms,
      clock,
      signal,
    });
    if (!heard.ok) return heard;
    if (heard.status === 200) return readFound(kind, heard.text);
    const failure = kind.judgeError(heard);
    if (heard.status !== 429 && heard.status !== 503) return failure;
    const retry_after_ms = kind.readWait?.(heard.header) ?? heard.retry_after_ms;
    return retry_after_ms === null ? failure : { ...failure, retryAfterMs: retry_after_ms };
  };
}

function readFound(kind: EngineKind, text: string): SearchOutcome | UpstreamError {
  const reply = parseObject(text);
  if (!reply) return fail("upstream_error", "its reply is no JSON object", 200);
  const hits = kind.readHits(reply);
  return Array.isArray(hits) ? { ok: true, hits } : hits;
}

/** What a list of hits holds; `snippet` is the name that its kind has for it. */
export function readHitList(list: unknown, snippet: string): SearchHit[] | null {
  if (!Array.isArray(list)) return null;
  return list.map((hit: unknown) => {
    const fields = typeof hit === "object" && hit !== null ? hit : {};
    const read = (name: string) => {
      const value = (fields as Record<string, unknown>)[name];
      return typeof value === "string" ? value : "";
    };
    return { title: read("title"), url: read("url"), snippet: read(snippet) };
  });
}

/** What the status of an error means; `whys` are what its kind has to say of some. */
export function judgeStatus(
  status: number,
  whys: Readonly<Record<number, string>> = {},
): UpstreamError {
  const told = whys[status];
  switch (status) {
    case 401:
    case 402:
    case 403:
    case 404:
      return fail("model_unavailable", told ?? `it turns us away with status ${status}`, status);
    case 429:
      return fail("upstream_rate_limited", told ?? "it had too many requests of us", status);
    case 503:
      return fail("upstream_rate_limited", told ?? "it takes no requests now", status);
    case 408:
    case 504:
      return fail("upstream_timeout", told ?? "it timed out", status);
    default: {
      const isElsewhere = status >= 300 && status < 400;
      const why = isElsewhere ? "it redirects us" : `it answered with status ${status}`;
      return fail("upstream_error", told ?? why, status);
    }
  }
}

/**
 * A refusal that the query itself may have brought about says nothing of the engine: it must not
 * count against it.
 */
export function fail(
  code: UpstreamError["code"],
  why: string,
  upstream_status: number,
): UpstreamError {
  const elsewhere = upstream_status >= 500 || code === "model_unavailable";
  return { ok: false, code, retryable: elsewhere, reason: why, upstreamStatus: upstream_status };
}

function writeQuery(query: Record<string, string>): string {
  // A "+" for a space is read as one by most, "%20" by all; a real one is "%2B" already.
  return new URLSearchParams(query).toString().replaceAll("+", "%20");
}
