// The npm package `@anthropic-ai/sdk`: messages, streams, its stream helper, tools, counts, errors.
import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";
import type { Static } from "@sinclair/typebox";
import type { MessageEvent, MessagesReply } from "../../src/gateway/messages/reply.ts";
import { connect, say } from "./anthropic-client.ts";
import {
  ANSWER,
  CALLS,
  CITIES,
  createNotingFetch,
  failureOf,
  registerDev,
  WEATHER,
} from "./dev.ts";

const dev = registerDev();
const { name, description, parameters } = WEATHER;
const TOOL: Anthropic.Tool = { name, description, input_schema: parameters };

describe("the npm package @anthropic-ai/sdk", () => {
  test("it gets a message with its usage and its request id", async () => {
    const reply = await connect(dev()).messages.create({ ...say("Hello there"), system: "Hi." });
    expect(reply).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: "message",
      role: "assistant",
      model: "svc",
      content: [{ type: "text", text: "You said: Hello there" }],
      stop_reason: "end_turn",
      stop_sequence: null,
    });
    expect(reply.usage.input_tokens).toBeGreaterThan(0);
    expect(reply.usage.output_tokens).toBeGreaterThan(0);
    expect(reply._request_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("its types hold for each reply and event that is documented", () => {
    // The compiler judges; the package skips pings, and throws errors.
    type Streamed = Exclude<MessageEvent, { type: "ping" | "error" }>;
    const isReply: Static<typeof MessagesReply> extends Anthropic.Message ? true : false = true;
    const isEvent: Streamed extends Anthropic.RawMessageStreamEvent ? true : false = true;
    expect([isReply, isEvent]).toEqual([true, true]);
  });

  test("a key sent as a bearer token is taken, too", async () => {
    const client = connect(dev(), "", { apiKey: null, authToken: dev().key });
    expect((await client.messages.create(say("Hi"))).stop_reason).toBe("end_turn");
  });

  test("it streams the events in their order", async () => {
    const stream = await connect(dev()).messages.create({ ...say("Hello there"), stream: true });
    const events = await Array.fromAsync(stream);
    const types = events.map(({ type }) => type);
    const deltas = types.filter((type) => type === "content_block_delta");
    expect(types).toEqual([
      ...(["message_start", "content_block_start"] as const),
      ...deltas,
      ...(["content_block_stop", "message_delta", "message_stop"] as const),
    ]);
    expect(deltas.length).toBeGreaterThan(1);
  });

  test("its stream helper emits the text in order, and the same message at the end", async () => {
    const client = connect(dev());
    const stream = client.messages.stream(say("Hello there"));
    let text = "";
    stream.on("text", (piece) => {
      text += piece;
    });
    const streamed = await stream.finalMessage();
    expect(text).toBe("You said: Hello there");
    const { id: _, ...whole } = await client.messages.create(say("Hello there"));
    // The helper only adds `parsed_output`.
    expect(streamed as object).toMatchObject(whole);
  });

  test("its stream helper assembles a text and parallel calls", async () => {
    const ask = { ...say(`!say One moment.\n${CALLS}`), tools: [TOOL] };
    const { content, stop_reason } = await connect(dev()).messages.stream(ask).finalMessage();
    const calls = CITIES.map((input) => ({
      ...{ type: "tool_use", id: expect.stringMatching(/^call_/), name, input },
    }));
    expect(content).toMatchObject([{ type: "text", text: "One moment." }, ...calls]);
    expect(stop_reason).toBe("tool_use");
  });

  for (const stream of [false, true]) {
    const form = stream ? "streamed" : "as JSON";
    test(`its tool runner answers parallel calls, ${form}`, async () => {
      const calls: unknown[] = [];
      const tool = betaTool({
        ...{ name, description, inputSchema: parameters },
        run({ city }) {
          calls.push({ city });
          return `38 in ${city}`;
        },
      });
      const runner = connect(dev()).beta.messages.toolRunner({
        ...{ ...say(CALLS), tools: [tool], stream },
      });
      expect((await runner.runUntilDone()).content).toMatchObject([{ text: ANSWER }]);
      expect(calls).toEqual(CITIES);
    });

    test(`a chosen tool is called, ${form}`, async () => {
      const ask = { ...say("What is it like in Sur?"), tools: [TOOL] };
      const { messages } = connect(dev());
      for (const tool_choice of [{ type: "any" as const }, { type: "tool" as const, name }]) {
        const reply = stream
          ? await messages.stream({ ...ask, tool_choice }).finalMessage()
          : await messages.create({ ...ask, tool_choice });
        expect(reply).toMatchObject({ stop_reason: "tool_use", content: [{ name }] });
      }
    });
  }

  test("it parses a text of a given form", async () => {
    const format = jsonSchemaOutputFormat({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    });
    const ask = { ...say("Where?"), output_config: { format } };
    const { parsed_output } = await connect(dev()).messages.parse(ask);
    expect(parsed_output).toEqual({ city: expect.any(String) });
  });

  test("an image is shown to the model, as data and by its address", async () => {
    const source = { type: "base64" as const, media_type: "image/png" as const, data: "AAAA" };
    const content: Anthropic.ContentBlockParam[] = [
      { type: "image", source },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
      { type: "text", text: "What?" },
    ];
    const reply = await connect(dev()).messages.create({
      ...{ model: "svc", max_tokens: 50, messages: [{ role: "user", content }] },
    });
    expect(reply.content).toMatchObject([{ text: "You said: What? (images: 2)" }]);
  });

  test("it leaves in the middle of a stream, and the server notices", async () => {
    const headers = { "x-request-id": "left-messages" };
    const stream = connect(dev()).messages.stream(say("!say Hello\n!stall"), { headers });
    stream.on("text", () => stream.abort());
    expect(await failureOf(stream.done())).toBeInstanceOf(Anthropic.APIUserAbortError);
    expect(JSON.parse(await dev().logged('"request_id":"left-messages"'))).toMatchObject({
      code: "client_closed_request",
      status: 499,
    });
  });

  test("it tries an overload again, and no request that is at fault", async () => {
    const { fetch, noted } = createNotingFetch();
    const client = connect(dev(), "", { fetch, maxRetries: 2 });
    await failureOf(client.messages.create(say("!error model_offline")));
    await failureOf(client.messages.create({ ...say("Hi"), max_tokens: 0 }));
    expect(noted.map(({ status }) => status)).toEqual([529, 529, 529, 400]);
  });

  test("it counts the tokens that a message then uses", async () => {
    const { messages } = connect(dev());
    const { model, max_tokens, ...asked } = { ...say("Hello there"), tools: [TOOL] };
    const { input_tokens } = await messages.countTokens({ model, ...asked });
    const { usage } = await messages.create({ model, max_tokens, ...asked });
    expect(input_tokens).toBe(usage.input_tokens);
  });
});

describe("the npm package @anthropic-ai/sdk maps to its own error class", () => {
  test.each([
    ["context_length_exceeded", 400, Anthropic.BadRequestError, "invalid_request_error"],
    ["model_not_permitted", 403, Anthropic.PermissionDeniedError, "permission_error"],
    ["model_not_found", 404, Anthropic.NotFoundError, "not_found_error"],
    ["rate_limit_exceeded", 429, Anthropic.RateLimitError, "rate_limit_error"],
    ["upstream_rate_limited", 529, Anthropic.OverloadedError, "overloaded_error"],
    ["internal_error", 500, Anthropic.InternalServerError, "api_error"],
    ["upstream_error", 500, Anthropic.InternalServerError, "api_error"],
    ["no_model_available", 529, Anthropic.OverloadedError, "overloaded_error"],
    ["upstream_timeout", 504, Anthropic.GatewayTimeoutError, "timeout_error"],
  ])("%s, as JSON and before a stream begins", async (code, status, kind, type) => {
    for (const stream of [false, true]) {
      const ask = { ...say(`!error ${code}`), stream };
      const failure = await failureOf(connect(dev()).messages.create(ask));
      expect(failure).toBeInstanceOf(kind);
      expect(failure).toMatchObject({ status, type, requestID: expect.any(String) });
      expect(failure).toMatchObject({ errorCode: code, error: { error: { code } } });
    }
  });

  test("a wrong key", async () => {
    const wrong = await failureOf(connect(dev(), "-x").messages.create(say("Hi")));
    expect(wrong).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(wrong).toMatchObject({ errorCode: "invalid_api_key" });
  });

  test("an error behind the first text of a stream", async () => {
    const ask = { ...say("!say So\n!error upstream_timeout"), stream: true as const };
    const stream = await connect(dev()).messages.create(ask);
    let text = "";
    const failure = await failureOf(
      (async () => {
        for await (const event of stream) {
          const isText = event.type === "content_block_delta" && event.delta.type === "text_delta";
          if (isText) text += (event.delta as Anthropic.TextDelta).text;
        }
      })(),
    );
    expect(text).toBe("So");
    expect(failure).toBeInstanceOf(Anthropic.APIError);
    expect(failure).toMatchObject({
      type: "timeout_error",
      error: { error: { code: "upstream_timeout" }, request_id: expect.any(String) },
    });
  });
});
