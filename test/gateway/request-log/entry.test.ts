// Tests the row of each request, through the whole app, for every kind of completion.
import { afterEach, expect, test } from "bun:test";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { startApp, type TestApp, type TestAppOptions } from "../../support/app.ts";
import { readRequestLog } from "../../support/request-log.ts";
import {
  answerFrames,
  DONE,
  type Script,
  startUpstream,
  writeFrame,
  writeSettings,
} from "../../support/upstream.ts";

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function open(options: TestAppOptions = {}): Promise<TestApp> {
  const app = await startApp(options);
  endings.push(app.stop);
  return app;
}

async function openUpstream(script: Script, model = "") {
  const upstream = startUpstream(script);
  endings.push(upstream.stop);
  return { upstream, app: await open({ settings: writeSettings(upstream.url, model) }) };
}

/** Every row, once all queued entries are written. */
async function readRows({ app, clock }: TestApp): Promise<LogEntry[]> {
  await clock.advance(25);
  return readRequestLog(app.database).entries();
}

async function readRow(app: TestApp): Promise<LogEntry> {
  const rows = await readRows(app);
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

const PRICE = `price = { prompt = "2.00", completion = "4.00" }`;
const NOTHING_MADE = {
  ...{ prompt_tokens: null, completion_tokens: null, usage_estimated: false, cost: null },
  ...{ attempts: null, waited_ms: null, first_token_ms: null },
};

test("a JSON reply has a complete row", async () => {
  const app = await open();
  const headers = { "x-request-id": "mine", traceparent: TRACEPARENT };
  const reply = await app.chat("Hello", {}, { headers });
  const text = await reply.text();
  const [account] = await app.app.access.accounts.list();
  const keys = await app.app.access.keys.list(account!.id);
  expect(await readRow(app)).toEqual({
    id: expect.any(String),
    sent_by_operator: null,
    request_id: "mine",
    at: Date.UTC(2026, 10, 20, 12),
    account_id: account!.id,
    key_id: keys.at(-1)!.id,
    route: "chat",
    ...{ run_id: null, agent_id: null, agent_version: null },
    scope: null,
    model_asked: null,
    model: "stub-1",
    max_tokens_asked: null,
    max_tokens: 1_024,
    max_tokens_by: "default",
    replica: null,
    upstream_status: null,
    status: 201,
    code: null,
    param: null,
    reason: null,
    finish_reason: "stop",
    is_stream: false,
    prompt_tokens: 6,
    completion_tokens: 5,
    usage_estimated: false,
    // 6 at 1.00 SAR a million and 5 at 2.00.
    cost: 16,
    attempts: null,
    waited_ms: null,
    in_flight: null,
    in_flight_max: null,
    first_token_ms: null,
    duration_ms: 0,
    gateway_us: 0,
    request_bytes: Buffer.byteLength('{"messages":[{"role":"user","content":"Hello"}]}'),
    reply_bytes: Buffer.byteLength(text),
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
  });
});
const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

test("a stream has its row at its end, with the time to its first token", async () => {
  const app = await open({
    settings: `
[[models]]
id = "slow-1"
self_hosted = true
upstream = { kind = "stub", first_token_delay = "300ms", tokens_per_second = 10 }`,
  });
  const asked = app.chat("!say one two", { stream: true });
  await app.clock.advance(300);
  const reply = await asked;
  const text = reply.text();
  expect(await readRows(app)).toEqual([]);
  await app.clock.advance(100);
  const whole = await text;
  expect(await readRow(app)).toMatchObject({
    ...{ model: "slow-1", status: 201, code: null, is_stream: true, completion_tokens: 2 },
    // The cost is unknown.
    ...{ cost: null, usage_estimated: false, first_token_ms: 300, duration_ms: 400 },
    reply_bytes: Buffer.byteLength(whole),
  });
});

test.each<[string, object | string, number, string]>([
  ["no messages", { messages: [] }, 400, "invalid_request"],
  ["no JSON", "{", 400, "invalid_request"],
  ["a body too large", { messages: "x".repeat(256 * 1024) }, 413, "request_too_large"],
])("%s: a row without a model", async (_, body, status, code) => {
  const app = await open();
  const reply = await app.post("/v1/chat/completions", body);
  expect(reply.status).toBe(status);
  const bytes = Buffer.byteLength(await reply.text());
  const row = await readRow(app);
  expect(row).toMatchObject({ model: null, status, code, ...NOTHING_MADE, reply_bytes: bytes });
  expect(row.request_bytes).toBeGreaterThan(0);
});

test("a refusal after the model is known has its name", async () => {
  const app = await open();
  await app.app.admin.models.turn("stub-1", "off");
  await app.chat("Hello", { model: "stub-1" });
  await app.chat("Hello", { reasoning: true }, { key: "svc_sk_test-none" });
  const named = { model: "stub-1", ...NOTHING_MADE };
  expect(await readRows(app)).toMatchObject([
    { ...named, status: 503, code: "model_offline" },
    { ...named, status: 503, code: "no_model_available" },
  ]);
});

test("an unknown id has a row without a model", async () => {
  const app = await open({ start_ms: Date.UTC(2030, 0, 1) });
  expect((await app.chat("Hello", { model: "who-1" })).status).toBe(404);
  expect(await readRow(app)).toMatchObject({ model: null, status: 404, code: "model_not_found" });
});

test("requests without a key, or with an unknown one, have no row", async () => {
  const app = await open();
  await app.chat("Hello", {}, { key: null });
  await app.chat("Hello", {}, { key: "svc_sk_nobody" });
  expect(await readRows(app)).toEqual([]);
});

test("internal keys and rate-limited requests have a row", async () => {
  const app = await open({ settings: "[limits]\nrequests_per_minute = 1" });
  await app.chat("Hello", {}, { key: "svc_sk_test-internal" });
  expect((await app.chat("Hello")).status).toBe(201);
  expect((await app.chat("Hello")).status).toBe(429);
  expect(await readRows(app)).toMatchObject([
    { status: 403, code: "permission_denied", model: null },
    { status: 201, code: null },
    { status: 429, code: "rate_limit_exceeded", model: null },
  ]);
});

test("refusals by the rate limit have 120 rows a minute for each account", async () => {
  const app = await open({ settings: "[limits]\nrequests_per_minute = 1" });
  const ask = (key?: string) => app.chat("Hello", {}, { ...(key && { key }) });
  for (let n = 0; n < 125; n++) await ask();
  await ask("svc_sk_test-other");
  await ask("svc_sk_test-other");
  const countRefused = async () =>
    (await readRows(app)).filter(({ code }) => code === "rate_limit_exceeded").length;
  expect(await countRefused()).toBe(121);
  await app.clock.advance(60_000);
  await ask();
  await ask();
  expect(await countRefused()).toBe(122);
});

test("a bug has a row", async () => {
  const app = await open();
  await app.chat("!error internal_error");
  expect(await readRow(app)).toMatchObject({
    status: 500,
    code: "internal_error",
    model: "stub-1",
  });
});

test("an upstream failure has a row with its code, and without tokens", async () => {
  const { app } = await openUpstream(() => new Response("no", { status: 500 }));
  await app.chat("Hello");
  expect(await readRow(app)).toMatchObject({
    ...NOTHING_MADE,
    attempts: 1,
    status: 502,
    code: "upstream_error",
  });
});

test("reported usage is priced; without it an estimate is", async () => {
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const frames = [writeFrame({ content: "Hello" }, "stop"), DONE];
  const { app, upstream } = await openUpstream(() => answerFrames(frames), PRICE);
  await (await app.chat("Hello", { stream: true })).text();
  upstream.script = () => answerFrames([writeFrame({ content: "Hello" }, "stop", { usage }), DONE]);
  await (await app.chat("Hello", { stream: true })).text();
  expect(await readRows(app)).toMatchObject([
    { status: 201, usage_estimated: true, cost: 20, prompt_tokens: 6, completion_tokens: 2 },
    { status: 201, usage_estimated: false, cost: 26, prompt_tokens: 7, completion_tokens: 3 },
  ]);
});

test("a broken stream has its initial status, the code of its frame, and an estimate", async () => {
  const frames = [writeFrame({ content: "Hello there, you" })];
  const { app } = await openUpstream(() => answerFrames(frames), PRICE);
  const text = await (await app.chat("Hello", { stream: true })).text();
  expect(text).toContain('"code":"upstream_error"');
  expect(await readRow(app)).toMatchObject({
    ...{ status: 201, code: "upstream_error", is_stream: true, usage_estimated: true, cost: 28 },
    ...{ prompt_tokens: 6, completion_tokens: 4, reply_bytes: Buffer.byteLength(text) },
  });
});

test("a caller who leaves during a stream has a row with its partial output and sent bytes", async () => {
  const app = await open({ settings: STUB, listens: true });
  const caller = new AbortController();
  const options = { signal: caller.signal };
  const reply = await app.chat("!say one two\n!stall", { stream: true }, options);
  const reader = reply.body!.getReader();
  let got = 0;
  for (let text = ""; !text.includes("two"); ) {
    const { value } = await reader.read();
    text += new TextDecoder().decode(value!);
    got += value!.length;
  }
  caller.abort();
  await app.logged("client_closed_request");
  const row = await readRow(app);
  expect(row).toMatchObject({
    ...{ status: 499, code: "client_closed_request", is_stream: true, completion_tokens: 2 },
    ...{ usage_estimated: true, reply_bytes: got },
  });
  expect(row.prompt_tokens).toBeGreaterThan(0);
  expect(row.cost).toBe(row.prompt_tokens! + 2);
});
const STUB = `[[models]]
id = "stub-1"
self_hosted = true
upstream = { kind = "stub" }
price = { prompt = "1.00", completion = "1.00" }`;

test("a caller of a real server who leaves during a stream costs an estimate", async () => {
  const body = `${writeFrame({ content: "Hello there, you" })}`;
  const stall = () =>
    new Response(
      new ReadableStream({
        pull: async (controller) => {
          controller.enqueue(new TextEncoder().encode(body));
          await new Promise(() => undefined);
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  const { app } = await openUpstream(stall, PRICE);
  const caller = new AbortController();
  const reply = await app.chat("Hello", { stream: true }, { signal: caller.signal });
  await reply.body!.getReader().read();
  caller.abort();
  await app.logged("client_closed_request");
  expect(await readRow(app)).toMatchObject({
    ...{ status: 499, prompt_tokens: 6, completion_tokens: 4, usage_estimated: true, cost: 28 },
  });
});

test("a caller who leaves before any output pays for the prompt, by an estimate", async () => {
  const asked = Promise.withResolvers<void>();
  const { app } = await openUpstream(() => {
    asked.resolve();
    return new Promise<Response>(() => undefined);
  }, PRICE);
  const caller = new AbortController();
  const answered = app.chat("Hello", {}, { signal: caller.signal }).catch(() => undefined);
  await asked.promise;
  caller.abort();
  await answered;
  await app.logged("client_closed_request");
  expect(await readRow(app)).toMatchObject({
    ...{ status: 499, attempts: 1, reply_bytes: 0, first_token_ms: null },
    ...{ prompt_tokens: 6, completion_tokens: 0, usage_estimated: true, cost: 12 },
  });
});

test("an impossible usage is replaced by an estimate", async () => {
  const usage = { prompt_tokens: 2 ** 52, completion_tokens: 1 };
  const { app } = await openUpstream(
    () => answerFrames([writeFrame({ content: "Hi" }, "stop", { usage }), DONE]),
    PRICE,
  );
  await (await app.chat("Hello", { stream: true })).text();
  const estimate = { prompt_tokens: 6, completion_tokens: 1, usage_estimated: true };
  expect(await readRow(app)).toMatchObject({ ...estimate, cost: 16, status: 201 });
});

test("an embedded error and an internal refusal have the code that the caller saw", async () => {
  const app = await open();
  const text = await (
    await app.chat("!say a\n!error rate_limit_exceeded", { stream: true })
  ).text();
  expect(text).toContain('"code":"upstream_error"');
  await (await app.chat("!say a\n!error upstream_timeout", { stream: true })).text();
  expect(await readRows(app)).toMatchObject([
    { status: 201, code: "upstream_error" },
    { status: 201, code: "upstream_timeout" },
  ]);
});
