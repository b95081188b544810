// Tests that the stub model's tool arguments conform to the tool's schema.
import { expect, test } from "bun:test";
import { writeMatch } from "../../../../src/models/providers/stub/pattern.ts";
import {
  writeArguments,
  writeDocument,
} from "../../../../src/models/providers/stub/schema-filler.ts";

/** The value of one required property `x` of that schema. */
function fill(schema: unknown, message = "please", root: Record<string, unknown> = {}): unknown {
  const parameters = { type: "object", properties: { x: schema }, required: ["x"], ...root };
  return JSON.parse(writeArguments(parameters, message)).x;
}

test.each([
  [{ type: "string" }, "please"],
  [{}, "please"],
  [true, "please"],
  [undefined, "please"],
  [{ type: "string", maxLength: 3 }, "ple"],
  [{ type: "string", format: "date" }, "2026-01-01"],
  [{ type: "string", format: "uri" }, "https://example.com/"],
  [{ type: "string", format: "constructor" }, "please"],
  [{ type: "string", enum: ["low", "high"] }, "low"],
  [{ const: 5 }, 5],
  [{ type: "string", default: "en" }, "en"],
  [{ type: "integer" }, 1],
  [{ type: "number", minimum: 2.5 }, 2.5],
  [{ type: "integer", exclusiveMaximum: 0 }, -1],
  [{ type: "boolean" }, true],
  [{ type: "null" }, null],
  [{ type: ["null", "string"] }, "please"],
  [{ anyOf: [{ type: "null" }, { type: "integer" }] }, 1],
  [{ oneOf: [{ type: "boolean" }, { type: "integer" }] }, true],
  [{ type: "array", items: { type: "boolean" } }, [true]],
  [{ type: "array", maxItems: 0 }, []],
  [{ items: { type: "integer" } }, [1]],
  [{ properties: { y: { type: "string" } }, required: ["y"] }, { y: "please" }],
  [{ type: "object", properties: { y: { type: "string" } } }, {}],
  [
    { type: "object", anyOf: [{ required: ["y"] }], required: ["z"] },
    { y: "please", z: "please" },
  ],
])("a property of %j is filled with %j", (schema, value) => {
  expect(fill(schema)).toEqual(value);
});

test("numbers come from the message in order, each once, and within bounds", () => {
  const parameters = {
    type: "object",
    properties: {
      a: { type: "number" },
      b: { type: "integer" },
      c: { type: "integer", maximum: 10 },
      d: { type: "integer" },
    },
    required: ["a", "b", "c", "d"],
  };
  const message = "add2: -2.5 and 3.9 of v1.7, on 2026-11-20";
  expect(JSON.parse(writeArguments(parameters, message))).toEqual({ a: -2.5, b: 3, c: 10, d: 1 });
});

test("references within the schema are followed, others are ignored", () => {
  const $defs = {
    Place: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  };
  expect(fill({ $ref: "#/$defs/Place" }, "7", { $defs })).toEqual({ n: 7 });
  expect(fill({ allOf: [{ $ref: "#/$defs/Place" }] }, "7", { $defs })).toEqual({ n: 7 });
  expect(fill({ $ref: "https://example.com/schema" }, "7")).toBe("7");
  expect(fill({ $ref: "#/constructor/prototype" }, "7")).toBe("7");
});

test("missing parameters, and parameters that are no object, make an empty object", () => {
  for (const parameters of [undefined, {}, { type: "string" }, { type: "array" }, { enum: [1] }]) {
    expect(writeArguments(parameters, "hi")).toBe("{}");
  }
});

test("a property may have the name of an inherited one", () => {
  const required = ["__proto__", "constructor", "toString"];
  const written = writeArguments({ type: "object", properties: {}, required }, "hi");
  expect(written).toBe('{"__proto__":"hi","constructor":"hi","toString":"hi"}');
});

test("a recursive schema and a long message make bounded arguments", () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `p${n}`);
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: "#" }]));
  const parameters: Record<string, unknown> = { type: "object", properties, required: names };
  expect(writeArguments(parameters, "x").length).toBeLessThan(100_000);
  const texts = { type: "object", required: names };
  expect(writeArguments(texts, "😀".repeat(100_000)).length).toBeLessThan(300_000);
  expect(writeArguments({ type: "object", allOf: [{ $ref: "#" }] }, "x")).toBe("{}");
  expect(fill({ $ref: "#/$defs/Loop" }, "x", { $defs: { Loop: { $ref: "#/$defs/Loop" } } })).toBe(
    "x",
  );
});

