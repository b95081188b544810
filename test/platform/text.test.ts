import { expect, test } from "bun:test";
import { shorten, writeOneLine } from "../../src/platform/text.ts";

test("a text is kept up to the maximum and truncated beyond it", () => {
  expect(["abc", "abcd"].map((text) => shorten(text, 3))).toEqual(["abc", "abc…"]);
  expect(shorten("x".repeat(65))).toBe(`${"x".repeat(64)}…`);
});

test("the result is well-formed and splits no character", () => {
  expect(shorten("ab😀c", 3)).toBe("ab…");
  expect(shorten("ab😀c", 4)).toBe("ab😀…");
  expect(shorten("a\ud83d", 3)).toBe("a\ufffd");
});

test("one line has no control characters", () => {
  expect(writeOneLine("a\r\nb\u0007c\u0085d")).toBe("a  b c d");
});
