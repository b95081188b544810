// Tests the stub model's replies to requests.
import { describe, expect, test } from "bun:test";
import type {
  ModelMessage,
  ModelRequest,
  ModelTool,
} from "../../../../src/models/providers/contract.ts";
import { planReply } from "../../../../src/models/providers/stub/reply.ts";
import { countTokens, splitTokens } from "../../../../src/models/tokens.ts";
import { createAsk } from "../../../support/ask.ts";

/** A readable plan: texts and calls joined, other tokens by their names. */
function read(message: string | ModelMessage[], some: Partial<ModelRequest> = {}) {
  let calls = 0;
  const plan = planReply(createAsk(message, some), () => `call_${++calls}`);
  const events: string[] = [];
  let text = "";
  let tokens = 0;
  for (const token of plan.tokens) {
    if (token.do === "send") {
      tokens++;
      const { chunk } = token;
      if (chunk.kind === "text") text += chunk.text;
      else if (chunk.id) events.push(`${chunk.index} ${chunk.id} ${chunk.name} ${chunk.arguments}`);
      else events[chunk.index] += chunk.arguments;
    } else events.push(token.do === "fail" ? token.code : token.do);
  }
  return { text, events, tokens, finish_reason: plan.finishReason };
}

const tool = (name: string, parameters?: Record<string, unknown>): ModelTool => ({
  type: "function",
  function: { name, parameters },
});
const weather = tool("get_weather", {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
});
const tools = [weather, tool("math.add")];

test.each<[string, string | ModelMessage[], string]>([
  ["a message", "Hello there", "You said: Hello there"],
  ["an empty message", "", "You said nothing."],
  ["no message of a user", [{ role: "system", content: "Be kind." }], "You said nothing."],
  [
    "the last of several",
    [
      { role: "user", content: "One" },
      { role: "assistant", content: "You said: One" },
      { role: "user", content: "Two" },
    ],
    "You said: Two",
  ],
  [
    "parts",
    [
      {
        role: "user",
        content: [
          { type: "text", text: "What is" },
          { type: "image_url", image_url: { url: "data:," } },
          { type: "text", text: "this?" },
        ],
      },
    ],
    "You said: What is\nthis? (images: 1)",
  ],
])("%s is echoed", (_, message, text) => {
  expect(read(message)).toMatchObject({ text, events: [], finish_reason: "stop" });
});

test("seed and temperature change nothing", () => {
  const some = { seed: 7, temperature: 2, top_p: 0.1, presence_penalty: 1, frequency_penalty: 1 };
  expect(read("Hello", some)).toEqual(read("Hello"));
});

const arguments_ = (city: string, days = 1) => JSON.stringify({ city, days });
test.each<[string, ModelRequest["tool_choice"], string | null]>([
  [
    "Use get_weather for 3 days",
    null,
    `get_weather ${arguments_("Use get_weather for 3 days", 3)}`,
  ],
  ["(`get_weather`)", "auto", `get_weather ${arguments_("(`get_weather`)")}`],
  ["Now math.add.", null, "math.add {}"],
  ["math.add, then get_weather", null, "math.add {}"],
  ["get_weather_now, my-get_weather, Get_Weather, math.add.all, math", null, null],
  ["get_weather", "none", null],
  ["Hello", "auto", null],
  ["Hello", "required", `get_weather ${arguments_("Hello")}`],
  ["Hello math.add", "required", "math.add {}"],
  ["get_weather", { type: "function", function: { name: "math.add" } }, "math.add {}"],
])("%j with the choice %j calls %p", (message, tool_choice, call) => {
  const { events, finish_reason } = read(message, { tools, tool_choice });
  expect(events).toEqual(call ? [`0 call_1 ${call}`] : []);
  expect(finish_reason).toBe(call ? "tool_calls" : "stop");
});

test("a tool is not called for its name alone if it was not sent", () => {
  expect(read("get_weather").events).toEqual([]);
});

test("the reply lists the tool results by tool name", () => {
  const call = (id: string, name: string) =>
    ({ id, type: "function", function: { name, arguments: "{}" } }) as const;
  const messages: ModelMessage[] = [
    { role: "user", content: "!tool get_weather\n!tool math.add" },
    {
      role: "assistant",
      content: null,
      tool_calls: [call("a", "get_weather"), call("b", "math.add")],
    },
    { role: "tool", tool_call_id: "b", content: "5" },
    { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "!say 22 °C" }] },
    { role: "tool", tool_call_id: "c", content: "?" },
  ];
  const text = "math.add answered: 5\nget_weather answered: !say 22 °C\nThe tool answered: ?";
  for (const tool_choice of [null, "required"] as const) {
    const reply = read(messages, { tools, tool_choice });
    expect(reply).toMatchObject({ text, events: [], finish_reason: "stop" });
  }
  messages.push({ role: "user", content: "Thanks" });
  expect(read(messages).text).toBe("You said: Thanks");
});

