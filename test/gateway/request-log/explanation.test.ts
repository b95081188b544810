// Tests that the explanation of each failed request, found by its id, tells what decided it.
import { afterEach, describe, expect, test } from "bun:test";
import type { LogEntry } from "../../../src/gateway/request-log/entry.ts";
import { explainEntry } from "../../../src/gateway/request-log/explanation.ts";
import { startApp } from "../../support/app.ts";
import { makeEntry } from "../../support/request-log.ts";
import {
  answerFrames,
  answerText,
  DONE,
  type Script,
  startUpstream,
  writeFrame,
} from "../../support/upstream.ts";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const NO_NAMES = { key: null, account: null };
const NAMES = { key: "laptop", account: "acme" };
const explain = (fields: Partial<LogEntry>) => explainEntry(makeEntry("1", fields), NAMES, "SAR");

const HELLO: Script = ({ body }) =>
  body.stream
    ? answerFrames([writeFrame({ content: "Hello" }, "stop"), DONE])
    : answerText("Hello");

/** An app with models of every kind on one server. */
async function open(script: Script = HELLO) {
  const upstream = startUpstream(script);
  endings.push(upstream.stop);
  const model = (id: string, more: string) => `
[[models]]
id = "${id}"
self_hosted = true
capabilities = ["streaming"]
${more}
upstream = { kind = "openai", urls = ["${upstream.url}"], first_token_timeout = "10s" }
`;
  const settings = `
[limits]
requests_per_minute = 20
${model("plain-1", "context_window = 4096\nmax_output_tokens = 2000")}
${model("private-1", 'visibility = "private"')}
`;
  const app = await startApp({ settings });
  endings.push(app.stop);
  const replica = new URL(upstream.url).host;
  return { ...app, upstream, replica };
}
type Opened = Awaited<ReturnType<typeof open>>;

interface Asked {
  fields?: object;
  content?: string;
  key?: string;
  signal?: AbortSignal;
}

/** Sends a chat whose id is `lost`; resolves with its reply's status and text. */
async function ask({ chat }: Opened, { fields = {}, content = "Hello", key, signal }: Asked = {}) {
  const headers = { "x-request-id": "lost" };
  const reply = await chat(content, fields, { headers, signal, ...(key && { key }) });
  return { status: reply.status, text: await reply.text() };
}

/** Finds the request by its id; returns its sentences without the first, which names the caller. */
async function explainLost({ app, clock }: Opened): Promise<string[]> {
  await clock.advance(25);
  const [found] = await app.admin.requests.explain("lost");
  expect(found!.request_id).toBe("lost");
  const [caller, ...sentences] = found!.explanation;
  expect(caller).toMatch(/^key "[^"]+" \([0-9a-f-]{36}\) of account "(dev|other)"$/);
  return sentences;
}

