// Bounds of schemas and checks: every schema ends, and yields to others.
import { describe, expect, test } from "bun:test";
import { chain, check, fill, findIn } from "./schemas.ts";

describe("the work of a check is bounded", () => {
  test.each<[string, object]>([
    ["a reference to itself", { $ref: "#" }],
    ["a dynamic reference to itself", { $dynamicAnchor: "a", $dynamicRef: "#a" }],
    [
      "a cycle of two",
      { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: { anyOf: [{ $ref: "#" }] } } },
    ],
    ["a condition that is its own test", { if: { $ref: "#" } }],
    ["a negation of itself", { not: { $ref: "#" } }],
    ["a chain that doubles at each level", chain(40, ($ref) => ({ allOf: [{ $ref }, { $ref }] }))],
    ["a chain of alternatives", chain(40, ($ref) => ({ oneOf: [{ $ref }, { $ref }] }))],
    [
      "a chain of conditions",
      chain(40, ($ref) => JSON.parse(`{"if":{"$ref":"${$ref}"},"then":true}`)),
    ],
  ])("%s is refused", async (_what, fields) => {
    expect(await check({ type: "object", ...fields })).toStartWith(
      "`parameters` take too much work for any arguments: ",
    );
  });

  const tooMuch = ["The arguments: Checking them takes too much work."];
  const items = (schema: object) => ({ type: "object", properties: { a: { items: schema } } });
  const all = (length: number, make: (n: number) => object) => ({
    type: "object",
    properties: { a: { allOf: fill(length, make) } },
  });
  const deep = (depth: number): unknown => (depth === 0 ? [] : [deep(depth - 1)]);
  const again = '{"items":{"$ref":"#/$defs/n"}}';
  const fan = (keyword: string) => ({
    type: "object",
    properties: { a: { $ref: "#/$defs/n" } },
    $defs: { n: { [keyword]: fill(15, () => ({ items: { $ref: "#/$defs/n" }, maxItems: 1 })) } },
  });

  // Each would take seconds or far longer. Steps are counted, so the result is deterministic.
  test.each<[string, object, unknown]>([
    [
      "a schema that depends on itself",
      { type: "object", dependentSchemas: { a: { $ref: "#" } } },
      1,
    ],
    [
      "a property with its own schema",
      JSON.parse('{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}'),
      1,
    ],
    ["a fan of alternatives at each level", fan("anyOf"), deep(60)],
    ["many requirements at each level", fan("allOf"), deep(60)],
    [
      "a condition in a condition",
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/n" } },
        $defs: JSON.parse(`{"n":{"if":${again},"then":${again},"else":${again}}}`),
      },
      deep(60),
    ],
    [
      "many searches in a long list",
      all(200, (n) => ({ contains: { const: n } })),
      fill(50_000, () => -1),
    ],
    [
      "a long list compared again and again",
      all(200, () => ({ uniqueItems: true })),
      fill(30_000, (n) => n),
    ],
    [
      "a long value compared again and again",
      all(300, (n) => ({ const: n })),
      fill(50_000, (n) => n),
    ],
    ["a long choice for each item", items({ enum: fill(5_000, (n) => n) }), fill(30_000, () => -1)],
    [
      "a long text counted again and again",
      all(450, () => ({ minLength: 1 })),
      "x".repeat(250_000),
    ],
    [
      "many requirements for each item",
      items({ required: fill(2_500, (n) => `${n}`) }),
      fill(80_000, () => ({})),
    ],
    [
      "an automaton with exponential states",
      all(1, () => ({ pattern: "(a|b)*a[ab]{900}c" })),
      "ab".repeat(120_000),
    ],
    [
      "many patterns and a long text",
      all(60, (n) => ({ pattern: `(a|b)*c${n}` })),
      "ab".repeat(100_000),
    ],
  ])("%s is aborted", async (_what, parameters, a) => {
    expect(await check(parameters)).toBe(null);
    expect(await findIn(parameters, { a })).toEqual(tooMuch);
  });

  test.each<[string, object, unknown]>([
    [
      "256 KB of numbers",
      items({ type: "number", minimum: 0, maximum: 9 }),
      fill(120_000, () => 5),
    ],
    [
      "256 KB of numbers, each of two kinds",
      items({ anyOf: [{ type: "null" }, { type: "number" }] }),
      fill(120_000, () => 5),
    ],
    [
      "a long text by a pattern",
      all(1, () => ({ pattern: "^[a-z ]+$", maxLength: 300_000 })),
      "camels ".repeat(30_000),
    ],
    [
      "many records",
      items({
        type: "object",
        properties: { b: { type: "string", minLength: 1 } },
        required: ["b"],
        additionalProperties: false,
      }),
      fill(15_000, () => ({ b: "camel" })),
    ],
    [
      "an unreachable cycle of definitions",
      { type: "object", $defs: { a: { anyOf: [{ type: "null" }, { $ref: "#/$defs/a" }] } } },
      1,
    ],
    ["a chain of 200 references", { type: "object", ...chain(200, ($ref) => ({ $ref })) }, 1],
    [
      "62 levels of 30 references each",
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/d0" } },
        $defs: chain(30, ($ref) => ({ $ref }), { items: { $ref: "#/$defs/d0" } }).$defs,
      },
      deep(60),
    ],
  ])("%s are validated", async (_what, parameters, a) => {
    expect(await check(parameters)).toBe(null);
    expect(await findIn(parameters, { a })).toEqual([]);
  });

  test("an aborted check leaves no state", async () => {
    const parameters = fan("anyOf");
    expect(await findIn(parameters, { a: deep(60) })).toEqual(tooMuch);
    expect(await findIn(parameters, { a: [] })).toEqual([]);
    expect(await findIn(parameters, { a: [1, 2] })).not.toEqual([]);
    const nested = {
      type: "object",
      properties: { a: { $ref: "#/$defs/n" } },
      $defs: { n: { items: { $ref: "#/$defs/n" } } },
    };
    expect(await findIn(nested, { a: deep(2_500) })).toEqual(tooMuch);
    expect(await findIn(nested, { a: [[1]] })).toEqual([]);
  });
});
