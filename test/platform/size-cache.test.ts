// Tests which values a cache of a bounded size keeps.
import { expect, test } from "bun:test";
import { SizeCache } from "../../src/platform/size-cache.ts";

const keysOf = (cache: SizeCache<number>) =>
  ["a", "b", "c", "d"].filter((key) => cache.get(key) !== undefined);

test("values are kept up to the maximum, and those used last outlive others", () => {
  const cache = new SizeCache<number>(3);
  for (const key of ["a", "b", "c"]) cache.set(key, 1, 1);
  expect(cache.get("a")).toBe(1);
  cache.set("d", 2, 1);
  expect(keysOf(cache)).toEqual(["a", "c", "d"]);
});

test("a value in the place of another counts once", () => {
  const cache = new SizeCache<number>(3);
  cache.set("a", 1, 2);
  for (let n = 1; n <= 3; n++) cache.set("b", n, 1);
  expect(keysOf(cache)).toEqual(["a", "b"]);
  expect(cache.get("b")).toBe(3);
});

test("a value above the maximum is not kept, and leaves room for the next", () => {
  const cache = new SizeCache<number>(3);
  cache.set("a", 1, 1);
  cache.set("b", 1, 4);
  expect(keysOf(cache)).toEqual([]);
  for (const key of ["c", "d"]) cache.set(key, 1, 1);
  expect(keysOf(cache)).toEqual(["c", "d"]);
});

test("a value that is deleted leaves its room", () => {
  const cache = new SizeCache<number>(3);
  for (const key of ["a", "b", "c"]) cache.set(key, 1, 1);
  for (const key of ["a", "a", "none"]) cache.delete(key);
  cache.set("d", 1, 1);
  expect(keysOf(cache)).toEqual(["b", "c", "d"]);
});
