// Holds the context check to its borders, and its sentence to the words that clients look for.
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
/** What a template may add to a request of one message. */
const TEMPLATE = 256 + 16;
const countTexts = createTextCount(inlineCompute);
const signal = new AbortController().signal;

type Verdict = "passes" | "is refused" | "is counted out";

/** Asks a model of this window whose server counts so; null: it cannot. */
async function ask(
  window: number | null,
  counted: number | null,
  asked: ModelRequest,
): Promise<[verdict: Verdict, counts: number]> {
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
  const ending = await checkContext(
    settings,
    count,
    countTexts,
    answer,
  )(asked, () => undefined, signal);
  expect(answers).toBe(ending.ok ? 1 : 0);
  if (!ending.ok) expect(ending).toMatchObject({ code: "context_length_exceeded" });
  const refused = ending.ok || !ending.promptTokens ? "is refused" : "is counted out";
  return [ending.ok ? "passes" : refused, counts];
}

type Case = [
  title: string,
  window: number | null,
  bytes: number,
  max_tokens: number,
  counted: number | null,
  verdict: Verdict,
  counts: number,
];
// The texts are of one-letter words, of which each is a token: " a" over and over, and two bytes.
const CASES: Case[] = [
  ["nothing recorded: the server judges", null, 100_000, 8_192, 1e9, "passes", 0],
  ["bytes, template and budget fill the window", 1_000 + TEMPLATE, 600, 400, 1e9, "passes", 0],
  ["a byte more is counted", 1_000 + TEMPLATE, 601, 400, 10, "passes", 1],
  ["a budget that fills the window", 400, 10, 400, 1, "is refused", 0],
  ["a budget beyond the window", 400, 10, 401, 1, "is refused", 0],
  ["a budget that leaves one token", 400, 10, 399, 1, "passes", 1],
  ["counted, it fills the window", 1_000, 5_000, 400, 600, "passes", 1],
  ["counted, it is one over", 1_000, 5_000, 400, 601, "is counted out", 1],
  ["counted by nobody, no more bytes than tokens", 1_000, 800, 400, null, "passes", 1],
  ["by the bundled one, over the window by less", 1_000, 1_400, 400, null, "passes", 1],
  ["by the bundled one, over by a fifth", 1_000, 1_600, 400, null, "passes", 1],
  ["by the bundled one, over by a fifth and one", 1_000, 1_602, 400, null, "is refused", 1],
];

test.each(CASES)("gateway.endpoints.chat_completions.4 %s", async (_, ...rest) => {
  const [window, bytes, max_tokens, counted, verdict, counts] = rest;
  const text = " a".repeat(bytes).slice(0, bytes);
  expect(await ask(window, counted, createAsk(text, { max_tokens }))).toEqual([verdict, counts]);
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
  test.each(far)("%s does", async (_, asked) => {
    expect(await ask(1_000, null, asked)).toEqual(["is refused", 1]);
  });

  test("an image does not, but its model is asked to count it, and believed", async () => {
    const data = `data:image/png;base64,${"A".repeat(100_000)}`;
    const asked = createAsk([image("Hi", data)], budget);
    expect(await ask(1_000, 601, asked)).toEqual(["is counted out", 1]);
    expect(await ask(1_000, 600, asked)).toEqual(["passes", 1]);
    expect(await ask(1_000, null, asked)).toEqual(["passes", 1]);
  });

  test("the text beside an image is judged where nobody counts", async () => {
    const asked = createAsk([image(long, "https://example.com/a.png")], budget);
    expect(await ask(2_400, null, asked)).toEqual(["passes", 1]);
    expect(await ask(1_999, null, asked)).toEqual(["is refused", 1]);
  });

  test("every message may bring its own part of the template", async () => {
    const messages = Array(20).fill({ role: "user", content: "a" });
    const fits = 256 + 20 * 17 + 400;
    expect(await ask(fits, 1e9, createAsk(messages, budget))).toEqual(["passes", 0]);
    expect(await ask(fits - 1, 1, createAsk(messages, budget))).toEqual(["passes", 1]);
  });
});

test("a caller who leaves while the server counts is the answer's to note", async () => {
  const caller = new AbortController();
  const settings = { context_window: 1_000 } as ServedModel["settings"];
  const count = async () => {
    caller.abort();
    return null;
  };
  const left = Promise.withResolvers<boolean>();
  const answer: Complete = async (_ask, _ear, given) => {
    left.resolve(given.aborted);
    return ANSWERED;
  };
  const asked = createAsk(" a".repeat(50_000), { max_tokens: 400 });
  await checkContext(settings, count, countTexts, answer)(asked, () => undefined, caller.signal);
  expect(await left.promise).toBe(true);
});

describe("the sentence", () => {
  const says = (context_window: number | null, prompt_tokens?: number) =>
    explainLength({ context_window }, { max_tokens: 4_096 }, { promptTokens: prompt_tokens });
  const window = "The request exceeds the context window: this model's maximum context length is";

  test("holds what was counted, where it was, and the window, where it is recorded", () => {
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

  // LiteLLM looks in lower case, LangChain and pydantic-ai for any of theirs, others for the number.
  test.each([
    ["LiteLLM", /this model's maximum context length is/i],
    ["LangChain", /context_length_exceeded|exceeds the context window|maximum context length/],
    ["CrewAI", /maximum context length/],
    ["agents that read the window", /maximum context length is \d+ tokens/],
  ])("holds the words that %s looks for", (_, words) => {
    expect(says(32_768)).toMatch(words);
    expect(says(32_768, 36_864)).toMatch(words);
  });

  test("holds none that stand for a rate limit or a quota", () => {
    expect(says(32_768, 36_864)).not.toMatch(/rate.?limit|quota|billing|\b429\b/i);
  });
});
