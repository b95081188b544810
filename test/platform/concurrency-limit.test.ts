import { expect, test } from "bun:test";
import { ConcurrencyLimit } from "../../src/platform/concurrency-limit.ts";

test("each key has its own slots, and a released slot can be taken again", () => {
  const limit = new ConcurrencyLimit(2);
  const [first, second] = [limit.take("a"), limit.take("a")];
  expect([limit.take("a"), typeof limit.take("b")]).toEqual([undefined, "function"]);
  first!();
  second!();
  expect([typeof limit.take("a"), typeof limit.take("a"), limit.take("a")]).toEqual([
    "function",
    "function",
    undefined,
  ]);
});
