// Checks whether embeddings and search answer, with one call each as the gateway makes it.
import type { MeteredBackendOptions, openEmbedder, openSearchEngine } from "../gateway/index.ts";
import { createHealthCheck, nameHealth, rootOf, writeHeaders } from "../models/index.ts";
import type { TrustedEgress } from "../net/index.ts";
import { abortAfter, type Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { createLog } from "../platform/log.ts";
import type { EmbeddingsSettings, ServiceName, Settings } from "../settings/index.ts";
import type { CheckRow } from "./installation.ts";
import { listStandIns } from "./models.ts";

/** Maximum time of an answer; a server that still loads its model fails. */
const ANSWER_MS = 20_000;
const HEALTH_MS = 5_000;

const TEXT = "Hello";
/** Number of words above the limit, which shows if the server cuts a long text. */
const LONG_WORDS = 6_000;
const LONG_TEXT = Array.from({ length: LONG_WORDS }, () => "rain").join(" ");
const QUERY = "test";

export interface ServiceOpeners {
  openEmbedder: typeof openEmbedder;
  openSearchEngine: typeof openSearchEngine;
}

export interface ServiceCheckOptions {
  settings: Settings;
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
  openers: ServiceOpeners;
}

/** Lists the checks: one for each replica of embeddings, and one for search. */
export function listServiceChecks(options: ServiceCheckOptions): (() => Promise<CheckRow>)[] {
  const { embeddings } = options.settings;
  const hasServers = embeddings.kind === "openai" || embeddings.kind === "tei";
  const replicas = hasServers ? embeddings.urls : [undefined];
  return [
    ...replicas.map((url) => () => checkEmbeddings(url, options)),
    () => checkSearch(options),
  ];
}

/** The gateway is loaded only when it is needed. */
export async function loadServiceOpeners(): Promise<ServiceOpeners> {
  const { openEmbedder, openSearchEngine } = await import("../gateway/index.ts");
  return { openEmbedder, openSearchEngine };
}

type CheckResult = Pick<CheckRow, "status" | "says">;

async function checkEmbeddings(
  url: string | undefined,
  options: ServiceCheckOptions,
): Promise<CheckRow> {
  const { settings, openers } = options;
  const { embeddings } = settings;
  const row = { what: "embeddings", name: embeddings.kind, url } as const;
  const plan = url === undefined ? embeddings : { ...embeddings, urls: [url] };
  const embedder = openers.openEmbedder(plan, backendOptions(options));
  if (!embedder) return { ...row, ...OFF };
  if (url === undefined) return { ...row, ...checkStub("embeddings", settings) };
  const embed = (text: string) =>
    timeAnswer(options.clock, (signal) => {
      const ask = { request_id: options.ids.uuid(), trace: null, account: "", inputs: [text] };
      return embedder.embed(ask, signal);
    });
  const short = await embed(TEXT);
  if (!short.ok) return { ...row, status: "fail", says: short.reason };
  const seen = `one text in ${short.tookMs} ms, ${short.answer.vectors[0]?.length ?? 0} numbers`;
  const health = await checkHealth(embeddings, url, options);
  const long = await embed(LONG_TEXT);
  const says = long.ok
    ? `${LONG_WORDS} words in ${long.tookMs} ms`
    : `not ${LONG_WORDS} words in one text: ${long.reason}`;
  const status = !long.ok && health.status === "ok" ? "warn" : health.status;
  return { ...row, status, says: [seen, says, health.says].filter(Boolean).join(", ") };
}

async function checkSearch(options: ServiceCheckOptions): Promise<CheckRow> {
  const { settings, openers, clock, ids } = options;
  const { search } = settings;
  const row = { what: "search", name: search.kind, url: search.url || undefined } as const;
  const engine = openers.openSearchEngine(search, backendOptions(options));
  if (!engine) return { ...row, ...OFF };
  try {
    const found = await timeAnswer(clock, (signal) => {
      const ask = { request_id: ids.uuid(), trace: null, account: "", language: null };
      return engine.search({ ...ask, query: QUERY, max_results: 1 }, signal);
    });
    // Says that a query was sent, since it may cost money.
    const asked = "one query asked";
    if (!found.ok) return { ...row, status: "fail", says: `${asked}: ${found.reason}` };
    const count = found.answer.hits.length;
    const results = count === 0 ? "no result" : count === 1 ? "1 result" : `${count} results`;
    const says = `${asked}, ${results} in ${found.tookMs} ms`;
    if (search.kind !== "stub") return { ...row, status: count === 0 ? "warn" : "ok", says };
    const result = checkStub("search", settings);
    return { ...row, ...result, says: `${result.says}, ${says}` };
  } finally {
    engine.stop();
  }
}

const OFF: CheckResult = { status: "ok", says: "calls answer 503 service_unavailable" };

/** A stub beside real models may be a mistake. */
function checkStub(what: ServiceName, settings: Settings): CheckResult {
  const { folder } = settings.search;
  const inside = what === "embeddings" ? "vectors made inside" : "pages made inside";
  const made = what === "search" && folder !== "" ? `the pages of ${folder}` : inside;
  if (!listStandIns(settings).includes(what)) return { status: "ok", says: made };
  return { status: "warn", says: `${made}, beside real models: do not store them` };
}

/** An unwell replica fails the check only where its health is watched. */
async function checkHealth(
  plan: EmbeddingsSettings,
  url: string,
  { egress, clock }: ServiceCheckOptions,
): Promise<CheckResult> {
  const { connect_timeout_ms } = plan;
  const server = egress.open(rootOf(url) + nameHealth(plan), {
    headers: writeHeaders(plan),
    connectTimeoutMs: connect_timeout_ms,
  });
  const limit = abortAfter(clock, HEALTH_MS);
  const seen = await createHealthCheck(server)(limit.signal);
  limit.cancel();
  if (seen !== "unwell") return { status: "ok", says: "" };
  const says = `its ${nameHealth(plan)} says that it is not well`;
  return { status: plan.health_every_ms > 0 ? "fail" : "warn", says };
}

type ServiceAnswer = { ok: true } | { ok: false; reason: string };
type TimedAnswer<A> =
  | { ok: true; answer: Extract<A, { ok: true }>; tookMs: number }
  | { ok: false; reason: string };

async function timeAnswer<A extends ServiceAnswer>(
  clock: Clock,
  ask: (signal: AbortSignal) => Promise<A>,
): Promise<TimedAnswer<A>> {
  const limit = abortAfter(clock, ANSWER_MS);
  const began = clock.monotonic();
  try {
    const answer = await ask(limit.signal);
    if (!answer.ok) {
      const late = `no answer in ${ANSWER_MS / 1_000} s`;
      return { ok: false, reason: limit.signal.aborted ? late : answer.reason };
    }
    const tookMs = Math.round(clock.monotonic() - began);
    return { ok: true, answer: answer as Extract<A, { ok: true }>, tookMs };
  } finally {
    limit.cancel();
  }
}

/** The log is dropped, since the rows say the same. */
function backendOptions({ egress, clock }: ServiceCheckOptions): MeteredBackendOptions {
  return { egress, clock, log: createLog(clock, () => undefined, false) };
}
