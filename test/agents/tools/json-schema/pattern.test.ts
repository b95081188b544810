// Callers' patterns in linear time: acceptance, meaning and cost.
import { describe, expect, test } from "bun:test";
import { check, fill, findIn } from "./schemas.ts";

describe("patterns", () => {
  test.each([
    ["^[a-z]{2,8}$", "camel", "Camel"],
    ["camel", "a camel here", "came l"],
    ["^\\d+(\\.\\d{2})?$", "19.99", "19.999"],
    ["^\\u0041\\u{1F42A}$", "A🐪", "A🐫"],
    ["^(?<year>\\d{4})-\\d\\d$", "2026-01", "26-01"],
    ["^\\p{L}+$", "جمل", "جمل1"],
    ["^[^@\\s]+@[^@\\s]+$", "a@b", "a b@c"],
    ["^\\S*\\/\\-$", "a/-", "a/"],
    ["^.$", "🐪", "🐪🐪"],
  ])("%s matches %j and not %j", async (pattern, fits, breaks) => {
    const parameters = { type: "object", properties: { a: { pattern } } };
    expect(await check(parameters)).toBe(null);
    expect(await findIn(parameters, { a: fits })).toEqual([]);
    expect(await findIn(parameters, { a: breaks })).toEqual([
      `/a: must match the pattern ${pattern}.`,
    ]);
  });

  test.each([
    "(?=a)b",
    "(?!a)b",
    "(?<=a)b",
    "(?<!a)b",
    "(a)\\1",
    "(",
    "[a",
    "a**",
    "a{1001}",
    "\\p{X}",
  ])("%s is refused, since it cannot match in linear time", async (pattern) => {
    const says = /^`parameters\/.*` must be a pattern that runs in linear time/;
    expect(await check({ type: "object", properties: { a: { pattern } } })).toMatch(says);
    expect(await check({ type: "object", patternProperties: { [pattern]: {} } })).toMatch(says);
  });

  test.each([
    "(abcd){1000}",
    `(${"ab".repeat(3_000)}){1000}`,
    "((a{10}){10}){50}",
    "a".repeat(4_000),
    "\\pL".repeat(250),
    `(?i)${"[\\pL\\pN]".repeat(120)}`,
    fill(20, () => "a{1,150}").join("|"),
  ])("%.20s is refused before an automaton is built", async (pattern) => {
    const parameters = { type: "object", properties: { a: { pattern } } };
    expect(await check(parameters)).toBe(
      "`parameters/properties/a/pattern` makes the patterns too large: " +
        "repeats count as often as they say.",
    );
  });

  test("many patterns count together", async () => {
    const each = fill(5, (n) => [`a${n}`, { pattern: `^a{${500 - n}}$` }]);
    const parameters = { type: "object", properties: Object.fromEntries(each) };
    expect(await check(parameters)).toMatch(/`parameters\/properties\/a3\/pattern` makes/);
    const names = Object.fromEntries(fill(101, (n) => [`${n}`, {}]));
    expect(await check({ type: "object", patternProperties: names })).toMatch(
      /`parameters\/patternProperties\/100` is one pattern too many: at most 100/,
    );
  });

  test.each([
    ["repeats of a thousand", { pattern: "^a{1000}$" }],
    [
      "a hundred patterns",
      { patternProperties: Object.fromEntries(fill(100, (n) => [`${n}`, {}])) },
    ],
  ])("%s are accepted", async (_, schema) => {
    expect(await check({ type: "object", properties: { a: schema } })).toBe(null);
  });

  // A backtracking engine would never finish any of these.
  test.each([
    ["^(a+)+$", `${"a".repeat(100_000)}!`],
    ["^(a|a)*$", `${"a".repeat(100_000)}!`],
    ["^(a|aa)+$", `${"a".repeat(100_000)}!`],
    ["^(.*)*x$", "a".repeat(100_000)],
    ["(x+x+)+y", "x".repeat(100_000)],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(100_000)],
  ])("%s rejects a long text", async (pattern, text) => {
    const parameters = { type: "object", properties: { a: { pattern } } };
    expect(await findIn(parameters, { a: text })).toEqual([
      `/a: must match the pattern ${pattern}.`,
    ]);
    const named = { type: "object", patternProperties: { [pattern]: {} } };
    expect(await findIn({ ...named, additionalProperties: false }, { [text]: 1 })).toHaveLength(1);
  });

  test("formats are annotations and never reject", async () => {
    for (const format of ["date-time", "email", "uri", "regex", "ipv6", "hostname"]) {
      const parameters = { type: "object", properties: { a: { format } } };
      expect(await findIn(parameters, { a: `${"(a+)+".repeat(1_000)}@` })).toEqual([]);
    }
  });
});
