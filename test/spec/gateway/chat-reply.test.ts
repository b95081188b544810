// The JSON reply of a chat, and the whole way of a tool call.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../../support/app.ts";
import { answerText, USAGE } from "../../support/upstream.ts";
import { type Front, startFront } from "./front.ts";

interface Reply {
  choices: { message: { tool_calls?: { id: string }[] }; finish_reason: string }[];
}

let front: Front;
let stub: TestApp;
beforeAll(async () => {
  front = await startFront();
  stub = await startApp();
});
afterAll(async () => {
  await front.stop();
  await stub.stop();
});

const user = (content: string) => ({ role: "user", content });
const TOOLS = ["get_weather", "add"].map((name) => ({
  type: "function",
  function: { name, description: "A tool.", parameters: { type: "object" } },
}));

/** The model server's reply to the next request. */
async function answer(message: object, finish_reason = "stop", more: object = {}) {
  front.upstream.script = () =>
    Response.json({ choices: [{ index: 0, message, finish_reason }], usage: USAGE, ...more });
  const response = await front.chat("Hello");
  return { response, reply: (await response.json()) as Reply };
}

describe("a reply", () => {
  test("gateway.does.1 gateway.endpoints.post_chat_completions gateway.resources.reply.p1 has exactly these fields", async () => {
    const { response, reply } = await answer({ role: "assistant", content: "Hi" });
    expect(response.status).toBe(201);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(response.headers.get("x-request-id")).toBeString();
    expect(reply as unknown).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9A-Za-z]{24}$/),
      object: "chat.completion",
      created: Math.floor(front.clock.now() / 1000),
      model: "svc",
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      usage: USAGE,
    });
  });

  test("contains nothing else of the model server's", async () => {
    const message = {
      role: "assistant",
      content: "42",
      reasoning: "secret",
      reasoning_content: "secret",
      thinking: "secret",
      refusal: null,
      audio: null,
      tool_calls: [],
      function_call: null,
    };
    const more = {
      id: "upstream-id",
      model: "upstream-model",
      system_fingerprint: "fp",
      service_tier: "x",
      prompt_logprobs: null,
      choices: [{ index: 4, message, finish_reason: "stop", logprobs: {}, stop_reason: 1 }],
    };
    const { reply } = await answer({}, "stop", more);
    expect(reply.choices as unknown).toEqual([
      { index: 0, message: { role: "assistant", content: "42" }, finish_reason: "stop" },
    ]);
    expect(Object.keys(reply)).toEqual(["id", "object", "created", "model", "choices", "usage"]);
    expect(JSON.stringify(reply)).not.toMatch(/secret|upstream|fp/);
  });

  test("gateway.resources.reply.p2 its model is the alias, whatever was requested", async () => {
    front.upstream.script = () => answerText("Hi");
    for (const model of ["svc", "svc-v0", "test-1", "gpt-4o"]) {
      expect(await (await front.chat("Hello", { model })).json()).toMatchObject({ model: "svc" });
    }
    const aliased = await startApp({ settings: '[service]\nalias = "acme"\n' });
    const reply = await (await aliased.chat("Hello", { model: "stub-1" })).json();
    expect(reply).toMatchObject({ model: "acme" });
    await aliased.stop();
  });

  test("gateway.resources.reply.p3 has the finish reason `stop`, `tool_calls`, or another one of the server", async () => {
    const reason = async (...args: Parameters<typeof answer>) =>
      (await answer(...args)).reply.choices[0]!.finish_reason;
    const tool_calls = [{ id: "c", type: "function", function: { name: "add", arguments: "{}" } }];
    expect(await reason({ content: "Hi" })).toBe("stop");
    expect(await reason({ content: null, tool_calls }, "tool_calls")).toBe("tool_calls");
    expect(await reason({ content: null, tool_calls }, "stop")).toBe("tool_calls");
    expect(await reason({ content: "Hi" }, "length")).toBe("length");
    expect(await reason({ content: "" }, "content_filter")).toBe("content_filter");
  });

  test("gateway.resources.message.content gateway.resources.tool_call.p1 has null content beside calls alone", async () => {
    const tool_calls = [
      { id: "c", type: "function", function: { name: "add", arguments: '{"x":1}' } },
      { id: "d", type: "function", function: { name: "add", arguments: "{}" } },
    ];
    const calls = await answer({ content: null, tool_calls }, "tool_calls");
    expect(calls.reply.choices[0]!.message).toEqual({
      role: "assistant",
      content: null,
      tool_calls,
    } as object);
    const both = await answer({ content: "Wait.", tool_calls }, "tool_calls");
    expect(both.reply.choices[0]!.message).toMatchObject({ content: "Wait.", tool_calls });
    const nothing = await answer({ content: null });
    expect(nothing.reply.choices[0]!.message).toEqual({
      role: "assistant",
      content: "",
    } as object);
  });

  test("gateway.resources.usage.p1 has a usage of whole numbers that add up, even if the server reports none", async () => {
    const { reply } = await answer({ content: "Hello there" }, "stop", { usage: null });
    const { usage } = reply as Reply & { usage: Record<string, number> };
    const { prompt_tokens, completion_tokens, total_tokens, ...rest } = usage;
    expect(rest).toEqual({});
    expect(prompt_tokens).toBeGreaterThan(0);
    expect(completion_tokens).toBeGreaterThan(1);
    expect(total_tokens).toBe(prompt_tokens! + completion_tokens!);
  });

  test("gateway.endpoints.chat_completions.stop stops before the string", async () => {
    const response = await stub.chat("!say one two three", { stop: [" three", " two"] });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: "one" }, finish_reason: "stop" }],
    });
  });

  test("gateway.endpoints.chat_completions.max_tokens gateway.limits.output_budget_ceiling has at most the tokens of its budget", async () => {
    const response = await stub.chat("!tokens 100", { max_tokens: 7 });
    expect(await response.json()).toMatchObject({
      choices: [{ finish_reason: "length" }],
      usage: { completion_tokens: 7 },
    });
  });

  test("gateway.endpoints.chat_completions.seed is the same for the same request", async () => {
    const ask = async () => {
      const response = await stub.chat("Hello", { seed: 7, temperature: 2 });
      return ((await response.json()) as Reply).choices;
    };
    expect(await ask()).toEqual(await ask());
  });
});