test.each([["1"], ["-"], ["1.1"], ["1 "]])(
  "256 KB of %j are searched for numbers at once",
  (unit) => {
    const message = unit.repeat(Math.ceil((256 * 1024) / unit.length));
    expect(typeof fill({ type: "number" }, message)).toBe("number");
  },
);

/** An object in an object, whose innermost value stands at this depth. */
const nest = (depth: number): Record<string, unknown> =>
  depth === 0
    ? { type: "boolean" }
    : { type: "object", properties: { x: nest(depth - 1) }, required: ["x"] };
const written = (depth: number, value: boolean | null) =>
  `${'{"x":'.repeat(depth)}${value}${"}".repeat(depth)}`;

test("arguments have values down to the eighth level, documents to the sixteenth", () => {
  expect(writeArguments(nest(8), "x")).toBe(written(8, true));
  expect(writeArguments(nest(9), "x")).toBe(written(9, null));
  expect(writeDocument(nest(16), "x")).toBe(written(16, true));
  expect(writeDocument(nest(17), "x")).toBe("null");
});

test("texts, lists and references are bounded", () => {
  expect(fill({ type: "string" }, "y".repeat(1_001))).toBe("y".repeat(1_000));
  expect(fill({ type: "string", minLength: 20_000 }, "y")).toHaveLength(10_000);
  const list = { type: "array", items: { type: "boolean" }, minItems: 501 };
  expect(fill(list)).toEqual(Array.from({ length: 500 }, () => true));
  // The values of all lists together have a bound.
  const [, second] = fill({ type: "array", prefixItems: [list, list], minItems: 2 }) as unknown[][];
  expect(second!.filter((value) => value !== null).length).toBeLessThan(30);
  const chain = (references: number) => {
    const names = Array.from({ length: references }, (_, n) => `D${n}`);
    const last = { type: "boolean" };
    const $defs = Object.fromEntries(
      names.map((name, n) => [
        name,
        n + 1 === references ? last : { $ref: `#/$defs/${names[n + 1]}` },
      ]),
    );
    return fill({ $ref: "#/$defs/D0" }, "y", { $defs });
  };
  expect([chain(7), chain(8)]).toEqual([true, "y"]);
});

test.each([
  [{ type: "number", exclusiveMinimum: 1 }, 2],
  [{ type: "number", exclusiveMaximum: 1 }, 0],
  [{ type: "number", exclusiveMinimum: 1, maximum: 2 }, 1.5],
  [{ type: "integer", exclusiveMinimum: 1 }, 2],
  [{ type: "integer", exclusiveMinimum: 1, exclusiveMaximum: 3 }, 2],
  [{ type: "string", maxLength: 1 }, "\u{1f600}"],
  [{ type: "string", minLength: 4 }, "\u{1f600}\u{1f600}xx"],
])("%j is filled with %j", (schema, value) => {
  expect(fill(schema, "\u{1f600}\u{1f600}")).toBe(value);
});

test("a reference into another document is not followed", () => {
  const $defs = { Place: { const: 7 } };
  expect(fill({ $ref: "#/$defs/Place" }, "y", { $defs })).toBe(7);
  expect(fill({ $ref: "other.json/$defs/Place" }, "y", { $defs })).toBe("y");
});

test("a document has the simplest variant, whatever their order", () => {
  const variants = [{ $ref: "#/$defs/A" }, { type: "object" }, { type: "array" }, { const: 7 }];
  const root = (anyOf: unknown[]) => ({ anyOf, $defs: { A: { const: 8 } } });
  const write = (some: unknown[]) => writeDocument(root(some), "x");
  expect([0, 1, 2].map((from) => write(variants.slice(from)))).toEqual(["7", "7", "7"]);
  expect([2, 3].map((to) => write(variants.slice(0, to)))).toEqual(["{}", "[]"]);
});

test("texts for patterns are bounded", () => {
  expect(writeMatch("a".repeat(500))).toBe("a".repeat(500));
  expect(writeMatch("a".repeat(501))).toBeNull();
  expect(writeMatch("a{1000}")).toBe("a".repeat(1_000));
  expect(writeMatch("a{1001}")).toBeNull();
  const group = (depth: number) => `${"(".repeat(depth)}a${")".repeat(depth)}`;
  expect([writeMatch(group(16)), writeMatch(group(17))]).toEqual(["a", null]);
  expect(["a*", "a?", "a{0,1}"].map((pattern) => writeMatch(pattern, 1))).toEqual(["a", "a", "a"]);
  expect(writeMatch("a*", 2_000)).toBe("a".repeat(1_000));
});
