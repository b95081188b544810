// The npm package `openai`: calls of tools, in its stream helper and in its tool runner.
import { describe, expect, test } from "bun:test";
import { ANSWER, CALLS, CITIES, registerDev, WEATHER } from "./dev.ts";
import { connect, say } from "./openai-client.ts";

const dev = registerDev();
const TOOL = { type: "function" as const, function: WEATHER };

describe("the npm package openai", () => {
  test("its stream helper assembles text, calls and usage", async () => {
    const runner = connect(dev()).chat.completions.stream({
      ...say(`!say One moment.\n${CALLS}`),
      tools: [TOOL],
      stream_options: { include_usage: true },
    });
    const done: string[] = [];
    runner.on("tool_calls.function.arguments.done", (event) => done.push(event.arguments));
    const { choices, usage } = await runner.finalChatCompletion();
    const texts = CITIES.map((city) => JSON.stringify(city));
    const tool_calls = texts.map((text) => ({
      id: expect.stringMatching(/^call_/),
      type: "function",
      function: { name: "get_weather", arguments: text },
    }));
    expect(choices).toMatchObject([
      { finish_reason: "tool_calls", message: { content: "One moment.", tool_calls } },
    ]);
    expect(done).toEqual(texts);
    expect(usage!.total_tokens).toBeGreaterThan(0);
  });

  for (const stream of [false, true] as const) {
    const form = stream ? "streamed" : "as JSON";
    test(`its tool runner answers parallel calls, ${form}`, async () => {
      const calls: unknown[] = [];
      const run = ({ city }: { city: string }) => {
        calls.push({ city });
        return `38 in ${city}`;
      };
      const tools = [{ ...TOOL, function: { ...WEATHER, parse: JSON.parse, function: run } }];
      const { completions } = connect(dev()).chat;
      const runner = stream
        ? completions.runTools({ ...say(CALLS), stream, tools })
        : completions.runTools({ ...say(CALLS), tools });
      expect(await runner.finalContent()).toBe(ANSWER);
      expect(calls).toEqual(CITIES);
      const roles = runner.messages.map(({ role }) => role);
      expect(roles).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
      const ids = runner
        .allChatCompletions()[0]!
        .choices[0]!.message.tool_calls!.map(({ id }) => id);
      expect(new Set(ids).size).toBe(2);
    });

    test(`a tool chosen by name is called, ${form}`, async () => {
      const ask = {
        ...say("What is it like in Sur?"),
        tools: [TOOL, { type: "function" as const, function: { name: "now" } }],
        tool_choice: { type: "function" as const, function: { name: "get_weather" } },
      };
      const { completions } = connect(dev()).chat;
      const { choices } = stream
        ? await completions.stream(ask).finalChatCompletion()
        : await completions.create(ask);
      expect(choices).toMatchObject([
        { message: { tool_calls: [{ function: { name: "get_weather" } }] } },
      ]);
    });
  }
});