describe("gateway.endpoints.chat_completions.8 gateway.resources.message.tool_call_id a tool call makes the complete round trip", () => {
  for (const [title, start, ask] of [
    ["with the model inside", user("What does get_weather say?"), "get_weather answered: 38"],
    [
      "with two calls at once",
      user('!tool get_weather {"city":"Muscat"}\n!tool add {"x":1}'),
      "get_weather answered: 38\nadd answered: 38",
    ],
  ] as const) {
    test(title, async () => {
      const send = async (messages: object[]) => {
        const response = await stub.post("/v1/chat/completions", { messages, tools: TOOLS });
        expect(response.status).toBe(201);
        return ((await response.json()) as Reply).choices[0]!;
      };
      const { message, finish_reason } = await send([start]);
      expect(finish_reason).toBe("tool_calls");
      expect(message).toMatchObject({ role: "assistant", content: null });
      const calls = message.tool_calls!;
      expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
      const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "38" }));
      expect(await send([start, message, ...results])).toEqual({
        index: 0,
        message: { role: "assistant", content: ask },
        finish_reason: "stop",
      } as never);
    });
  }

  test("through a model server, which receives every part of it", async () => {
    const call = {
      id: "call_1",
      type: "function",
      function: { name: "get_weather", arguments: '{"city":"Muscat"}' },
    };
    const { reply } = await answer({ content: null, tool_calls: [call] }, "tool_calls");
    const { message } = reply.choices[0]!;
    const result = { role: "tool", tool_call_id: "call_1", content: "38" };
    const messages = [user("Hello"), message, result];
    await front.send({ messages, tools: TOOLS });
    expect(front.last().body).toMatchObject({
      tools: TOOLS,
      messages: [user("Hello"), { role: "assistant", content: "", tool_calls: [call] }, result],
    });
  });
});
