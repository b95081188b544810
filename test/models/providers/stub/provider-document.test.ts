// Tests that the stub model's documents conform to the requested schemas, in bounded work.
import { expect, test } from "bun:test";
import { findFaults } from "../../../../src/agents/tools/json-schema/parameters.ts";
import { writeMatch } from "../../../../src/models/providers/stub/pattern.ts";
import {
  writeArguments,
  writeDocument,
} from "../../../../src/models/providers/stub/schema-filler.ts";

const $defs = {
  Node: {
    type: "object",
    properties: {
      name: { type: "string" },
      next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] },
      children: { type: "array", items: { $ref: "#/$defs/Node" } },
    },
    required: ["name", "next", "children"],
    additionalProperties: false,
  },
  Base: { type: "object", properties: { id: { type: "integer", minimum: 5 } }, required: ["id"] },
};

test.each([
  [{ type: "string", minLength: 40, maxLength: 41 }],
  [{ type: "string", maxLength: 2 }],
  [{ type: "string", pattern: "^[A-Z]{3}-[0-9]{2,4}$" }],
  [{ type: "string", pattern: "^(?:red|green)( [a-z]+)?$", minLength: 2 }],
  [{ type: "string", pattern: "^[^a-z]+$", minLength: 5 }],
  [{ type: "string", enum: ["low", "high"] }],
  [{ type: "integer", minimum: 2.5 }],
  [{ type: "integer", exclusiveMaximum: -3, multipleOf: 4 }],
  [{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.5 }],
  [{ type: "number", multipleOf: 0.25, minimum: 1.1 }],
  [{ type: ["string", "null"] }],
  [{ type: "array", items: { type: "boolean" } }],
  [{ type: "array", items: { type: "integer" }, minItems: 3 }],
  [{ type: "array", prefixItems: [{ type: "null" }, { const: 1 }], minItems: 2 }],
  [{ type: "object", required: ["z"], additionalProperties: { type: "integer" } }],
  [{ anyOf: [{ $ref: "#/$defs/Node" }, { type: "string", minLength: 2 }] }],
  [{ oneOf: [{ type: "object", required: ["a"] }, { type: "integer" }] }],
  [{ allOf: [{ $ref: "#/$defs/Base" }, { properties: { b: { const: 2 } }, required: ["b"] }] }],
  [{ $ref: "#/$defs/Node" }],
  [{ type: "object", properties: { __proto__: {} }, required: ["__proto__", "toString"] }],
])("the document for %j conforms", async (inner) => {
  const schema = { type: "object", properties: { x: inner }, required: ["x"], $defs };
  const written = writeDocument(schema, "please take 7 and 2.25");
  const value = JSON.parse(written) as object;
  expect(Object.keys(value)).toEqual(["x"]);
  expect(await findFaults(schema as never, value, 5)).toEqual([]);
});

test("a document need not be an object", () => {
  expect(writeDocument({ type: "array" }, "hi")).toBe("[]");
  expect(writeDocument({ type: "string" }, "hi")).toBe('"hi"');
  expect(writeDocument({}, "hi")).toBe('"hi"');
});

test("a schema that is unsatisfiable or too large takes bounded work", () => {
  const all = Array.from({ length: 2_000 }, (_, n) => `p${n}`);
  const loop = { $ref: "#" };
  const schemas: Record<string, unknown>[] = [
    { type: "object", properties: { a: loop }, required: ["a"] },
    { anyOf: Array.from({ length: 20_000 }, () => loop) },
    { allOf: [loop, loop] },
    { type: "object", required: all, properties: Object.fromEntries(all.map((n) => [n, loop])) },
    { type: "array", minItems: 1e9, items: { type: "array", minItems: 1e9, items: loop } },
  ];
  for (const schema of schemas) {
    expect(writeDocument(schema, "x").length).toBeLessThan(100_000);
  }
  expect(writeDocument({ type: "string", minLength: 1e12 }, "x").length).toBeLessThan(20_000);
});

test("names that a schema provides are not repeated without end", () => {
  const long = "v".repeat(100_000);
  for (const item of [{ const: long }, { enum: [[long]] }, { default: long }, { minLength: 1e4 }]) {
    for (const write of [writeDocument, writeArguments]) {
      const list = { type: "array", minItems: 400, items: { type: "string", ...item } };
      const schema = { type: "object", required: ["list"], properties: { list } };
      expect(write(schema, "x").length).toBeLessThan(400_000);
    }
  }
});

test("a pattern is parsed and never run", () => {
  expect(writeMatch("^(a+)+$", 3)).toBe("aaa");
  expect(writeMatch(String.raw`^\d{4}-\d\d\.[^0a]$`)).toBe("0000-00.A");
  expect(writeMatch("^[a-z]*$", 3)).toBe("aaa");
  for (const unread of [
    "(?=a)b",
    "(a",
    "[a",
    "a)",
    String.raw`(a)\1`,
    "a{100000}",
    "((".repeat(99),
  ]) {
    expect([unread, writeMatch(unread)]).toEqual([unread, null]);
  }
});