describe("a script of several rounds", () => {
  /** Its output in each round, where every call of it was answered with "5". */
  const play = (script: string, rounds: number) => {
    const messages: ModelMessage[] = [
      { role: "user", content: "!say an earlier one\n!next\n!say never" },
      { role: "assistant", content: "an earlier one" },
      { role: "user", content: script },
    ];
    return Array.from({ length: rounds }, (_, n) => {
      const { text, events } = read(messages, { tools });
      const tool_calls = events.map((_, at) => ({
        id: `c-${n}-${at}`,
        type: "function" as const,
        function: { name: "math.add", arguments: "{}" },
      }));
      messages.push({ role: "assistant", content: text || null, tool_calls });
      for (const { id } of tool_calls) {
        messages.push({ role: "tool", tool_call_id: id, content: "5" });
      }
      return [text, ...events].filter(Boolean).join(" · ");
    });
  };
  test("plays a part in each, and replies with the results after the last", () => {
    const script = '!tool a {"x":1}\n!next\n!say so\n!tool b\n!tool c\n!next\n!tool d';
    expect(play(script, 4)).toEqual([
      '0 call_1 a {"x":1}',
      "so · 0 call_1 b {} · 1 call_2 c {}",
      "0 call_1 d {}",
      "math.add answered: 5",
    ]);
    expect(play("!tool a\n!next\n!say done", 2)).toEqual(["0 call_1 a {}", "done"]);
  });

  test("echoes in a part without output", () => {
    const script = "!tool a\n!next\n!finish length";
    expect(play(script, 2)).toEqual(["0 call_1 a {}", `You said: ${script}`]);
    expect(play("!next\n!say b", 2)).toEqual(["You said: !next\n!say b", "b"]);
  });

  test("is echoed after its end if no tool has replied", () => {
    expect(play("!say a\n!next\n!say b", 3).at(-1)).toBe("You said: !say a\n!next\n!say b");
  });

  test("that is invalid is explained once", () => {
    const [first, second] = play("!tool a\n!next\n!tool", 2);
    expect(first).toContain("A tool's name is");
    expect(second).toBe(first);
  });

  test("does not exist if the keyword is only inside a text", () => {
    expect(play("!tool a\nsay !next", 2)).toEqual(["0 call_1 a {}", "math.add answered: 5"]);
  });
});

test.each<[string, ReturnType<typeof read>]>([
  ["Hi\n!say one\nignored\n!say two", reply("one\ntwo", [])],
  ["!say", { ...reply("", []), tokens: 0 }],
  ["!tokens 5", { ...reply("the sun sets over the", []), tokens: 5 }],
  ["!say a\n!tokens 2", { ...reply("a\nthe sun", []), tokens: 3 }],
  ["!tool add\n!tool add", reply("", ["0 call_1 add {}", "1 call_2 add {}"], "tool_calls")],
  ["!say a\n!tool add\n!say b", reply("a\nb", ["0 call_1 add {}"], "tool_calls")],
  ["!finish length\n!say a", reply("a", [], "length")],
  ["!finish stop\n!tool add", reply("", ["0 call_1 add {}"], "stop")],
  ["!finish content_filter", reply("You said: !finish content_filter", [], "content_filter")],
  ["!nousage", reply("You said: !nousage", [])],
  ["!delay 1s\n!say a\n!delay 2s", reply("a", ["delay", "delay"])],
  ["!delay 1s", reply("You said: !delay 1s", ["delay"])],
  ["!stall", reply("", ["stall"])],
  ["!say a\n!stall\n!say b", reply("a", ["stall"])],
  ["!error internal_error\n!say b", reply("", ["internal_error"])],
  ["!say a\n!error model_offline", reply("a", ["model_offline"])],
  ["!say a\n!garbage", reply("a", ["upstream_error"])],
  ["!cut\n!tokens 10", { ...reply("the sun sets over the", ["upstream_error"]), tokens: 5 }],
  ["!tokens 3\n!cut\n!stall", { ...reply("the sun", ["upstream_error"]), tokens: 2 }],
  ["!say a\n!cut", reply("a", ["upstream_error"])],
  ["!say\n!cut", reply("", ["upstream_error"])],
])("the script %j is played", (message, expected) => {
  expect(read(message)).toEqual(expected);
});

