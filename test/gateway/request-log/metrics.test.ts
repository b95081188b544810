// Tests the request metrics for Prometheus.
import { afterEach, expect, test } from "bun:test";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { showRequests } from "../../../src/gateway/request-log/metrics.ts";
import { openMetrics } from "../../../src/platform/metrics.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { makeEntry } from "../../support/request-log.ts";

const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.stop();
});

const ENTRY: LogEntry = makeEntry("1", {
  model: "m",
  is_stream: true,
  prompt_tokens: 7,
  completion_tokens: 11,
  cost: null,
  waited_ms: 1_500,
  first_token_ms: 200,
  duration_ms: 1_200,
});

/** The samples of requests, without buckets. */
const listSamples = (text: string) =>
  text.split("\n").filter((line) => /^(gen_ai|wadi)/.test(line) && !line.includes("_bucket"));

async function show(...entries: Partial<LogEntry>[]): Promise<string[]> {
  const metrics = await openMetrics();
  let observer: (entry: LogEntry) => void = () => undefined;
  showRequests(metrics, {
    observe: (callback) => {
      observer = callback;
    },
    status: () => ({ underWay: 3, unwritten: 2, lost: 1 }),
  });
  for (const entry of entries) observer({ ...ENTRY, ...entry });
  return listSamples(await metrics.write());
}

const CHAT = 'gen_ai_operation_name="chat",gen_ai_request_model="m"';

test("a stream adds its duration, first token, token intervals, usage and wait", async () => {
  expect(await show({ cost: 25_000 })).toEqual([
    `gen_ai_server_request_duration_seconds_sum{${CHAT},error_type=""} 1.2`,
    `gen_ai_server_request_duration_seconds_count{${CHAT},error_type=""} 1`,
    `gen_ai_server_time_to_first_token_seconds_sum{${CHAT}} 0.2`,
    `gen_ai_server_time_to_first_token_seconds_count{${CHAT}} 1`,
    `gen_ai_server_time_per_output_token_seconds_sum{${CHAT}} 0.1`,
    `gen_ai_server_time_per_output_token_seconds_count{${CHAT}} 1`,
    `gen_ai_client_token_usage_sum{${CHAT},gen_ai_token_type="input"} 7`,
    `gen_ai_client_token_usage_count{${CHAT},gen_ai_token_type="input"} 1`,
    `gen_ai_client_token_usage_sum{${CHAT},gen_ai_token_type="output"} 11`,
    `gen_ai_client_token_usage_count{${CHAT},gen_ai_token_type="output"} 1`,
    `wadi_request_wait_seconds_total{${CHAT}} 1.5`,
    `wadi_tokens_total{${CHAT},gen_ai_token_type="input"} 7`,
    `wadi_tokens_total{${CHAT},gen_ai_token_type="output"} 11`,
    `wadi_cost_sar_total{${CHAT}} 0.025`,
    "wadi_requests_under_way 3",
    "wadi_ledger_entries_unwritten 2",
    "wadi_ledger_entries_lost_total 1",
  ]);
});

test("embeddings have no output tokens, and a search has no model", async () => {
  const embedded: Partial<LogEntry> = {
    ...{ route: "embeddings", model: "bge-m3", is_stream: false, first_token_ms: null },
    ...{ prompt_tokens: 40, completion_tokens: 0, waited_ms: null },
  };
  const searched: Partial<LogEntry> = {
    ...{ route: "search", model: null, is_stream: false, first_token_ms: null },
    ...{ prompt_tokens: null, completion_tokens: null, waited_ms: null },
  };
  const EMBEDDINGS = 'gen_ai_operation_name="embeddings",gen_ai_request_model="bge-m3"';
  const SEARCH = 'gen_ai_operation_name="search",gen_ai_request_model=""';
  expect((await show(embedded, searched)).filter((line) => line.startsWith("gen_ai"))).toEqual([
    `gen_ai_server_request_duration_seconds_sum{${EMBEDDINGS},error_type=""} 1.2`,
    `gen_ai_server_request_duration_seconds_count{${EMBEDDINGS},error_type=""} 1`,
    `gen_ai_server_request_duration_seconds_sum{${SEARCH},error_type=""} 1.2`,
    `gen_ai_server_request_duration_seconds_count{${SEARCH},error_type=""} 1`,
    `gen_ai_client_token_usage_sum{${EMBEDDINGS},gen_ai_token_type="input"} 40`,
    `gen_ai_client_token_usage_count{${EMBEDDINGS},gen_ai_token_type="input"} 1`,
  ]);
});

test("unknown values are not counted, and a failure has its code", async () => {
  const nothing = {
    code: "upstream_error",
    prompt_tokens: null,
    completion_tokens: null,
    waited_ms: null,
    first_token_ms: null,
  };
  const samples = await show(nothing, { ...nothing, code: "validation", model: null });
  expect(samples.filter((line) => line.includes("_count"))).toEqual([
    `gen_ai_server_request_duration_seconds_count{${CHAT},error_type="upstream_error"} 1`,
    'gen_ai_server_request_duration_seconds_count{gen_ai_operation_name="chat",' +
      'gen_ai_request_model="",error_type="validation"} 1',
  ]);
});

test("a broken stream has a first token, and no token rate", async () => {
  const samples = await show({ code: "upstream_error" });
  expect(samples.some((line) => line.includes("first_token_seconds_count"))).toBe(true);
  expect(samples.some((line) => line.includes("output_token"))).toBe(false);
});

test("the time between two tokens needs two of them", async () => {
  const hasInterval = async (completion_tokens: number) =>
    (await show({ completion_tokens })).some((line) => line.includes("output_token"));
  expect([await hasInterval(1), await hasInterval(2)]).toEqual([false, true]);
});

test("the page shows requests by model and route, and nothing about callers", async () => {
  const app = await startApp({ hasOpenMetrics: true });
  apps.push(app);
  await app.chat("secret words", { user: "someone" });
  await app.chat("Hello", { model: "made-up-by-a-stranger" });
  await app.get("/v1/models");
  const text = await (await app.get("/metrics", { key: null })).text();
  const samples = text.split("\n");
  const model = 'gen_ai_operation_name="chat",gen_ai_request_model="stub-1"';
  expect(samples).toContain(
    `gen_ai_server_request_duration_seconds_count{${model},error_type=""} 2`,
  );
  expect(samples).toContain('wadi_model_up{gen_ai_request_model="stub-1"} 1');
  expect(samples).toContain(
    'http_server_request_duration_seconds_count{http_request_method="GET",' +
      'http_route="/v1/models",http_response_status_code="200"} 1',
  );
  expect(text).not.toMatch(/secret|someone|stranger|svc_sk|account-|key-/);
});

test("without a token, and outside of dev, there is no page", async () => {
  const app = await startApp();
  apps.push(app);
  expect((await app.get("/metrics")).status).toBe(404);
});

test("with a token the page needs it", async () => {
  const settings = '[server]\nmetrics_token_env = "TOKEN"';
  const app = await startApp({ settings, env: { TOKEN: "t-1" } });
  apps.push(app);
  expect((await app.get("/metrics")).status).toBe(401);
  expect((await app.get("/metrics", { key: "t-1" })).status).toBe(200);
});
