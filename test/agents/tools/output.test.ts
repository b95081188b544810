// Truncation of results: the shown part, the stored part and the cut.
import { describe, expect, test } from "bun:test";
import { cutOutput } from "../../../src/agents/tools/output.ts";

const KB = 1_024;

test.each(["", "short", "م".repeat(32 * KB), "x".repeat(64 * KB)])(
  "a result of up to 64 KB is shown whole (%#)",
  (content) => {
    expect(cutOutput(content, "call_1")).toEqual({
      shown: content,
      whole: null,
      truncated: false,
    });
  },
);

describe("a longer result", () => {
  test.each([
    ["x".repeat(64 * KB + 1)],
    ["م".repeat(100_000)],
    [`x${"🐪".repeat(50_000)}`],
    ["漢x".repeat(60_000)],
    // Longer in bytes only.
    ["漢".repeat(30_000)],
  ])("shows head and tail with a marker between (%#)", (content) => {
    const { shown, whole, truncated } = cutOutput(content, "call_1");
    expect(truncated).toBe(true);
    expect(whole).toBe(content);
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(64 * KB);
    expect(shown).not.toContain("\ufffd");
    const [head, , tail] = shown.split(/\n\n(\[… .* …\])\n\n/);
    expect(content.startsWith(head!)).toBe(true);
    expect(content.endsWith(tail!)).toBe(true);
    expect(Buffer.byteLength(head!)).toBeGreaterThan(47 * KB);
    expect(Buffer.byteLength(tail!)).toBeGreaterThan(15 * KB);
  });

  test("is shown as a short note once a run has shown very much, and is not stored", () => {
    const content = `begin${"x".repeat(2_000_000)}end`;
    const room = { isWide: false, keepsWhole: false };
    const { shown, whole, truncated } = cutOutput(content, "call_1", room);
    expect([whole, truncated]).toEqual([null, true]);
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(4 * KB);
    expect(shown).toStartWith("begin");
    expect(shown).toContain("characters are left out here");
    expect(shown).not.toContain("read_output");
    expect(cutOutput("x".repeat(4 * KB), "call_1", room).truncated).toBe(false);
  });

  test("tells how to read the rest, if possible", () => {
    const content = "🐪".repeat(50_000);
    const mark = /\[… (\d+) characters are left out here, from character (\d+) on\. (.*) …\]/;
    const [, leftOut, offset, rest] = mark.exec(cutOutput(content, "call_1").shown)!;
    const head = [...cutOutput(content, "call_1").shown].indexOf("\n");
    expect(Number(offset)).toBe(head);
    expect(Number(leftOut)).toBeGreaterThan(30_000);
    expect(rest).toBe(`read_output with tool_call_id "call_1" and offset ${offset} reads them.`);
    expect(cutOutput(content, null).shown).not.toContain("read_output");
  });

  test("is stored up to 1 MB, and the shown tail is of the stored part", () => {
    const content = `${"م".repeat(600 * KB)}the end`;
    const { shown, whole } = cutOutput(content, "call_1");
    expect(Buffer.byteLength(whole!)).toBe(KB * KB);
    expect(content.startsWith(whole!)).toBe(true);
    expect(whole!.endsWith(shown.slice(-1_000))).toBe(true);
    const lost = Buffer.byteLength(content) - KB * KB;
    expect(shown).toContain(`The last ${lost} bytes of the result were not kept.`);
  });
});

test("replaces characters that no database accepts", () => {
  expect(cutOutput("a\0b\ud800c\udc00", null).shown).toBe("a\ufffdb\ufffdc\ufffd");
  const { shown, whole } = cutOutput("\0\ud800x".repeat(40 * KB), null);
  for (const text of [shown, whole!]) {
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\0");
  }
});
