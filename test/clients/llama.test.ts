// The gateway in front of a real llama.cpp server, with a real client.
//
// Runs where WADI_TEST_LLAMA holds the server's address, up to and with /v1:
//   pip install 'llama-cpp-python[server]'
//   python3 -m llama_cpp.server --model MODEL.gguf --n_ctx 2048 --chat_format chatml-function-calling
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import type { ResponseFunctionToolCall } from "openai/resources/responses/responses";
import { checkInstallation, probeModel } from "../../src/admin/index.ts";
import { createSystemClock } from "../../src/platform/clock.ts";
import { createSystemIds } from "../../src/platform/ids.ts";
import { readSettings } from "../../src/settings/index.ts";
import { KEY, startApp, type TestApp } from "../support/app.ts";
import { writeSettings } from "../support/upstream.ts";

const server = process.env.WADI_TEST_LLAMA ?? "";

describe.skipIf(server === "")("a llama.cpp server behind the gateway", () => {
  let app: TestApp;
  let client: OpenAI;
  beforeAll(async () => {
    const there = new OpenAI({ baseURL: server, apiKey: "none" });
    const [model] = (await there.models.list()).data;
    const settings = writeSettings(server, "", `model = ${JSON.stringify(model!.id)}`);
    app = await startApp({ listens: true, settings, env: { WADI_GATEWAY__RESPONSES: "true" } });
    client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: KEY, maxRetries: 0 });
  });
  afterAll(() => app.stop());

  const say = (content: string) => ({
    model: "svc",
    messages: [{ role: "user" as const, content }],
    max_tokens: 16,
    temperature: 0,
  });
  const tools = [
    {
      type: "function" as const,
      function: {
        name: "get_weather",
        parameters: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
        },
      },
    },
  ];
  const tool_choice = { type: "function" as const, function: { name: "get_weather" } };

  test("chats", async () => {
    const { choices, usage, model } = await client.chat.completions.create(say("Hello"));
    expect(model).toBe("svc");
    expect(choices[0]!.message.content).not.toBe("");
    expect(["stop", "length"]).toContain(choices[0]!.finish_reason);
    expect(usage!.completion_tokens).toBeLessThanOrEqual(16);
  });

  test("streams the same text, with a usage although the server reports none", async () => {
    const whole = await client.chat.completions.create(say("Hello"));
    const stream = client.chat.completions.stream({
      ...say("Hello"),
      stream_options: { include_usage: true },
    });
    const { choices, usage } = await stream.finalChatCompletion();
    expect(choices[0]!.message.content).toBe(whole.choices[0]!.message.content);
    expect(choices[0]!.finish_reason).toBe(whole.choices[0]!.finish_reason);
    expect(usage!.completion_tokens).toBeGreaterThan(0);
  });

  test("calls a tool, as JSON and streamed, and takes its result", async () => {
    const ask = { ...say("What is the weather?"), tools, tool_choice, max_tokens: 500 };
    const stream = client.chat.completions.stream(ask);
    for (const reply of [
      await client.chat.completions.create(ask),
      await stream.finalChatCompletion(),
    ]) {
      const { message, finish_reason } = reply.choices[0]!;
      expect(finish_reason).toBe("tool_calls");
      expect(message.content).toBeNull();
      expect(message.tool_calls).toMatchObject([
        { type: "function", function: { name: "get_weather" } },
      ]);
      const { id } = message.tool_calls![0]!;
      expect(id).not.toBe("");
      const answered = await client.chat.completions.create({
        ...ask,
        tool_choice: "none",
        max_tokens: 16,
        messages: [...ask.messages, message, { role: "tool", tool_call_id: id, content: "38" }],
      });
      expect(answered.choices[0]!.message.tool_calls).toBeUndefined();
    }
  });

  test("answers responses as it answers chats, as JSON and streamed", async () => {
    const ask = { model: "svc", input: "Hello", max_output_tokens: 16, temperature: 0 };
    const { choices } = await client.chat.completions.create(say("Hello"));
    const whole = await client.responses.create(ask);
    const streamed = await client.responses.stream(ask).finalResponse();
    for (const { output_text, status, usage } of [whole, streamed]) {
      expect(output_text).toBe(choices[0]!.message.content!);
      expect(["completed", "incomplete"]).toContain(status!);
      expect(usage!.output_tokens).toBeGreaterThan(0);
    }
  });

  test("calls a tool in a response, and takes its result", async () => {
    const tool = { type: "function" as const, ...tools[0]!.function, strict: null };
    const chosen = { type: "function" as const, name: "get_weather" };
    const ask = { model: "svc", tools: [tool], temperature: 0, max_output_tokens: 500 };
    const input = [{ role: "user" as const, content: "What is the weather?" }];
    const { output } = await client.responses.create({ ...ask, input, tool_choice: chosen });
    expect(output).toMatchObject([{ type: "function_call", name: "get_weather" }]);
    const [call] = output as [ResponseFunctionToolCall];
    const result = { type: "function_call_output" as const, output: "38" };
    const answered = await client.responses.create({
      ...ask,
      input: [...input, call, { ...result, call_id: call.call_id }],
      tool_choice: "none",
    });
    expect(answered.output.map(({ type }) => type)).toEqual(["message"]);
  });

  test("reports that a request is too long", async () => {
    const long = client.chat.completions.create(say("word ".repeat(10_000)));
    const error = await long.then(
      () => expect.unreachable(),
      (failure: unknown) => failure,
    );
    expect(error).toMatchObject({ status: 400, code: "context_length_exceeded" });
  });

  test("still replies after a caller has left", async () => {
    const stream = await client.chat.completions.create({
      ...say("Hello"),
      max_tokens: 1_500,
      stream: true,
    });
    let received = 0;
    for await (const _ of stream) if (++received === 3) stream.controller.abort();
    expect(received).toBe(3);
    const { choices } = await client.chat.completions.create(say("Hello"));
    expect(choices.length).toBe(1);
  });

  test("is detected by a probe, whose block is valid and passes a check", async () => {
    const clock = createSystemClock();
    const nothing = { model: undefined, id: undefined, api_key_env: undefined, api_key: undefined };
    const { report, block } = await probeModel({ url: server, ...nothing }, clock);
    expect(report).toMatchObject({
      ...{ kind: "llama-cpp-python", url: server, serves: "chat" },
      ...{ tools: true, streaming: true, usage: "whole replies" },
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      answered_ms: expect.any(Number),
    });
    const data = join(tmpdir(), "wadi-no-such-data");
    const rows = await checkInstallation({
      settings: readSettings(block!, "wadi.toml", {}, {}),
      settingsName: "wadi.toml",
      place: { kind: "sqlite", file: join(data, "wadi.db") },
      dataName: data,
      secretsKeyFile: join(data, "secrets.key"),
      unusedFile: null,
      checkBackups: async () => {},
      clock,
      ids: createSystemIds(),
    });
    expect(rows.map(({ status, what }) => `${status} ${what}`)).toEqual([
      ...["ok settings", "ok data", "ok secrets key", "ok model"],
      ...["ok embeddings", "ok search", "ok clock"],
    ]);
  });
});
