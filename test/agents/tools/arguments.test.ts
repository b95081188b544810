// Parsing and validation of a call's arguments, and its messages.
import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import {
  type CheckedArguments,
  checkArguments,
  createArgumentsCheck,
} from "../../../src/agents/tools/arguments.ts";
import type { Uncomputed } from "../../../src/compute/index.ts";
import { inlineCompute } from "../../support/compute.ts";

const parameters = Type.Object(
  {
    query: Type.String({ minLength: 1 }),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 20 })),
  },
  { additionalProperties: false },
);
const anything = Type.Object({});

test("valid arguments are parsed into their object", () => {
  const value = { query: "camels", count: 3 };
  expect(checkArguments(parameters, JSON.stringify(value))).toEqual({ ok: true, value });
});

test.each([
  ["bytes of a text", `{"a":"${"x".repeat(262_136)}"}`],
  ["bytes of other letters", `{"a":"${"م".repeat(131_068)}"}`],
  ["objects and lists", `{"a":[${Array(19_998).fill("{}")}]}`],
  ["levels", `{"a":${"[".repeat(63)}${"]".repeat(63)}}`],
])("as many %s as may be are accepted", (_, text) => {
  expect(checkArguments(anything, text)).toEqual({ ok: true, value: JSON.parse(text) });
});

test.each(["", "  ", "\n", "{}"])("%j is not an object of arguments", (text) => {
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
  [
    `{"a":[${Array(20_000).fill("{}")}]}`,
    "The arguments must hold at most 20000 objects and lists.",
  ],
  [`{"a":"${"x".repeat(262_144)}"}`, "The arguments are longer than 262144 bytes."],
  [`{"a":"${"م".repeat(131_072)}"}`, "The arguments are longer than 262144 bytes."],
])("%.30s is reported in one sentence", (text, fault) => {
  expect(checkArguments(anything, text)).toEqual({ ok: false, faults: [fault] });
});

test.each([
  ['{"a":1e400}', "The arguments must hold no number beyond 1.8e308."],
  ['{"a":[{"b":-1e999}]}', "The arguments must hold no number beyond 1.8e308."],
  ['{"a":"\\ud83d"}', "The arguments must hold no half of a character (a lone surrogate)."],
  ['{"\\udc2a":1}', "The arguments must hold no half of a character (a lone surrogate)."],
  ['{"a":"\ud83d"}', "The arguments must hold no half of a character (a lone surrogate)."],
])("%j has no canonical text", (text, fault) => {
  expect(checkArguments(anything, text)).toEqual({ ok: false, faults: [fault] });
});

test("the last value of a repeated field counts, and only it is kept", () => {
  const text = '{"query":"a","query":"b","count":1e0,"count":2}';
  const value = { query: "b", count: 2 };
  expect(checkArguments(parameters, text)).toEqual({ ok: true, value });
});

test("keeps characters whole at the cut after 65,536", () => {
  const value = { a: "🐪" };
  expect(checkArguments(anything, '{"a":"\\ud83d\\udc2a"}')).toEqual({ ok: true, value });
});

test("64 levels are accepted", () => {
  const text = `{"a":${"[".repeat(63)}${"]".repeat(63)}}`;
  expect(checkArguments(anything, text)).toEqual({ ok: true, value: JSON.parse(text) });
});

