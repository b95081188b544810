// Tests the routes of Anthropic's format: replies, keys, refusals, limits and rows of the log.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AskOptions, KEY, startApp, type TestApp } from "../../support/app.ts";
import { readRequestLog } from "../../support/request-log.ts";
import { OPEN, readError, readEvents } from "./fixture.ts";

const UNLIMITED = "[limits]\nrequests_per_minute = 1_000_000\n";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: OPEN + UNLIMITED });
});
afterAll(() => app.stop());

const ask = (content: unknown, fields: object = {}, options: AskOptions = {}) =>
  app.post(
    "/v1/messages",
    { max_tokens: 50, messages: [{ role: "user", content }], ...fields },
    options,
  );
const TOOL = { name: "now", description: "The time.", input_schema: { type: "object" } };

describe("POST /v1/messages", () => {
  test("answers 200 with a message, and sends `request-id` beside our header", async () => {
    const headers = { "x-request-id": "of-mine" };
    const reply = await ask("Hello", {}, { headers });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("request-id")).toBe("of-mine");
    expect(reply.headers.get("x-request-id")).toBe("of-mine");
    expect(await reply.json()).toEqual({
      ...{ id: expect.stringMatching(/^msg_/), type: "message", role: "assistant", model: "svc" },
      content: [{ type: "text", text: "You said: Hello", citations: null }],
      ...{ stop_reason: "end_turn", stop_sequence: null, stop_details: null },
      ...{ container: null, diagnostics: null },
      usage: {
        ...{ input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
        ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
        ...{ output_tokens_details: null, server_tool_use: null, cache_creation: null },
        ...{ inference_geo: null, service_tier: null, speed: null },
      },
    });
  });

  test("takes the key as `x-api-key` or as a bearer token, and the former before the latter", async () => {
    const own = await ask("Hello", {}, { key: null, headers: { "x-api-key": KEY } });
    expect(own.status).toBe(200);
    const wrong = await ask("Hello", {}, { headers: { "x-api-key": "svc_sk_other" } });
    expect(await readError(wrong)).toMatchObject([401, { code: "invalid_api_key" }]);
    const empty = await ask("Hello", {}, { headers: { "x-api-key": "" } });
    expect(empty.status).toBe(200);
    const none = await ask("Hello", {}, { key: null });
    expect(await readError(none)).toMatchObject([401, { code: "missing_api_key" }]);
    // Other routes keep to their own way.
    const chat = await app.chat("Hello", {}, { key: null, headers: { "x-api-key": KEY } });
    expect(chat.status).toBe(401);
  });

  test("arguments that are no JSON come as a text, which is sent back unchanged", async () => {
    const cut = '!tool now {"zone":"Asia/Riyadh"}';
    const reply = await ask(cut, { tools: [TOOL], max_tokens: 3 });
    const { content } = (await reply.json()) as { content: { id: string; input: unknown }[] };
    const { id, input } = content[0]!;
    expect(input).toStartWith('{"zo');
    const result = { type: "tool_result", tool_use_id: id, content: "noon" };
    const messages = [
      { role: "user", content: "When?" },
      { role: "assistant", content },
      { role: "user", content: [result] },
    ];
    const answered = await ask("", { messages, tools: [TOOL] });
    expect(await answered.json()).toMatchObject({ content: [{ text: "now answered: noon" }] });
  });

  test("only the first call is returned where the caller disables parallel ones", async () => {
    const calls = "!tool now {}\n!tool now {}";
    const tool_choice = { type: "auto", disable_parallel_tool_use: true };
    const one = await ask(calls, { tools: [TOOL], tool_choice });
    expect(((await one.json()) as { content: unknown[] }).content).toHaveLength(1);
    const two = await ask(calls, { tools: [TOOL] });
    expect(((await two.json()) as { content: unknown[] }).content).toHaveLength(2);
  });

  test.each([
    ["!finish length", "max_tokens"],
    ["!finish content_filter", "refusal"],
    ["!tool now {}", "tool_use"],
    ["!say Hi", "end_turn"],
  ])("%s ends with the reason %s", async (line, stop_reason) => {
    const reply = await ask(`${line}\n!say x`, { tools: [TOOL] });
    expect(await reply.json()).toMatchObject({ stop_reason });
  });

  test("a stop sequence ends the reply before it, and is named", async () => {
    const fields = { stop_sequences: ["four", "two"] };
    const end = { stop_reason: "stop_sequence", stop_sequence: "two" };
    const reply = await ask("one two three", fields);
    expect(await reply.json()).toMatchObject({ content: [{ text: "You said: one " }], ...end });
    const stream = await ask("one two three", { ...fields, stream: true });
    expect(readEvents(await stream.text()).at(-2)).toMatchObject({ delta: end });
  });

  test("`max_tokens` is required, and a model's limit lowers it", async () => {
    const missing = await ask("Hello", { max_tokens: undefined });
    expect(await readError(missing)).toEqual([
      400,
      {
        type: "invalid_request_error",
        message: "`max_tokens` is required.",
        code: "invalid_request",
        param: "max_tokens",
        details: { error_code: "invalid_request" },
      },
    ]);
    expect((await ask("Hello", { max_tokens: 1_000_000 })).status).toBe(200);
    const short = await ask("one two three four", { max_tokens: 2 });
    expect(await short.json()).toMatchObject({
      stop_reason: "max_tokens",
      usage: { output_tokens: 2 },
    });
  });

  test.each<[object, string, RegExp]>([
    [{ container: "c-1" }, "container", /runs no containers/],
    [{ mcp_servers: [{ type: "url" }] }, "mcp_servers", /MCP servers/],
    [{ thread: { id: "t-1" } }, "thread", /keeps no messages/],
    [{ tools: [{ type: "web_search_20250305", name: "s" }] }, "tools.0.type", /the caller runs/],
    [{ tools: [{ type: "bash_20250124", name: "bash" }] }, "tools.0.type", /the caller runs/],
    [{ tools: [{ name: "now" }] }, "tools.0.input_schema", /required/],
    [{ tool_choice: { type: "any" } }, "tool_choice", /needs `tools`/],
    [{ tools: [TOOL], tool_choice: { type: "tool", name: "x" } }, "tool_choice", /not in `tools`/],
    [{ stop_sequences: ["a", "b", "c", "d", "e"] }, "stop_sequences", /at most 4/],
    [{ stop_sequences: [""] }, "stop_sequences.0", /1 to 256/],
    [{ max_tokens: 0 }, "max_tokens", /1/],
    [{ temperature: 3 }, "temperature", /0 to 2/],
    [{ top_p: 2 }, "top_p", /0 to 1/],
    [{ metadata: { user_id: "x".repeat(257) } }, "metadata.user_id", /256/],
    [{ messages: [] }, "messages", /at least 1/],
    [{ messages: [{ role: "tool", content: "x" }] }, "messages.0.role", /user/],
    [
      { messages: [{ role: "user", content: [{ type: "document", source: {} }] }] },
      "messages.0.content.0.type",
      /"text", "image", "tool_result"/,
    ],
    [
      { messages: [{ role: "assistant", content: [{ type: "server_tool_use" }] }] },
      "messages.0.content.0.type",
      /"tool_use"/,
    ],
    [
      {
        messages: [
          { role: "user", content: [{ type: "image", source: { type: "file", file_id: "f" } }] },
        ],
      },
      "messages.0.content.0.source.type",
      /"base64", "url"/,
    ],
    [
      {
        messages: [
          {
            role: "user",
            content: [
              {
                type: "image",
                source: { type: "base64", media_type: "image/png", data: "no base64" },
              },
            ],
          },
        ],
      },
      "messages.0.content.0.source.data",
      /must be base64/,
    ],
  ])("%j is refused at %s", async (fields, param, sentence) => {
    const reply = await ask("Hello", fields);
    expect(await readError(reply)).toEqual([
      400,
      {
        type: "invalid_request_error",
        message: expect.stringMatching(sentence),
        code: "invalid_request",
        param,
        details: { error_code: expect.any(String) },
      },
    ]);
  });

  test("a refused `thread` is told by the code on which clients go on without one", async () => {
    const reply = await ask("Hello", { thread: { type: "create" } });
    const error_code = "thread_unsupported_request";
    expect(await readError(reply)).toMatchObject([
      400,
      { code: "invalid_request", details: { error_code } },
    ]);
  });

  test("null and empty ones of those are none, and unlisted fields are ignored", async () => {
    const none = { container: null, mcp_servers: [], thread: null, tools: [] };
    const unlisted = { service_tier: "auto", cache_control: { type: "ephemeral" }, inference: 1 };
    const reply = await ask("Hello", { ...none, ...unlisted, thinking: { type: "disabled" } });
    expect([reply.status, reply.headers.get("x-wadi-ignored")]).toEqual([200, null]);
  });

  test("ignored fields that change replies elsewhere are named", async () => {
    const thinking = { type: "enabled", budget_tokens: 1024 };
    const keyless = { key: `${KEY}-none` };
    const both = await ask("Hello", { top_k: 5, thinking }, keyless);
    expect([both.status, both.headers.get("x-wadi-ignored")]).toEqual([200, "top_k, thinking"]);
    const reasons = await ask("Hello", { thinking });
    expect([reasons.status, reasons.headers.get("x-wadi-ignored")]).toEqual([200, null]);
  });

  test("an unknown model is answered or counted by the default one, marked as in a chat", async () => {
    const reply = await ask("Hello", { model: "claude-opus" });
    expect([reply.status, reply.headers.get("deprecation")]).toEqual([200, "@1790467200"]);
    const failed = await ask("!error upstream_error", { model: "claude-opus" });
    expect([failed.status, failed.headers.get("deprecation")]).toEqual([500, "@1790467200"]);
    const messages = [{ role: "user", content: "Hello" }];
    const asked = { model: "claude-opus", messages };
    const count = await app.post("/v1/messages/count_tokens", asked);
    expect([count.status, count.headers.get("deprecation")]).toEqual([200, "@1790467200"]);
  });

  test("a body over 256 KB is refused in the dialect", async () => {
    const reply = await ask("x".repeat(300_000));
    expect(await readError(reply)).toMatchObject([
      413,
      { type: "request_too_large", code: "request_too_large" },
    ]);
  });

  test("a body that is no JSON is refused in the dialect, with both ids", async () => {
    const reply = await app.post("/v1/messages", "{", {});
    expect(reply.status).toBe(400);
    expect(await reply.json()).toEqual({
      type: "error",
      error: {
        type: "invalid_request_error",
        message: expect.any(String),
        code: "invalid_request",
        details: { error_code: "invalid_request" },
      },
      request_id: reply.headers.get("request-id"),
    });
  });
});

