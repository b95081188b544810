// Holds the tokenizer to its promises: pieces join to the text, small pieces, linear time.
import { expect, test } from "bun:test";
import {
  countPromptTokens,
  countTokens,
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
])("256 KB of %s are cut in linear time and join to themselves again", (_, unit) => {
  const text = unit.repeat(Math.ceil(QUARTER_MB / unit.length));
  const tokens = splitTokens(text);
  expect(tokens.join("")).toBe(text);
  expect(tokens.length).toBe(countTokens(text));
  expect(Math.max(...tokens.map((token) => [...token].length))).toBeLessThanOrEqual(8);
  // A text twice as long has about twice the tokens: none grows with what stands around it.
  expect(countTokens(text + text)).toBeGreaterThanOrEqual(2 * tokens.length - 2);
});

test("no token ends inside a surrogate pair", () => {
  for (const token of splitTokens("a😀bc😀 😀😀😀d 😀")) expect(token.isWellFormed()).toBe(true);
});

test("only as many tokens are cut as are asked for", () => {
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

test("a prompt counts its texts, images, calls and tools, and something for each message", () => {
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
