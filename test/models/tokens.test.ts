// Tests the tokenizer: tokens join to the text, are small, and take linear time.
import { expect, test } from "bun:test";
import { countBundled } from "../../src/models/bundled-tokenizer/count.ts";
import {
  countPromptTokens,
  countTokens,
  estimateTokens,
  listTexts,
  splitTokens,
  takeCodePoints,
} from "../../src/models/tokens.ts";
import { createAsk } from "../support/ask.ts";

const QUARTER_MB = 256 * 1024;

test.each([
  ["", []],
  ["Hello world", ["Hell", "o", " worl", "d"]],
  ["one  two\n\nsix", ["one", "  two", "\n\nsix"]],
  ["      far", ["    ", "  far"]],
  ["end ", ["end", " "]],
  ["مرحبا يا وادي", ["مرحب", "ا", " يا", " وادي"]],
  ["漢字漢字漢字", ["漢字漢字", "漢字"]],
  ["🏜️🐪🌴", ["🏜️🐪🌴"]],
  ["😀😀😀😀😀", ["😀😀😀😀", "😀"]],
  ["\ud800x", ["\ud800x"]],
])("%j is cut into %j", (text, tokens) => {
  expect(splitTokens(text)).toEqual(tokens);
  expect(countTokens(text)).toBe(tokens.length);
});

test.each([
  ["one letter", "a"],
  ["spaces", " "],
  ["emoji", "😀"],
  ["Chinese", "漢"],
  ["half surrogates", "\ud800"],
  ["a family of joiners", "👩‍👩‍👧‍👦 "],
  ["words", "lorem ipsum dolor "],
])("256 KB of %s are split in linear time and join to the same text", (_, unit) => {
  const text = unit.repeat(Math.ceil(QUARTER_MB / unit.length));
  const tokens = splitTokens(text);
  expect(tokens.join("")).toBe(text);
  expect(tokens.length).toBe(countTokens(text));
  expect(Math.max(...tokens.map((token) => [...token].length))).toBeLessThanOrEqual(8);
  // A text of twice the length has about twice the tokens, independent of its context.
  expect(countTokens(text + text)).toBeGreaterThanOrEqual(2 * tokens.length - 2);
});

test("no token ends inside a surrogate pair", () => {
  for (const token of splitTokens("a😀bc😀 😀😀😀d 😀")) expect(token.isWellFormed()).toBe(true);
});

test("only the requested number of tokens is cut", () => {
  expect(splitTokens("a b c d", 2)).toEqual(["a", " b"]);
  expect(splitTokens("a b c d", 0)).toEqual([]);
});

test.each([
  ["a😀b", 2, "a😀"],
  ["a😀b", 9, "a😀b"],
  ["a😀b", 0, ""],
  ["a😀b", -1, ""],
])("the start of %j of %d code points is %j", (text, count, start) => {
  expect(takeCodePoints(text, count)).toBe(start);
});

test("a prompt counts its texts, images, calls and tools, and an overhead for each message", () => {
  const said = countPromptTokens(createAsk("one two"));
  expect(said).toBe(4 + 2);
  const url = `data:image/png;base64,${"A".repeat(100_000)}`;
  const parts = countPromptTokens(
    createAsk([
      {
        role: "user",
        content: [
          { type: "text", text: "one two" },
          { type: "image_url", image_url: { url } },
        ],
      },
    ]),
  );
  expect(parts).toBe(said + 256);
  const turn = countPromptTokens(
    createAsk([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "add", arguments: "{}" } },
        ],
      },
      { role: "tool", content: "5", tool_call_id: "call_1" },
    ]),
  );
  expect(turn).toBe(4 + 2 + 4 + 1);
  const tools = [{ type: "function" as const, function: { name: "add" } }];
  const withTools = countPromptTokens(createAsk("one two", { tools }));
  expect(withTools).toBe(said + countTokens(JSON.stringify(tools)));
});

test.each([
  ["English", "What is not long enough for one page is written on two, and both are read again."],
  ["code", "const total = items.reduce((sum, { price }) => sum + price, 0); // in halalas"],
  ["JSON", '{"name":"get_weather","parameters":{"type":"object","required":["city"]}}'],
  ["German", "Was auf einer Seite keinen Platz hat, das steht auf der nächsten größeren Seite."],
  ["Arabic", "وادي السيليكون منطقة في جنوب خليج سان فرانسيسكو، وهي موطن لكثير من شركات التقنية."],
  ["Russian", "Искусственный интеллект занимается созданием интеллектуальных машин и программ."],
  ["Hindi", "कृत्रिम बुद्धिमत्ता कंप्यूटर विज्ञान की एक शाखा है जो मशीनों को बुद्धि देती है।"],
  ["Chinese", "人工智能是计算机科学的一个分支，它企图了解智能的实质，并生产出新的智能机器。"],
  ["Japanese", "人工知能とは、計算という概念とコンピュータを用いて知能を研究する分野を指す語。"],
  ["Korean", "인공지능은 인간의 학습능력과 추론능력을 인공적으로 구현하려는 과학의 한 분야이다."],
  ["emoji", "😀🐪🌴🏜😀🐪🌴🏜"],
])("%s is estimated within a third of what a real tokenizer counts", async (_, text) => {
  const counted = await countBundled([text], Number.POSITIVE_INFINITY);
  const estimated = estimateTokens(text);
  expect(estimated).toBeGreaterThan((counted * 2) / 3);
  expect(estimated).toBeLessThan((counted * 4) / 3);
  const halves = estimateTokens(text.slice(0, 7)) + estimateTokens(text.slice(7));
  expect(halves).toBeCloseTo(estimated, 9);
});

test("each script has its own estimate, from its first letter to its last", () => {
  const units = ["\x7f", "\x80", "\u05ff", "\u0600", "\u08ff", "\u0900", "\u1fff", "\u2000"];
  units.push("\ud7ff", "\ud800", "\uffff");
  expect(units.map(estimateTokens)).toEqual([
    ...[0.25, 0.22, 0.22, 0.3, 0.3, 0.35, 0.35, 0.7, 0.7, 0.8, 0.8],
  ]);
  expect(takeCodePoints("\uffffab", 1)).toBe("\uffff");
});

test("tools are a text of the prompt, which each tokenizer counts for itself", () => {
  const tools = [{ type: "function" as const, function: { name: "add" } }];
  const asked = createAsk("one two", { tools });
  expect(listTexts(asked)).toEqual(["one two", JSON.stringify(tools)]);
  expect(listTexts(createAsk("one two"))).toEqual(["one two"]);
  const counts = [() => 100, () => 1, () => 100].map((count) => countPromptTokens(asked, count));
  expect(counts).toEqual([204, 6, 204]);
});