test("brackets inside strings do not count as nesting", () => {
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

test("reports at most five faults, each short", () => {
  const names = Array.from({ length: 50 }, (_, n) => [`${n}${"🐪".repeat(1_000)}`, 1]);
  const checked = checkArguments(parameters, JSON.stringify(Object.fromEntries(names)));
  if (checked.ok) throw new Error("nothing was at fault");
  expect(checked.faults).toHaveLength(5);
  for (const fault of checked.faults) {
    expect(fault.length).toBeLessThanOrEqual(300);
    expect(fault.isWellFormed()).toBe(true);
  }
});

test("a field named `__proto__` does not touch a prototype", () => {
  const checked = checkArguments(anything, '{"__proto__":{"is_admin":true}}');
  expect(checked.ok && "is_admin" in checked.value).toBe(false);
  expect(checkArguments(parameters, '{"query":"x","__proto__":{}}').ok).toBe(false);
});

describe("a number that a double would round is refused", () => {
  const says = (number: string): CheckedArguments => ({
    ok: false,
    faults: [
      "The arguments hold an integer beyond 9007199254740991, which would be rounded: " +
        `${number}. Write it as a string.`,
    ],
  });

  test.each([["9007199254740993"], ["9007199254740992"], ["12345678901234567890.5"]])(
    "%s",
    (number) => {
      for (const sign of ["", "-"]) {
        const nested = `{"a":[{"b":${sign}${number}}],"c":1}`;
        expect(checkArguments(anything, nested)).toEqual(says(number));
      }
    },
  );

  test("an endless number is quoted briefly", () => {
    const number = "1".repeat(100_000);
    expect(checkArguments(anything, `{"a":${number}}`)).toEqual(says("1".repeat(40)));
  });

  test.each<[string, unknown]>([
    ["9007199254740991", 9007199254740991],
    ["-9007199254740991", -9007199254740991],
    ["0.12345678901234567890", 0.12345678901234568],
    ["1e300", 1e300],
    ["12345678901234560000e-5", 123456789012345.6],
    ['"12345678901234567890"', "12345678901234567890"],
    [String.raw`"\\"`, "\\"],
    [String.raw`"\"12345678901234567890"`, '"12345678901234567890'],
  ])("%s is accepted", (text, a) => {
    const value = { a } as Record<string, unknown>;
    expect(checkArguments(anything, `{"a":${text}}`)).toEqual({ ok: true, value });
  });
});

describe("by a caller's schema", () => {
  const checkText = createArgumentsCheck(inlineCompute);
  const check = (schema: object, text: string) =>
    checkText(schema as Record<string, unknown>, text, { account: "a-1" });
  const own = {
    type: "object",
    properties: {
      city: { type: "string", minLength: 2 },
      days: { type: "array", items: { $ref: "#/$defs/day" }, maxItems: 3 },
    },
    required: ["city"],
    additionalProperties: false,
    $defs: { day: { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$" } },
  };
  test("valid arguments are parsed into their object", async () => {
    const value = { city: "الرياض", days: ["2026-01-01"] };
    expect(await check(own, JSON.stringify(value))).toEqual({ ok: true, value });
  });

  test.each<[string, string[]]>([
    ["", ['The arguments: must have the field "city".']],
    ["[]", ["The arguments must be a JSON object."]],
    ["{", ["The arguments are no valid JSON."]],
    ['{"city":"A"}', ["/city: must have a length of at least 2 characters."]],
    [
      '{"city":"Jeddah","days":["today"]}',
      ["/days/0: must match the pattern ^\\d{4}-\\d{2}-\\d{2}$."],
    ],
    ['{"city":"Jeddah","unit":"C"}', ["/unit: Unexpected property."]],
    [
      '{"city":1,"days":[1,2,3,4],"a":1,"b":1}',
      [
        "/city: must be a string.",
        "/days/0: must be a string.",
        "/days/1: must be a string.",
        "/days/2: must be a string.",
        "/days/3: must be a string.",
      ],
    ],
  ])("%s has at most five faults reported", async (text, faults) => {
    expect(await check(own, text)).toEqual({ ok: false, faults });
  });

  test("faults are short for any names", async () => {
    const names = Array.from({ length: 50 }, (_, n) => [`${n}${"🐪".repeat(1_000)}`, 1]);
    const text = JSON.stringify({ city: "Jeddah", ...Object.fromEntries(names) });
    const checked = await check(own, text);
    if (checked.ok) throw new Error("nothing was at fault");
    expect(checked.faults).toHaveLength(5);
    for (const fault of checked.faults) {
      expect(fault.length).toBeLessThanOrEqual(300);
      expect(fault.isWellFormed()).toBe(true);
    }
  });

  test("a field named `__proto__` does not touch a prototype", async () => {
    const open = { type: "object" };
    const checked = await check(open, '{"__proto__":{"is_admin":true}}');
    expect(checked.ok && "is_admin" in checked.value).toBe(false);
    expect(await check(own, '{"city":"Jeddah","__proto__":{}}')).toEqual({
      ok: false,
      faults: ["/__proto__: Unexpected property."],
    });
  });

  test.each<[Uncomputed, string]>([
    ["timeout", "The arguments: Checking them took too long and was given up."],
    ["failed", "The arguments: Checking them failed by a fault of the service."],
  ])("a validation without an end (%s) is a fault of the arguments", async (reason, fault) => {
    const compute = { run: async () => ({ ok: false, reason }) as const };
    const checked = await createArgumentsCheck(compute)(own, "{}", { account: "a-1" });
    expect(checked).toEqual({ ok: false, faults: [fault] });
  });
});