/** A reply that costs only its text and calls: a call's head is one token. */
function reply(text: string, events: string[], finish_reason = "stop"): ReturnType<typeof read> {
  const calls = events.filter((one) => one.includes(" ")).map((one) => one.split(" ", 4)[3]!);
  const tokens = countTokens(text) + calls.reduce((sum, json) => sum + 1 + countTokens(json), 0);
  return { text, events, tokens, finish_reason };
}

test("a script is played whatever the tools and choice, and an invalid line is explained", () => {
  expect(read("!tool other", { tools, tool_choice: "none" }).events).toEqual(["0 call_1 other {}"]);
  expect(read("!say no\n!tokens many", { tools, tool_choice: "required" })).toMatchObject({
    text: expect.stringContaining("N is a whole number"),
    events: [],
    finish_reason: "stop",
  });
});

test.each([
  ["!tokens 10", 10, 10, "stop"],
  ["!tokens 10", 9, 9, "length"],
  ["!tokens 8000\n!tokens 8000", 8_192, 8_192, "length"],
  ["!tokens 10\n!finish stop", 9, 9, "length"],
  ["!say a\n!tokens 9\n!error upstream_error", 9, 9, "length"],
  ['!tool add {"a": 1, "b": 2}', 3, 3, "length"],
  ["!say a\n!tool add", 1, 1, "length"],
  ["!say a\n!say", 1, 1, "length"],
])("the budget ends %j at %d tokens", (message, max_tokens, tokens, finish_reason) => {
  expect(read(message, { max_tokens })).toMatchObject({ tokens, finish_reason });
});

test("an error within the budget happens", () => {
  expect(read("!tokens 9\n!error upstream_error", { max_tokens: 9 }).events).toEqual([
    "upstream_error",
  ]);
});

test.each<[string, string[], string, string, string[]]>([
  ["!say one two three", ["two"], "one ", "stop", []],
  ["!say one two three", ["three", "ne t"], "o", "stop", []],
  ["!say one", ["one"], "", "stop", []],
  ["!say one", ["two"], "one", "stop", []],
  ["!say one\n!say two", ["e\nt"], "on", "stop", []],
  ["!say one\n!delay 1s\n!say two\n!error upstream_error", ["two"], "one\n", "stop", ["delay"]],
  ["!say one two\n!tool add\n!finish length", ["two"], "one ", "length", []],
  ["!tool add\n!say two", ["two"], "", "tool_calls", ["0 call_1 add {}"]],
  ["Hello there", [" there"], "You said: Hello", "stop", []],
])("%j with the stops %j ends before the first", (message, stop, text, reason, events) => {
  expect(read(message, { stop })).toMatchObject({ text, events, finish_reason: reason });
});

test("a stop within the budget is a normal end", () => {
  expect(read("!tokens 100", { max_tokens: 5, stop: ["over"] })).toMatchObject({
    text: "the sun sets ",
    tokens: 4,
    finish_reason: "stop",
  });
  expect(read("!tokens 100", { max_tokens: 5, stop: ["wadi"] }).finish_reason).toBe("length");
});

test("a call is split into chunks, the first with its id and name and no arguments", () => {
  const json = '{"city": "Muscat", "days": 3}';
  const plan = planReply(createAsk(`!tool get_weather ${json}`), () => "call_x");
  const head = { kind: "call", index: 0, id: "call_x", name: "get_weather", arguments: "" };
  const rest = splitTokens(json).map((text) => ({ kind: "call", index: 0, arguments: text }));
  expect(plan.tokens.map((token) => token.do === "send" && token.chunk)).toEqual([
    head,
    ...rest,
  ] as never);
});

test.each([
  ["a.", "a-----"],
  ["dots", "."],
  ["script lines", "!tokens 8192\n"],
  ["marks", "!"],
  ["words", "word "],
  ["emoji", "😀"],
])("256 KB of %s are answered within the budget", (_, unit) => {
  const message = unit.repeat(Math.ceil((256 * 1024) / unit.length));
  const { tokens, finish_reason } = read(message, { tools, stop: ["~".repeat(256)] });
  expect(tokens).toBeLessThanOrEqual(8_192);
  expect(["stop", "length"]).toContain(finish_reason);
});

test("a script cuts what a stop has left", () => {
  const { text, events, tokens } = read("!say a b c d e f\n!cut", { stop: ["c"] });
  expect([text, events, tokens]).toEqual(["a b", ["upstream_error"], 2]);
});
