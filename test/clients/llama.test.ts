// The gateway in front of a real llama.cpp server, with a real client.
//
// Runs where WADI_TEST_LLAMA holds the server's address, up to and with /v1:
//   llama-server --model MODEL.gguf --ctx-size 2048 --jinja
//   pip install 'llama-cpp-python[server]'
//   python3 -m llama_cpp.server --model MODEL.gguf --n_ctx 2048 --chat_format chatml-function-calling
// llama-server lets a model talk before a call that is required, so that a model of random weights
// passes the tests of tools (`-t tool`) only where `--logit-bias` makes it begin with a call, and
// the others only without.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { ResponseFunctionToolCall } from "openai/resources/responses/responses";
import { checkInstallation, probeModel } from "../../src/admin/index.ts";
import { createSystemClock } from "../../src/platform/clock.ts";
import { createSystemIds } from "../../src/platform/ids.ts";
import { readSettings } from "../../src/settings/index.ts";
import { KEY, startApp, type TestApp } from "../support/app.ts";
import { writeSettings } from "../support/upstream.ts";

const server = process.env.WADI_TEST_LLAMA ?? "";
const NOTHING = { model: undefined, id: undefined, api_key_env: undefined, api_key: undefined };

describe.skipIf(server === "")("a llama.cpp server behind the gateway", () => {
  let app: TestApp;
  let client: OpenAI;
  let anthropic: Anthropic;
  let isPython = false;
  beforeAll(async () => {
    const { report } = await probeModel({ url: server, ...NOTHING }, createSystemClock());
    isPython = report.kind === "llama-cpp-python";
    const { model, tool_choice_by_name } = report;
    const upstream = `model = ${JSON.stringify(model)}\ntool_choice_by_name = ${tool_choice_by_name}`;
    const settings = writeSettings(server, "", upstream);
    const env = { WADI_GATEWAY__RESPONSES: "true", WADI_GATEWAY__MESSAGES: "true" };
    app = await startApp({ listens: true, settings, env });
    client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: KEY, maxRetries: 0 });
    anthropic = new Anthropic({ baseURL: app.url, apiKey: KEY, maxRetries: 0 });
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
          properties: { city: { type: "string", enum: ["Muscat", "Nizwa"] } },
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

  test("answers messages as it answers chats, as JSON and streamed", async () => {
    const { messages, ...ask } = say("Hello");
    const { choices } = await client.chat.completions.create({ ...ask, messages });
    for (const reply of [
      await anthropic.messages.create({ ...ask, messages }),
      await anthropic.messages.stream({ ...ask, messages }).finalMessage(),
    ]) {
      expect(reply.content).toMatchObject([{ type: "text", text: choices[0]!.message.content! }]);
      expect(["end_turn", "max_tokens"]).toContain(reply.stop_reason!);
      expect(reply.usage.output_tokens).toBeGreaterThan(0);
    }
  });

  test("calls a tool in a message, as JSON and streamed, and takes its result", async () => {
    const { name, parameters } = tools[0]!.function;
    const tool = { name, input_schema: { ...parameters, type: "object" as const } };
    const asked = { role: "user" as const, content: "What is the weather?" };
    const ask = { model: "svc", tools: [tool], temperature: 0, max_tokens: 500 };
    const first = { ...ask, messages: [asked], tool_choice: { type: "tool" as const, name } };
    for (const { content, stop_reason } of [
      await anthropic.messages.create(first),
      await anthropic.messages.stream(first).finalMessage(),
    ]) {
      expect(stop_reason).toBe("tool_use");
      expect(content).toMatchObject([{ type: "tool_use", name, input: {} }]);
      const [{ id }] = content as [Anthropic.ToolUseBlock];
      const result = { type: "tool_result" as const, tool_use_id: id, content: "38" };
      const answered = await anthropic.messages.create({
        ...{ ...ask, tool_choice: { type: "none" as const } },
        messages: [asked, { role: "assistant", content }, { role: "user", content: [result] }],
      });
      expect(answered.content.map(({ type }) => type)).not.toContain("tool_use");
    }
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
    const { report, block } = await probeModel({ url: server, ...NOTHING }, clock);
    const own = isPython
      ? { version: expect.stringMatching(/^\d+\.\d+\.\d+$/), usage: "whole replies", tools: true }
      : { kind: "llama.cpp", version: expect.stringMatching(/^b\d/), usage: "always" };
    expect(report).toMatchObject({
      ...{ url: server, serves: "chat", streaming: true, ...own },
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
      ...["ok embeddings", "ok search"],
      // llama-server tells no time.
      ...(isPython ? ["ok clock"] : []),
    ]);
  });
});
