// Tests the JSON response, and that a response is subject to all that a chat is.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readSettings } from "../../../src/settings/index.ts";
import { createKey } from "../../spec/gateway/keys.ts";
import { startApp } from "../../support/app.ts";
import { readRequestLog } from "../../support/request-log.ts";
import { answerText } from "../../support/upstream.ts";
import { openBudgetFront } from "../budgets/fixture.ts";
import {
  answerCalls,
  EVERY,
  OPEN,
  openResponses,
  PATH,
  type ResponsesFront,
  readError,
  readEvents,
  readResponse,
  WEATHER,
} from "./fixture.ts";

let front: ResponsesFront;
beforeAll(async () => {
  front = await openResponses({ model: `capabilities = ${EVERY}` });
});
afterAll(() => front.stop());

const ask = async (body: object) => readResponse(await front.respond(body));

describe("a response", () => {
  test("holds the text as one message, the usage and the alias", async () => {
    const response = await ask({ input: "Hello", model: "test-1" });
    expect(response).toMatchObject({
      object: "response",
      ...{ status: "completed", model: "svc", error: null, incomplete_details: null },
      output: [
        {
          ...{ type: "message", status: "completed", role: "assistant" },
          content: [{ type: "output_text", text: "Hello", annotations: [], logprobs: [] }],
        },
      ],
      usage: {
        ...{ input_tokens: 7, output_tokens: 3, total_tokens: 10 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    });
    expect(response.id).toMatch(/^resp_\w{24}$/);
    const now = Math.floor(front.clock.now() / 1000);
    expect([response.created_at, response.completed_at]).toEqual([now, now]);
    await front.clock.advance(1_999 - (front.clock.now() % 1_000));
    const late = await readResponse(await front.respond({ input: "Hello" }));
    expect(front.clock.now() % 1_000).toBe(999);
    expect([late.created_at, late.completed_at]).toEqual([now + 1, now + 1]);
  });

  test("holds each call as an item behind the text", async () => {
    front.upstream.script = () => answerCalls("One moment.", "get_weather", "get_weather");
    const { output } = await ask({ input: "?", tools: [WEATHER] });
    const called = { type: "function_call", name: "get_weather", arguments: '{"city":"Sur"}' };
    expect(output).toMatchObject([
      { type: "message", content: [{ text: "One moment." }] },
      { ...called, call_id: "call_0", status: "completed" },
      { ...called, call_id: "call_1", status: "completed" },
    ]);
    expect(new Set(output.map(({ id }) => id)).size).toBe(3);
    front.upstream.script = () => answerCalls(null, "get_weather");
    expect((await ask({ input: "?", tools: [WEATHER] })).output).toHaveLength(1);
    front.upstream.script = () => answerText("Hello");
  });

  test("`store: true` is answered false", async () => {
    expect((await ask({ input: "Hello", store: true })).store).toBe(false);
  });

  test("gives back what was sent", async () => {
    const sent = {
      ...{ instructions: "Be brief.", temperature: 0.5, top_p: 0.4, max_output_tokens: 9_000 },
      ...{ presence_penalty: 0.3, frequency_penalty: 0.2, parallel_tool_calls: false },
      ...{ metadata: { a: "b" }, safety_identifier: "u-1", prompt_cache_key: "k-1" },
      ...{ tools: [WEATHER], tool_choice: "auto", text: { format: { type: "json_object" } } },
    };
    expect(await ask({ input: "Hello", ...sent })).toMatchObject(sent);
    const allowed = { type: "allowed_tools", tools: [{ type: "function", name: WEATHER.name }] };
    const some = await ask({ input: "Hello", tools: [WEATHER], tool_choice: allowed });
    expect(some.tool_choice).toEqual({ ...allowed, mode: "auto" });
  });

  test("a reply that the budget cut is incomplete", async () => {
    front.upstream.script = async () => {
      const reply = (await answerText("Hel").json()) as { choices: { finish_reason: string }[] };
      reply.choices[0]!.finish_reason = "length";
      return Response.json(reply);
    };
    expect(await ask({ input: "Hello" })).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "incomplete" }],
    });
    front.upstream.script = () => answerText("Hello");
  });
});

