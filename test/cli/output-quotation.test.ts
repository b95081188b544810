// Tests that untrusted text on a terminal controls nothing and hides nothing.
import { expect, test } from "bun:test";
import { drawJson, escapeControls, quote, quoteWhole } from "../../src/cli/output.ts";

/** Terminal control characters, bidirectional marks and invisible characters. */
const HIDDEN = [
  ..."\u0000\u0007\b\t\n\r\u001b\u007f\u0080\u009b\u009f",
  ..."\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066",
  ..."\u2069\u3164\ufe0f\ufeff\uffa0\ufff9\u{e0041}\u{e0100}\ud800",
];
const VISIBLE = "Zürich — 東京 مرحبا שלום 😀 é \\ / < > & ' `";

const isHarmless = (text: string) => HIDDEN.every((mark) => mark === "\n" || !text.includes(mark));

test("hidden characters are escaped, and all else stays unchanged", () => {
  for (const mark of HIDDEN) {
    const line = quote(`a${mark}b`);
    expect([line, isHarmless(line), line.includes("\n")]).toEqual([line, true, false]);
  }
  expect(quote(VISIBLE)).toBe(JSON.stringify(VISIBLE));
  expect(quote("\u001b[2J\u202e\u{e0041}")).toBe('"\\u001b[2J\\u202e\\udb40\\udc41"');
});

test("long text is cut for people, unless the whole is requested", () => {
  const long = "x".repeat(101);
  expect(quote("x".repeat(100))).toBe(`"${"x".repeat(100)}"`);
  expect(quote(long)).toBe(`"${"x".repeat(100)}"…`);
  expect(quoteWhole(long)).toBe(`"${long}"`);
  expect(quoteWhole({ a: "\u009b\ud800" })).toBe('{"a":"\\u009b\\ud800"}');
});

test("JSON for people parses to the same value, and hides nothing", () => {
  const value = {
    [`key${HIDDEN.join("")}`]: HIDDEN.join(""),
    list: [1, null, true, { deep: VISIBLE }],
    empty: {},
    __proto__x: "y",
  };
  const drawn = drawJson(value);
  expect(JSON.parse(drawn)).toEqual(value);
  expect(isHarmless(drawn)).toBe(true);
  expect(drawJson({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}\n');
  expect(drawJson("text")).toBe('"text"\n');
});

test("controls of a terminal and of the direction of its text are escaped, and no others", () => {
  const marks = [0x1b, 0x7f, 0x61c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069];
  for (const mark of marks) {
    const code = mark.toString(16).padStart(4, "0");
    expect(escapeControls(`a${String.fromCharCode(mark)}b`)).toBe(`a\\u${code}b`);
  }
  const plain = "a\n\tb \u200d\u2010\u202f\u2065\u206a \u0645 \u{1f600}";
  expect(escapeControls(plain)).toBe(plain);
});