describe("a failure made on purpose is found by its request id", () => {
  test("an unknown model, after ids without a model have become errors", async () => {
    const app = await startApp({ start_ms: Date.UTC(2030, 0, 1) });
    endings.push(app.stop);
    const opened = { ...app, upstream: null as never, replica: "" };
    expect((await ask(opened, { fields: { model: "who-1" } })).status).toBe(404);
    expect(await explainLost(opened)).toEqual([
      'model asked "who-1"',
      "refused 404 model_not_found (model): There is no such model for this key.",
    ]);
  });

  test("a model that the account has no grant for", async () => {
    const opened = await open();
    const other = { key: "svc_sk_test-other", fields: { model: "private-1" } };
    expect((await ask(opened, other)).status).toBe(404);
    expect(await explainLost(opened)).toEqual([
      'model asked "private-1"',
      "refused 404 model_not_found (model): There is no such model for this key. " +
        "The model is internal, or private and not granted to the account.",
    ]);
  });

  test("a missing scope", async () => {
    const opened = await open();
    const none = { key: "svc_sk_test-none", fields: { think: true } };
    expect((await ask(opened, none)).status).toBe(403);
    expect(await explainLost(opened)).toEqual([
      "needs think: the key lacks a scope",
      'no model asked, so "plain-1"',
      "refused 403 scope_required (think): The key lacks a scope that this request needs. " +
        "This needs the scope think.",
    ]);
  });

  test("the rate limit", async () => {
    const opened = await open();
    for (let n = 0; n < 20; n++) await opened.chat("Hello");
    expect((await ask(opened)).status).toBe(429);
    expect(await explainLost(opened)).toEqual([
      "refused 429 rate_limit_exceeded: Too many requests: the rate limit is reached; wait as " +
        "long as Retry-After says.",
    ]);
  });

  test("an invalid field, without its value", async () => {
    const opened = await open();
    const { status, text } = await ask(opened, { fields: { temperature: "a secret" } });
    expect([status, text.includes("a secret")]).toEqual([400, true]);
    expect(await explainLost(opened)).toEqual([
      "refused 400 invalid_request (temperature): The request is not valid. " +
        "`temperature` must be a number from 0 to 2.",
    ]);
  });

  test("a prompt that exceeds the context window", async () => {
    const opened = await open();
    const { status } = await ask(opened, { content: "rain ".repeat(5_000) });
    expect(status).toBe(400);
    expect(await explainLost(opened)).toEqual([
      'no model asked, so "plain-1"',
      "output of up to 1024 tokens, the model's default",
      "refused 400 context_length_exceeded (messages): The request exceeds the context window: " +
        "this model's maximum context length is 4096 tokens, but the messages and a reply of up " +
        "to 1024 tokens need more (context_length_exceeded).",
    ]);
  });

  test("a model server that answers 500", async () => {
    const opened = await open(() => new Response("secret words", { status: 500 }));
    const { status } = await ask(opened, { fields: { model: "plain-1", max_tokens: 5_000 } });
    expect(status).toBe(502);
    expect(await explainLost(opened)).toEqual([
      'model asked "plain-1"',
      "output limited to 2000 tokens by the model's cap (5000 asked)",
      `replica ${opened.replica} was asked`,
      "failed 502 upstream_error: The model server failed or answered invalidly. " +
        "[it answered with status 500]",
    ]);
  });

  test("a model server that cuts its stream", async () => {
    const opened = await open(() => answerFrames([writeFrame({ content: "Hello there" })]));
    const { status, text } = await ask(opened, { fields: { stream: true, max_tokens: 100 } });
    expect([status, text.includes("upstream_error")]).toEqual([201, true]);
    expect(await explainLost(opened)).toEqual([
      'no model asked, so "plain-1"',
      "output of up to 100 tokens, as asked",
      `replica ${opened.replica} began to answer, first token after 0 ms`,
      "read 6 tokens and wrote 3 by an estimate, at an unknown cost",
      "failed inside the stream after 0 ms with upstream_error: The model server failed or " +
        "answered invalidly. [its stream ended in the middle]",
    ]);
  });

  test("a model server that does not answer in time", async () => {
    const asked = Promise.withResolvers<void>();
    const opened = await open(() => {
      asked.resolve();
      return new Promise<Response>(() => undefined);
    });
    const answered = ask(opened);
    await asked.promise;
    await opened.clock.advance(10_000);
    expect((await answered).status).toBe(504);
    expect(await explainLost(opened)).toEqual([
      'no model asked, so "plain-1"',
      "output of up to 1024 tokens, the model's default",
      `replica ${opened.replica} was asked`,
      "read 6 tokens and wrote 0 by an estimate, at an unknown cost",
      "failed 504 upstream_timeout: The model server did not answer in time. [no answer in time]",
    ]);
  });

  test("a caller that leaves", async () => {
    const asked = Promise.withResolvers<void>();
    const opened = await open(() => {
      asked.resolve();
      return new Promise<Response>(() => undefined);
    });
    const caller = new AbortController();
    const answered = ask(opened, { signal: caller.signal }).catch(() => undefined);
    await asked.promise;
    await opened.clock.advance(70);
    caller.abort();
    await answered;
    await opened.logged("client_closed_request");
    expect(await explainLost(opened)).toEqual([
      'no model asked, so "plain-1"',
      "output of up to 1024 tokens, the model's default",
      `replica ${opened.replica} was asked`,
      "read 6 tokens and wrote 0 by an estimate, at an unknown cost",
      "499 client_closed_request: the caller left after 70 ms",
    ]);
  });

  test("a blocked model", async () => {
    const opened = await open();
    await opened.app.admin.models.turn("plain-1", "block");
    expect((await ask(opened, { fields: { model: "plain-1" } })).status).toBe(503);
    expect(await explainLost(opened)).toEqual([
      'model asked "plain-1"',
      "failed 503 model_unavailable: The model cannot be served now. The model is blocked.",
    ]);
  });

  test("no connection to the model server", async () => {
    const opened = await open();
    await opened.upstream.stop();
    expect((await ask(opened)).status).toBe(502);
    expect((await explainLost(opened)).slice(-2)).toEqual([
      `replica ${opened.replica} was asked`,
      "failed 502 upstream_error: The model server failed or answered invalidly. " +
        "[the connection was refused]",
    ]);
  });
});