describe("a response is subject to what a chat is", () => {
  test("its key", async () => {
    const reply = await front.respond({ input: "Hello" }, { key: "svc_sk_unknown" });
    expect(await readError(reply)).toEqual([401, "invalid_api_key", null]);
    const none = await front.respond({ input: "Hello" }, { key: null });
    expect(await readError(none)).toEqual([401, "missing_api_key", null]);
  });

  test("the key's model list and output cap", async () => {
    const other = await createKey(front, { models: ["other"] });
    const refused = await front.respond({ input: "Hello" }, { key: other });
    expect(await readError(refused)).toEqual([403, "model_not_permitted", "model"]);
    const capped = await createKey(front, { max_output_tokens: 5 });
    await readResponse(await front.respond({ input: "Hello" }, { key: capped }));
    expect(front.last().body.max_tokens).toBe(5);
  });

  test("the deprecation of unknown models", async () => {
    const reply = await front.respond({ input: "Hello", model: "gpt-5" });
    expect(reply.headers.get("deprecation")).toStartWith("@");
    await readResponse(reply);
    const invalid = await front.respond({ input: "Hello", model: "gpt-5", temperature: 9 });
    expect(invalid.headers.get("deprecation")).toBeNull();
    const { script } = front.upstream;
    front.upstream.script = () => new Response(null, { status: 500 });
    const failed = await front.respond({ input: "Hello", model: "gpt-5" });
    front.upstream.script = script;
    expect([failed.status, failed.headers.has("deprecation")]).toEqual([502, true]);
  });

  test("the rate limit of chats, on whose counter it counts", async () => {
    await using own = await startOwn({ ...OPEN, WADI_LIMITS__REQUESTS_PER_MINUTE: "2" });
    expect((await own.chat("Hello")).status).toBe(201);
    expect((await own.post(PATH, { input: "Hello" })).status).toBe(200);
    const refused = await own.post(PATH, { input: "Hello" });
    expect(refused.headers.get("retry-after")).toBe("60");
    expect(await readError(refused)).toEqual([429, "rate_limit_exceeded", null]);
    expect((await own.chat("Hello")).status).toBe(429);
    expect((await own.get("/v1/models")).status).toBe(200);
  });

  test("the request log, as a row of a chat, for JSON and for a stream", async () => {
    await using own = await startOwn();
    await readResponse(await own.post(PATH, { input: "Hello", user: "u-1" }));
    await readEvents(await own.post(PATH, { input: "Hello", stream: true, model: "stub-1" }));
    await readError(await own.post(PATH, { input: "Hello", temperature: 9 }));
    await own.clock.advance(5_000);
    const rows = await readRequestLog(own.app.database).entries();
    const picked = rows.map(({ route, status, is_stream, code, param, model_asked }) => {
      return [route, status, is_stream, code, param, model_asked];
    });
    expect(picked).toEqual([
      ["chat", 200, false, null, null, null],
      ["chat", 200, true, null, null, "stub-1"],
      ["chat", 400, false, "invalid_request", "temperature", null],
    ]);
    for (const row of rows.slice(0, 2)) {
      expect(row.completion_tokens).toBeGreaterThan(0);
      expect(row.cost).toBeGreaterThan(0);
      expect(row.reply_bytes).toBeGreaterThan(0);
    }
  });

  test("the budgets of its account", async () => {
    await using own = await openBudgetFront({ env: OPEN });
    await own.limit({ tokens_minute: 100 });
    const respond = (max_output_tokens: number) =>
      own.post(PATH, { input: "Hello", max_output_tokens }, { key: own.key });
    const { usage } = await readResponse(await respond(90));
    expect(await own.used()).toMatchObject({ requests: 1, tokens: usage!.total_tokens });
    expect(await readError(await respond(1))).toEqual([429, "rate_limit_exceeded", null]);
  });
});

describe("the setting `gateway.responses`", () => {
  const headers = { "x-request-id": "r-1" };

  test("is off by default: the path is unknown, byte for byte", async () => {
    await using own = await startOwn({});
    const reply = await own.post(PATH, { input: "Hello" }, { headers });
    const unknown = await own.post("/v1/unknown", { input: "Hello" }, { headers });
    expect([reply.status, await reply.text()]).toEqual([404, await unknown.text()]);
  });

  test("opens and closes the route by a reload", async () => {
    await using own = await startOwn({});
    const ask = async () => (await own.post(PATH, { input: "Hello" })).status;
    await own.app.change(readSettings("", "wadi.toml", OPEN, { "server.port": 0 }));
    expect(await ask()).toBe(200);
    await own.app.change(readSettings("", "wadi.toml", {}, { "server.port": 0 }));
    expect(await ask()).toBe(404);
  });
});

async function startOwn(env: Record<string, string> = OPEN) {
  const app = await startApp({ env });
  return { ...app, [Symbol.asyncDispose]: () => app.stop() };
}
