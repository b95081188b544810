// Tests the limits of the context check, and the words that clients look for in its error.
import { describe, expect, test } from "bun:test";
import { checkContext, explainLength } from "../../../src/gateway/chat/context-check.ts";
import {
  type Complete,
  type Completion,
  createTextCount,
  type ModelRequest,
  type ServedModel,
} from "../../../src/models/index.ts";
import { createAsk } from "../../support/ask.ts";
import { inlineCompute } from "../../support/compute.ts";

const ANSWERED: Completion = {
  ok: true,
  finishReason: "stop",
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
/** Maximum overhead of a template for a request of one message. */
const TEMPLATE = 256 + 16;
const countTexts = createTextCount(inlineCompute);
const signal = new AbortController().signal;

type Outcome = "passes" | "is refused" | "is counted out";

/** Asks a model with this window; its server returns the count, or `null` if it cannot. */
async function ask(
  window: number | null,
  counted: number | null,
  request: ModelRequest,
): Promise<[outcome: Outcome, counts: number]> {
  let counts = 0;
  let answers = 0;
  const settings = { context_window: window } as ServedModel["settings"];
  const count = async () => {
    counts++;
    return counted;
  };
  const answer: Complete = async () => {
    answers++;
    return ANSWERED;
  };
  const completion = await checkContext(
    settings,
    count,
    countTexts,
    answer,
  )(request, () => undefined, signal);
  expect(answers).toBe(completion.ok ? 1 : 0);
  if (!completion.ok) expect(completion).toMatchObject({ code: "context_length_exceeded" });
  const refused = completion.ok || !completion.promptTokens ? "is refused" : "is counted out";
  return [completion.ok ? "passes" : refused, counts];
}

type Case = [
  title: string,
  window: number | null,
  bytes: number,
  max_tokens: number,
  counted: number | null,
  outcome: Outcome,
  counts: number,
];
// The texts repeat " a": two bytes and one token each.
const CASES: Case[] = [
  ["no recorded window: the server decides", null, 100_000, 8_192, 1e9, "passes", 0],
  ["bytes, template and budget fill the window", 1_000 + TEMPLATE, 600, 400, 1e9, "passes", 0],
  ["a byte more is counted", 1_000 + TEMPLATE, 601, 400, 10, "passes", 1],
  ["a budget that fills the window", 400, 10, 400, 1, "is refused", 0],
  ["a budget beyond the window", 400, 10, 401, 1, "is refused", 0],
  ["a budget that leaves one token", 400, 10, 399, 1, "passes", 1],
  ["counted, it fills the window", 1_000, 5_000, 400, 600, "passes", 1],
  ["counted, it is one over", 1_000, 5_000, 400, 601, "is counted out", 1],
  ["without a count, no more bytes than tokens", 1_000, 800, 400, null, "passes", 1],
  ["by the bundled one, over the window by less", 1_000, 1_400, 400, null, "passes", 1],
  ["by the bundled one, over by a fifth", 1_000, 1_600, 400, null, "passes", 1],
  ["by the bundled one, over by a fifth and one", 1_000, 1_602, 400, null, "is refused", 1],
];

test.each(CASES)("gateway.endpoints.chat_completions.4 %s", async (_, ...rest) => {
  const [window, bytes, max_tokens, counted, outcome, counts] = rest;
  const text = " a".repeat(bytes).slice(0, bytes);
  expect(await ask(window, counted, createAsk(text, { max_tokens }))).toEqual([outcome, counts]);
});

describe("what counts as text", () => {
  const long = " a".repeat(2_000);
  const call = (name: string, text: string): ModelRequest["messages"][number] => ({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c", type: "function", function: { name, arguments: text } }],
  });
  const image = (text: string, url: string): ModelRequest["messages"][number] => ({
    role: "user",
    content: [
      { type: "text", text },
      { type: "image_url", image_url: { url } },
    ],
  });
  const tool = { type: "function" as const, function: { name: "t", description: long } };
  const budget = { max_tokens: 400 };
  const far: [string, ModelRequest][] = [
    ["a text part", createAsk([image(long, "https://example.com/a.png")], budget)],
    ["a call's arguments", createAsk([call("t", long)], budget)],
    ["a call's name", createAsk([call(long, "{}")], budget)],
    ["a tool", createAsk("Hi", { ...budget, tools: [tool] })],
    ["several messages", createAsk(Array(20).fill({ role: "user", content: long }), budget)],
  ];
  test.each(far)("%s does", async (_, request) => {
    expect(await ask(1_000, null, request)).toEqual(["is refused", 1]);
  });

  test("an image does not, but its model counts it, and that count holds", async () => {
    const data = `data:image/png;base64,${"A".repeat(100_000)}`;
    const request = createAsk([image("Hi", data)], budget);
    expect(await ask(1_000, 601, request)).toEqual(["is counted out", 1]);
    expect(await ask(1_000, 600, request)).toEqual(["passes", 1]);
    expect(await ask(1_000, null, request)).toEqual(["passes", 1]);
  });

  test("the text beside an image is estimated if the server does not count", async () => {
    const request = createAsk([image(long, "https://example.com/a.png")], budget);
    expect(await ask(2_400, null, request)).toEqual(["passes", 1]);
    expect(await ask(1_999, null, request)).toEqual(["is refused", 1]);
  });

  test("every message may add its part of the template", async () => {
    const messages = Array(20).fill({ role: "user", content: "a" });
    const fits = 256 + 20 * 17 + 400;
    expect(await ask(fits, 1e9, createAsk(messages, budget))).toEqual(["passes", 0]);
    expect(await ask(fits - 1, 1, createAsk(messages, budget))).toEqual(["passes", 1]);
  });
});

test("a caller who leaves during the count is left to the completion", async () => {
  const caller = new AbortController();
  const settings = { context_window: 1_000 } as ServedModel["settings"];
  const count = async () => {
    caller.abort();
    return null;
  };
  const left = Promise.withResolvers<boolean>();
  const answer: Complete = async (_ask, _onChunk, received) => {
    left.resolve(received.aborted);
    return ANSWERED;
  };
  const request = createAsk(" a".repeat(50_000), { max_tokens: 400 });
  await checkContext(settings, count, countTexts, answer)(request, () => undefined, caller.signal);
  expect(await left.promise).toBe(true);
});

describe("the error message", () => {
  const says = (context_window: number | null, prompt_tokens?: number) =>
    explainLength({ context_window }, { max_tokens: 4_096 }, { promptTokens: prompt_tokens });
  const window = "The request exceeds the context window: this model's maximum context length is";

  test("contains the count, its parts and the window, if they are known", () => {
    expect(says(32_768, 36_864)).toBe(
      `${window} 32768 tokens, but it needs 40960 (36864 in the messages, 4096 for the reply) (context_length_exceeded).`,
    );
    expect(says(32_768)).toBe(
      `${window} 32768 tokens, but the messages and a reply of up to 4096 tokens need more (context_length_exceeded).`,
    );
    for (const prompt_tokens of [undefined, 36_864]) {
      expect(says(null, prompt_tokens)).toBe(
        "The request exceeds the context window of this model (context_length_exceeded).",
      );
    }
  });

  // LiteLLM searches in lower case, LangChain for alternatives, others for the number.
  test.each([
    ["LiteLLM", /this model's maximum context length is/i],
    ["LangChain", /context_length_exceeded|exceeds the context window|maximum context length/],
    ["CrewAI", /maximum context length/],
    ["agents that read the window", /maximum context length is \d+ tokens/],
  ])("holds the words that %s looks for", (_, words) => {
    expect(says(32_768)).toMatch(words);
    expect(says(32_768, 36_864)).toMatch(words);
  });

  test("contains no word of a rate limit or a quota", () => {
    expect(says(32_768, 36_864)).not.toMatch(/rate.?limit|quota|billing|\b429\b/i);
  });
});
