// The npm package `@langchain/openai`: replies, streams, tools and structured output.
import { describe, expect, test } from "bun:test";
import {
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { ANSWER, CALLS, CITIES, registerDev, WEATHER } from "./dev.ts";
import { connect } from "./langchain-client.ts";

const dev = registerDev();
const TOOLS = [{ type: "function" as const, function: WEATHER }];

async function join(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  return (await Array.fromAsync(stream)).reduce((whole, chunk) => concat(whole, chunk));
}

describe("the npm package @langchain/openai", () => {
  test("invoke gets the text, the finish reason and the usage", async () => {
    const messages = [new SystemMessage("Be brief."), new HumanMessage("Hello there")];
    const reply = await connect(dev()).invoke(messages);
    expect(reply.text).toBe("You said: Hello there");
    expect(reply.response_metadata).toMatchObject({ finish_reason: "stop", model_name: "svc" });
    const { input_tokens, output_tokens, total_tokens } = reply.usage_metadata!;
    expect(output_tokens).toBeGreaterThan(0);
    expect(total_tokens).toBe(input_tokens + output_tokens);
  });

  test("stream gets the text in chunks, with the usage at the end", async () => {
    const chunks = await Array.fromAsync(await connect(dev()).stream("Hello there"));
    expect(chunks.length).toBeGreaterThan(3);
    const whole = chunks.reduce((sum, chunk) => concat(sum, chunk));
    expect(whole.text).toBe("You said: Hello there");
    expect(whole.response_metadata).toMatchObject({ finish_reason: "stop" });
    expect(whole.usage_metadata).toEqual(
      (await connect(dev()).invoke("Hello there")).usage_metadata!,
    );
  });

  test("a reply cut by its token budget says so", async () => {
    const cut = await connect(dev(), { maxTokens: 5 }).invoke("!tokens 40");
    expect(cut.usage_metadata!.output_tokens).toBe(5);
    expect(cut.response_metadata).toMatchObject({ finish_reason: "length" });
  });

  test("batch sends several requests concurrently", async () => {
    const replies = await connect(dev()).batch(["one", "two", "three"]);
    expect(replies.map(({ text }) => text)).toEqual([
      "You said: one",
      "You said: two",
      "You said: three",
    ]);
  });

  test.each([false, true])(
    "bindTools calls tools and receives their results, streamed: %p",
    async (streams) => {
      const model = connect(dev()).bindTools(TOOLS);
      const ask = async (messages: BaseMessage[]) =>
        streams ? join(await model.stream(messages)) : model.invoke(messages);
      const messages: BaseMessage[] = [new HumanMessage(CALLS)];
      const called = await ask(messages);
      const calls = called.tool_calls!;
      expect(calls).toMatchObject(CITIES.map((args) => ({ name: "get_weather", args })));
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      expect(called.invalid_tool_calls).toEqual([]);
      messages.push(called);
      for (const { id, args } of calls)
        messages.push(new ToolMessage({ tool_call_id: id!, content: `38 in ${args.city}` }));
      expect((await ask(messages)).text).toBe(ANSWER);
    },
  );

  test("chunks of streamed calls are joined by their index", async () => {
    const chunks = await Array.fromAsync(await connect(dev()).bindTools(TOOLS).stream(CALLS));
    const pieces = chunks.flatMap(({ tool_call_chunks = [] }) => tool_call_chunks);
    expect(pieces.filter(({ name }) => name)).toMatchObject([
      { name: "get_weather", index: 0, id: expect.stringMatching(/^call_/) },
      { name: "get_weather", index: 1, id: expect.stringMatching(/^call_/) },
    ]);
    const texts = CITIES.map((_, at) =>
      pieces.filter(({ index }) => index === at).map(({ args }) => args),
    );
    expect(texts.map((args) => JSON.parse(args.join("")))).toEqual(CITIES);
    expect(texts[0]!.length).toBeGreaterThan(1);
  });

  test("withStructuredOutput gets an object, by a tool and from the text", async () => {
    const model = connect(dev());
    const schema = { title: "place", ...WEATHER.parameters };
    const byTool = model.withStructuredOutput<object>(schema, { method: "functionCalling" });
    expect(await byTool.invoke("Muscat")).toEqual({ city: "Muscat" });
    const byText = model.withStructuredOutput<object>(schema, { method: "jsonSchema" });
    expect(await byText.invoke(`!say ${JSON.stringify(CITIES[0])}`)).toEqual(CITIES[0]!);
  });
});
