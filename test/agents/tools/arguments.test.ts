// Holds the reading of a call's arguments to its bounds and its words.
import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { checkArguments } from "../../../src/agents/tools/arguments.ts";

const parameters = Type.Object(
  {
    query: Type.String({ minLength: 1 }),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 20 })),
  },
  { additionalProperties: false },
);
const anything = Type.Object({});

test("valid arguments are the object that the text holds", () => {
  const value = { query: "camels", count: 3 };
  expect(checkArguments(parameters, JSON.stringify(value))).toEqual({ ok: true, value });
});

test.each(["", "  ", "\n", "{}"])("%j is no arguments", (text) => {
  expect(checkArguments(anything, text)).toEqual({ ok: true, value: {} });
});

test.each([
  ["{", "The arguments are no valid JSON."],
  ["{'query': 1}", "The arguments are no valid JSON."],
  ["[]", "The arguments must be a JSON object."],
  ["null", "The arguments must be a JSON object."],
  ['"query"', "The arguments must be a JSON object."],
  [`{"a":${"[".repeat(64)}${"]".repeat(64)}}`, "The arguments are nested deeper than 64."],
  [`{"a":${"[".repeat(100_000)}`, "The arguments are nested deeper than 64."],
  [`{"a":"${"x".repeat(262_144)}"}`, "The arguments are longer than 262144 bytes."],
  [`{"a":"${"م".repeat(131_072)}"}`, "The arguments are longer than 262144 bytes."],
])("%.30s is told in one sentence", (text, fault) => {
  expect(checkArguments(anything, text)).toEqual({ ok: false, faults: [fault] });
});

test("brackets inside strings nest nothing", () => {
  const value = { a: `\\"${"[{".repeat(100)}`, b: { c: [[1]] } };
  expect(checkArguments(anything, JSON.stringify(value))).toEqual({ ok: true, value });
});

test("each fault names its field", () => {
  expect(checkArguments(parameters, '{"query":"","count":21}')).toEqual({
    ok: false,
    faults: [
      expect.stringMatching(/^\/query: .*length.*1/),
      expect.stringMatching(/^\/count: .*integer.*20/),
    ],
  });
  expect(checkArguments(parameters, '{"query":"x","other":1}')).toEqual({
    ok: false,
    faults: [expect.stringMatching(/^\/other: Unexpected property/)],
  });
});

test("at most five faults are told, and each is short", () => {
  const names = Array.from({ length: 50 }, (_, n) => [`${n}${"🐪".repeat(1_000)}`, 1]);
  const checked = checkArguments(parameters, JSON.stringify(Object.fromEntries(names)));
  if (checked.ok) throw new Error("nothing was at fault");
  expect(checked.faults).toHaveLength(5);
  for (const fault of checked.faults) {
    expect(fault.length).toBeLessThanOrEqual(300);
    expect(fault.isWellFormed()).toBe(true);
  }
});

test("a field of that name touches no prototype", () => {
  const checked = checkArguments(anything, '{"__proto__":{"is_admin":true}}');
  expect(checked.ok && "is_admin" in checked.value).toBe(false);
  expect(checkArguments(parameters, '{"query":"x","__proto__":{}}').ok).toBe(false);
});
