// Validation of callers' JSON Schemas, and of values by them.
import { describe, expect, test } from "bun:test";
import type { Parameters } from "../../../../src/agents/tools/json-schema/parameters.ts";
import { chain, check, fill, findIn } from "./schemas.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** Parses a caller's body, where `__proto__` is an ordinary field. */
const parse = (text: string): Parameters => JSON.parse(text);

const nest = (depth: number, text: string): string =>
  `${'{"a":'.repeat(depth)}${text}${"}".repeat(depth)}`;

describe("accepts", () => {
  test.each<[string, object]>([
    ["only the type", { type: "object" }],
    ["the dialect by name", { $schema: DIALECT, type: "object" }],
    ["the dialect by its old spelling", { $schema: `${DIALECT}#`, type: "object" }],
    ["a reference to a definition", { type: "object", $ref: "#/$defs/a", $defs: { a: {} } }],
    [
      "definitions by their old name",
      { type: "object", $ref: "#/definitions/a", definitions: { a: {} } },
    ],
    ["a tree", { type: "object", properties: { child: { $ref: "#" } } }],
    ["an `$id`", { $id: "https://a.example/b", type: "object", properties: { c: { $ref: "b" } } }],
    [
      "a nested `$id`",
      { type: "object", $ref: "inner", $defs: { a: { $id: "inner", type: "object" } } },
    ],
    ["an anchor", { type: "object", $ref: "#a", $defs: { any: { $anchor: "a" } } }],
    [
      "a name that has to be escaped",
      { type: "object", $ref: "#/$defs/a~1b%20%C3%A9", $defs: { "a/b é": {} } },
    ],
    ["unknown keywords", { type: "object", "x-shown": true, format: "hue" }],
    ["a description with a URL", { type: "object", default: { $id: "%", $ref: "http://x" } }],
    ["data with a reference", { type: "object", const: { $ref: "http://x", $anchor: "" } }],
    ["properties named like keywords", { type: "object", properties: { $ref: {} } }],
    ["16 levels", parse(`{"type":"object","default":${nest(15, "1")}}`)],
    ["500 parts", { type: "object", anyOf: fill(498, () => ({})) }],
    ["32 KB", { type: "object", title: "x".repeat(32 * 1024 - 28) }],
    ["a reference through 60 others", { type: "object", ...chain(60, ($ref) => ({ $ref })) }],
  ])("%s", async (_what, parameters) => {
    expect(await check(parameters)).toBe(null);
  });

  test.each<[object, string]>([
    [{}, 'must have the `type` "object".'],
    [{ type: "array" }, 'must have the `type` "object".'],
    [{ type: ["object"] }, 'must have the `type` "object".'],
    [parse('{"__proto__":{"type":"object"}}'), 'must have the `type` "object".'],
    [{ type: "object", title: "x".repeat(32 * 1024 - 27) }, "must be at most 32768 bytes of JSON."],
    [parse(`{"type":"object","a":${nest(16, "1")}}`), "must not be nested deeper than 16."],
    [parse(`{"type":"object","a":${nest(10_000, "1")}}`), "must not be nested deeper than 16."],
    [{ type: "object", anyOf: fill(499, () => true) }, "must hold at most 500 objects and lists."],
    [parse('{"type":"object","maxProperties":1e400}'), "must hold no number beyond 1.8e308."],
    [{ type: "object", title: "\ud83d" }, "must hold no half of a character (a lone surrogate)."],
    [
      { type: "object", properties: { "\udc2a": {} } },
      "must hold no half of a character (a lone surrogate).",
    ],
    [
      { type: "object", $schema: "http://json-schema.org/draft-07/schema#" },
      `/$schema\` must be "${DIALECT}", or be left out.`,
    ],
    [
      { type: "object", properties: { a: { $schema: "https://a.example" } } },
      `/properties/a/$schema\` must be "${DIALECT}", or be left out.`,
    ],
    [{ type: "object", $id: "http://[" }, "/$id` must be a URI reference."],
    [
      { type: "object", $defs: { a: { $id: "x" }, b: { $id: "x" } } },
      "/$defs/b/$id` must differ from every other `$id`.",
    ],
    [
      { type: "object", $defs: { a: { $anchor: "x" }, b: { $dynamicAnchor: "x" } } },
      "/$defs/b/$dynamicAnchor` must differ from every other anchor.",
    ],
    [{ type: "object", $anchor: "toString" }, "/$anchor` must have another name."],
  ])("%j is refused: %s", async (parameters, says) => {
    expect(await check(parameters)).toBe(`\`parameters${says.startsWith("/") ? "" : "` "}${says}`);
  });

  test.each([
    "#/$defs/b",
    "#/$defs/a/b",
    "#/$defs/__proto__",
    "#/type",
    "#/x-other",
    "#b",
    "#toString",
    "other.json",
    "https://a.example/b",
    "http://127.0.0.1/",
    "file:///etc/passwd",
    "data:application/json,{}",
    "urn:a:b",
    "https://parameters.invalid/b",
    DIALECT,
  ])("a reference to %s is unresolved", async ($ref) => {
    const places = { $defs: { a: {} }, "x-other": {} };
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const parameters = { type: "object", ...places, properties: { a: { [keyword]: $ref } } };
      expect(await check(parameters)).toBe(
        `\`parameters/properties/a/${keyword}\` must lead to a schema inside \`parameters\`: ` +
          "no other is read.",
      );
    }
  });

  test.each(["%", "http://[", "#%zz"])("%j is not a reference", async ($ref) => {
    const says = await check({ type: "object", properties: { a: { $ref } } });
    expect(says).toStartWith("`parameters/properties/a/$ref` must ");
  });

  test("a refusal is one short line for any schema", async () => {
    const name = `a\n\u0000🐪${"b".repeat(5_000)}`;
    for (const schema of [{ pattern: `(\n${name}` }, { $ref: name }, { type: name }]) {
      const says = await check({ type: "object", properties: { [name]: schema } });
      expect(says).toMatch(/^`parameters[^\p{Cc}]{10,285}\.$/u);
      expect(says?.isWellFormed()).toBe(true);
    }
  });

  test("fetches nothing for a schema", async () => {
    let requestCount = 0;
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch() {
        requestCount++;
        return Response.json({}, { headers: { "content-type": "application/schema+json" } });
      },
    });
    const url = `http://127.0.0.1:${server.port}/a`;
    for (const parameters of [
      { type: "object", $ref: url },
      { type: "object", $id: url, $ref: "other" },
      { type: "object", $schema: url },
      { type: "object", $vocabulary: { [url]: true } },
      { type: "object", $defs: { a: { $id: url, properties: { b: { $dynamicRef: "b" } } } } },
    ]) {
      await check(parameters);
    }
    await server.stop(true);
    expect(requestCount).toBe(0);
  });

  test.each<[object, RegExp]>([
    [{ properties: { a: { type: "text" } } }, /\/properties\/a\/type: must be one of/],
    [{ properties: { a: 1 } }, /\/properties\/a: must be an object or a boolean/],
    [{ items: [{}] }, /\/items: must be an object or a boolean/],
    [{ required: "a" }, /\/required: must be an array/],
    [{ required: ["a", "a"] }, /\/required: must have no item twice/],
    [{ minLength: -1 }, /\/minLength: must be at least 0/],
    [{ multipleOf: 0 }, /\/multipleOf: must be more than 0/],
    [{ allOf: [] }, /\/allOf: must have at least 1 item/],
    [{ $anchor: "a b" }, /\/\$anchor: must match the pattern/],
    [{ $ref: 1 }, /\/\$ref: must be a string/],
    [{ pattern: 1 }, /\/pattern: must be a string/],
    [{ const: { a: 1 }, enum: 5 }, /\/enum: must be an array/],
  ])("the meta-schema rejects %j", async (fields, says) => {
    expect(await check({ type: "object", ...fields })).toMatch(says);
  });

  test("no schema affects the validation of others", async () => {
    const vocabulary = { [`${DIALECT}#`]: true, "https://a.example": false };
    const own = { $id: DIALECT, type: "object", $vocabulary: vocabulary, minProperties: 1 };
    expect(await check(own)).toBe(null);
    const inside = { type: "object", $defs: { a: { ...own, $dynamicAnchor: "meta" } } };
    expect(await check(inside)).toBe(null);
    expect(await check({ type: "object", minProperties: "1" })).toMatch(/minProperties/);
    expect(await findIn({ type: "object", minProperties: 2 }, { a: 1 })).toHaveLength(1);
  });
});