describe("a stream of POST /v1/messages", () => {
  test("has the events in their order, ends with message_stop, and is a stream of 200", async () => {
    const reply = await ask("!say One.\n!tool now {}", { stream: true, tools: [TOOL] });
    expect([reply.status, reply.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
    expect(reply.headers.get("request-id")).toBe(reply.headers.get("x-request-id"));
    const events = readEvents(await reply.text());
    expect(events.map(({ type }) => type)).toEqual([
      ...["message_start", "content_block_start", "content_block_delta", "content_block_stop"],
      ...["content_block_start", "content_block_delta", "content_block_stop"],
      ...["message_delta", "message_stop"],
    ]);
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" } });
  });

  test("sends a ping every 15 seconds of silence, behind message_start", async () => {
    const reply = ask("!delay 40s\n!say Hi", { stream: true });
    await app.clock.advance(40_000);
    const types = readEvents(await (await reply).text()).map(({ type }) => type);
    expect(types.slice(0, 4)).toEqual(["message_start", "ping", "ping", "content_block_start"]);
  });

  test("breaks off with an error event that has our code, and nothing behind it", async () => {
    const headers = { "x-request-id": "broken" };
    const reply = await ask("!say So\n!error upstream_error", { stream: true }, { headers });
    const events = readEvents(await reply.text());
    expect(events.at(-1)).toEqual({
      type: "error",
      error: {
        type: "api_error",
        message: "The model server failed or answered invalidly.",
        code: "upstream_error",
        details: { error_code: "upstream_error" },
      },
      request_id: "broken",
    });
  });
});

describe("the statuses and kinds of the dialect, with our codes inside", () => {
  test.each([
    ["context_length_exceeded", 400, "invalid_request_error"],
    ["invalid_api_key", 401, "authentication_error"],
    ["permission_denied", 403, "permission_error"],
    ["scope_required", 403, "permission_error"],
    ["model_not_permitted", 403, "permission_error"],
    ["model_not_found", 404, "not_found_error"],
    ["rate_limit_exceeded", 429, "rate_limit_error"],
    ["upstream_rate_limited", 529, "overloaded_error"],
    ["internal_error", 500, "api_error"],
    ["upstream_error", 500, "api_error"],
    ["model_unavailable", 500, "api_error"],
    ["model_offline", 529, "overloaded_error"],
    ["no_model_available", 529, "overloaded_error"],
    ["service_unavailable", 529, "overloaded_error"],
    ["upstream_timeout", 504, "timeout_error"],
  ])("%s is %i %s", async (code, status, type) => {
    for (const stream of [false, true]) {
      const reply = await ask(`!error ${code}`, { model: "stub-1", stream });
      expect(await readError(reply)).toMatchObject([status, { type, code }]);
    }
  });
});

test("without the setting there is no such path, in the gateway's own envelope", async () => {
  const closed = await startApp();
  for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
    const reply = await closed.post(path, { max_tokens: 1, messages: [] });
    expect(await reply.json()).toMatchObject({ error: { code: "not_found" }, statusCode: 404 });
  }
  await closed.stop();
});

test("messages, counts and chats of an account share the limit of chats", async () => {
  const limited = await startApp({ settings: `${OPEN}[limits]\nrequests_per_minute = 3\n` });
  const messages = [{ role: "user", content: "Hello" }];
  expect((await limited.chat("Hello")).status).toBe(201);
  expect((await limited.post("/v1/messages", { max_tokens: 9, messages })).status).toBe(200);
  expect((await limited.post("/v1/messages/count_tokens", { messages })).status).toBe(200);
  const refused = await limited.post("/v1/messages", { max_tokens: 9, messages });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
  expect((await limited.chat("Hello")).status).toBe(429);
  await limited.stop();
});

test("a message has a row in the request log like a chat's, with the status that was sent", async () => {
  const logged = await startApp({ settings: OPEN });
  const messages = [{ role: "user", content: "Hello" }];
  await logged.post("/v1/messages", { max_tokens: 9, messages, model: "stub-1" });
  const broken = [{ role: "user", content: "!error upstream_error" }];
  await logged.post("/v1/messages", { max_tokens: 9, messages: broken });
  await logged.post("/v1/messages/count_tokens", { messages });
  await logged.clock.advance(25);
  expect(await readRequestLog(logged.app.database).entries()).toMatchObject([
    {
      ...{ route: "chat", status: 200, code: null, model_asked: "stub-1", model: "stub-1" },
      ...{ max_tokens_asked: 9, finish_reason: "stop", prompt_tokens: expect.any(Number) },
    },
    { route: "chat", status: 500, code: "upstream_error" },
  ]);
  await logged.stop();
});
