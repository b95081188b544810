// Tests JSON for strict parsers: lone surrogates become U+FFFD, and nothing else changes.
import { expect, test } from "bun:test";
import { repairJson, writeJson } from "../../src/platform/json.ts";

test("lone surrogates become U+FFFD in texts and names, at any depth", () => {
  const value = {
    "a\ud83d": ["\ud83d b", { c: "\udc00" }, "\udc00\ud83d"],
    d: "\ud83d\ud83d\ude00",
  };
  expect(JSON.parse(writeJson(value))).toEqual({
    "a\ufffd": ["\ufffd b", { c: "\ufffd" }, "\ufffd\ufffd"],
    d: "\ufffd😀",
  });
});

test("well-formed data is written as by JSON.stringify", () => {
  for (const value of ["😀", "\\ud83d", '\\\\ud83d\n\u0001"', { a: [1, null, true] }]) {
    expect(writeJson(value)).toBe(JSON.stringify(value));
  }
});

test("an escaped backslash begins no escape", () => {
  expect(JSON.parse(writeJson("\\ud83d \ud83d"))).toBe("\\ud83d \ufffd");
});

test("whole escaped pairs in a JSON text stay, in any case", () => {
  const text = String.raw`{"a":"\ud83d\ude00 \uD83D\uDE00 \uD83D \ude00\\ud83d"}`;
  const repaired = String.raw`{"a":"\ud83d\ude00 \uD83D\uDE00 \ufffd \ufffd\\ud83d"}`;
  expect(repairJson(text)).toBe(repaired);
});
