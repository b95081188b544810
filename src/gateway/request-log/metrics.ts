// The metrics of requests: durations, tokens, results and waits.
import type { Metrics } from "../../platform/metrics.ts";
import type { LogEntry } from "./entry.ts";
import type { RequestLog } from "./request-log.ts";

/** Bounds of buckets by OpenTelemetry's conventions for generative AI. */
const REQUEST_SECONDS = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
const FIRST_TOKEN_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** Parts of a SAR in which costs are counted. */
const MICRO = 1_000_000;

const NO_MODEL = "";
const MODEL = ["gen_ai_operation_name", "gen_ai_request_model"] as const;

/** Metric names follow those conventions, with underscores for points. */
export function showRequests(
  metrics: Metrics,
  requestLog: Pick<RequestLog, "observe" | "status">,
): void {
  const duration = metrics.histogram({
    name: "gen_ai_server_request_duration_seconds",
    help: "From a request's arrival to the end of its reply; error_type is the error code.",
    labels: [...MODEL, "error_type"],
    buckets: REQUEST_SECONDS,
  });
  const firstToken = metrics.histogram({
    name: "gen_ai_server_time_to_first_token_seconds",
    help: "From the arrival of a streamed request to its first chunk.",
    labels: [...MODEL],
    buckets: FIRST_TOKEN_SECONDS,
  });
  const eachToken = metrics.histogram({
    name: "gen_ai_server_time_per_output_token_seconds",
    help: "Time for each token after the first, of streams.",
    labels: [...MODEL],
    buckets: TOKEN_SECONDS,
  });
  const usage = metrics.histogram({
    name: "gen_ai_client_token_usage",
    help: "Tokens of a request, as the model server reported them or else estimated.",
    labels: [...MODEL, "gen_ai_token_type"],
    buckets: TOKENS,
  });
  const waited = metrics.counter({
    name: "wadi_request_wait_seconds_total",
    help: "Time that requests have waited for a server's start or a slot.",
    labels: [...MODEL],
  });
  const tokens = metrics.counter({
    name: "wadi_tokens_total",
    help: "Tokens of requests, as the model server reported them or else estimated.",
    labels: [...MODEL, "gen_ai_token_type"],
  });
  const cost = metrics.counter({
    name: "wadi_cost_sar_total",
    help: "SAR of the requests whose cost is known.",
    labels: [...MODEL],
  });
  requestLog.observe((entry) => {
    // The conventions define no web search, but allow further names.
    const model = {
      gen_ai_operation_name: entry.route,
      gen_ai_request_model: entry.model ?? NO_MODEL,
    };
    duration.observe({ ...model, error_type: entry.code ?? "" }, entry.duration_ms / 1000);
    if (entry.waited_ms) waited.inc(model, entry.waited_ms / 1000);
    if (entry.cost) cost.inc(model, entry.cost / MICRO);
    const count = (gen_ai_token_type: "input" | "output", used: number) => {
      usage.observe({ ...model, gen_ai_token_type }, used);
      tokens.inc({ ...model, gen_ai_token_type }, used);
    };
    if (entry.prompt_tokens !== null) count("input", entry.prompt_tokens);
    // The zeros of embeddings would look like empty replies.
    if (entry.completion_tokens !== null && entry.route === "chat") {
      count("output", entry.completion_tokens);
    }
    if (entry.first_token_ms === null) return;
    firstToken.observe(model, entry.first_token_ms / 1000);
    const tokenMs = measureToken(entry);
    if (tokenMs !== null) eachToken.observe(model, tokenMs / 1000);
  });
  showRequestLog(metrics, requestLog);
}

function showRequestLog(metrics: Metrics, requestLog: Pick<RequestLog, "status">): void {
  metrics.gauge(
    { name: "wadi_requests_under_way", help: "Metered requests that have not ended." },
    (set) => set(requestLog.status().underWay),
  );
  metrics.gauge(
    { name: "wadi_ledger_entries_unwritten", help: "Entries that wait to be written." },
    (set) => set(requestLog.status().unwritten),
  );
  metrics.total(
    { name: "wadi_ledger_entries_lost_total", help: "Entries that were dropped unwritten." },
    (set) => set(requestLog.status().lost),
  );
}

/** Requests that failed or made a single token have no time per token. */
function measureToken({ code, first_token_ms, duration_ms, completion_tokens }: LogEntry) {
  if (code !== null || first_token_ms === null || (completion_tokens ?? 0) < 2) return null;
  return (duration_ms - first_token_ms) / (completion_tokens! - 1);
}
