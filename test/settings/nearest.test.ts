// Tests suggestions for mistyped names.
import { expect, test } from "bun:test";
import { findNearest } from "../../src/settings/nearest.ts";

const KNOWN = ["host", "port", "data", "database", "database_env", "public_url"];

test.each([
  ["prot", "port"],
  ["Port", "port"],
  ["por", "port"],
  ["hosts", "host"],
  ["databse", "database"],
  ["database-env", "database_env"],
  ["url_public", undefined],
  ["x", undefined],
  ["database_password", undefined],
  ["", undefined],
  ["tls", undefined],
  // One slip per three letters, at most three.
  ["latabasx", "database"],
  ["latagasx", undefined],
  ["publicurx", "public_url"],
  ["xxxabase_env", "database_env"],
  ["xxxxbase_env", undefined],
])("%s is taken for %s", (name, nearest) => {
  expect(findNearest(name, KNOWN)).toBe(nearest);
});

test("a name of any length is handled without comparing it", () => {
  expect(findNearest("port".repeat(250_000), KNOWN)).toBeUndefined();
});

test("the first of two equally near names is used", () => {
  expect(findNearest("bat", ["cat", "hat"])).toBe("cat");
});

test("a name of more than 64 characters is compared with none", () => {
  const [long, longer] = ["x".repeat(64), "x".repeat(65)];
  expect([findNearest(long, [long]), findNearest(longer, [longer])]).toEqual([long, undefined]);
});
