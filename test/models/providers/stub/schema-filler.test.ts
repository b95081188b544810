// Tests that the stub model's tool arguments conform to the tool's schema.
import { expect, test } from "bun:test";
import { writeArguments } from "../../../../src/models/providers/stub/schema-filler.ts";

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