test("a reply tells its model, budget, replica and usage", async () => {
  const opened = await open();
  await ask(opened, { fields: { model: "gpt-9" } });
  expect(await explainLost(opened)).toEqual([
    'model asked "gpt-9", served "plain-1"',
    "output of up to 1024 tokens, the model's default",
    `replica ${opened.replica} answered`,
    "read 7 tokens and wrote 3, at an unknown cost",
    "ended 201 stop after 0 ms",
  ]);
});

describe("sentences", () => {
  test("a key without a name or an account is named by its id", () => {
    const [caller] = explainEntry(makeEntry("1", { account_id: null }), NO_NAMES, "SAR");
    expect(caller).toBe("key k-1 without an account");
    const [gone] = explainEntry(makeEntry("1"), NO_NAMES, "SAR");
    expect(gone).toBe("key k-1 of account a-1");
  });

  test("a round of a run names the run", () => {
    const run = { run_id: "r-1", agent_id: "g-1", agent_version: 3 };
    expect(explain(run)[0]).toBe(
      'key "laptop" (k-1) of account "acme", in the run r-1 of agent g-1, version 3',
    );
  });

  test("a chat of the playground names its operator", () => {
    expect(explain({ sent_by_operator: "noura" })[0]).toBe(
      'key "laptop" (k-1) of account "acme", sent from the playground by the operator "noura"',
    );
  });

  test("a failure inside a stream tells who began to answer; one before it asked nobody", () => {
    const why = { model_asked: "gpt-9", code: "upstream_error", reason: "it broke" };
    const begun = explain({ ...why, status: 201, attempts: 2, first_token_ms: 85 });
    expect([begun[1], ...begun.slice(-3)]).toEqual([
      'model asked "gpt-9", served "stub-1"',
      "replica 10.0.0.5:8000, the last of 2, began to answer, first token after 85 ms",
      "read 10 tokens and wrote 5, at a cost of 0.000020 SAR",
      "failed inside the stream after 12 ms with upstream_error: " +
        "The model server failed or answered invalidly. [it broke]",
    ]);
    const unasked = { model_asked: "gpt-9", code: "permission_denied", status: 403 };
    expect(explain({ ...unasked, attempts: null })[1]).toBe(
      'model asked "gpt-9", which means "stub-1"',
    );
  });

  test("a wait, several attempts and a cut reply are told", () => {
    const told = explain({
      ...{ waited_ms: 120, attempts: 3, first_token_ms: 85, finish_reason: "length" },
      ...{ max_tokens: 400, max_tokens_asked: 8_192, max_tokens_by: "key" },
      ...{ scope: "reasoning think", usage_estimated: true, cost: null },
      ...{ in_flight: 32, in_flight_max: 32, gateway_us: 312 },
    });
    expect(told).toEqual([
      'key "laptop" (k-1) of account "acme"',
      "needs reasoning and think",
      'model asked "stub-1"',
      "output limited to 400 tokens by the key (8192 asked)",
      "waited 120 ms for a place or a server's start, then 32 of 32 places were in use with it",
      "replica 10.0.0.5:8000, the last of 3, answered, first token after 85 ms",
      "read 10 tokens and wrote 5 by an estimate, at an unknown cost",
      "ended 201 length after 12 ms, 0.312 ms of them the gateway's own: the output's limit was reached",
    ]);
  });

  test("the cap of every reply, and one that cuts a default", () => {
    const budgets = [
      { max_tokens: 8_192, max_tokens_asked: 9_000, max_tokens_by: "service" },
      { max_tokens: 300, max_tokens_asked: null, max_tokens_by: "key" },
    ] as const;
    expect(budgets.map((budget) => explain(budget)[2])).toEqual([
      "output limited to 8192 tokens by the cap of every reply (9000 asked)",
      "output limited to 300 tokens by the key",
    ]);
  });

  test("a cost has its currency", () => {
    const told = explainEntry(makeEntry("1"), NAMES, "USD");
    expect(told).toContain("read 10 tokens and wrote 5, at a cost of 0.000020 USD");
  });

  test("a search has no model, and an unasked server is told", () => {
    const search = explain({
      ...{ route: "search", scope: "search", model_asked: null, model: null, max_tokens: null },
      ...{ prompt_tokens: null, completion_tokens: null, cost: null, attempts: 0, replica: null },
      ...{ code: "service_unavailable", status: 503, finish_reason: null },
      ...{ reason: "it is not asked, for it told us to wait" },
    });
    expect(search.slice(1)).toEqual([
      "needs search",
      "no server was asked",
      "failed 503 service_unavailable: The service cannot take the request now. " +
        "[it is not asked, for it told us to wait]",
    ]);
  });

  test("a code of a later program has no sentence", () => {
    expect(explain({ code: "new_code", status: 418 }).at(-1)).toBe("refused 418 new_code");
  });
});
