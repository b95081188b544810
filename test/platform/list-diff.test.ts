// Lists beside each other: what both have, and what only one has.
import { expect, test } from "bun:test";
import { foldUnchanged, pairLists } from "../../src/platform/list-diff.ts";

const pair = (one: string, other: string) =>
  pairLists([...one], [...other], (letter) => letter)
    .map(([a, b]) => `${a ?? "-"}${b ?? "-"}`)
    .join(" ");

test("the same items stand beside each other, in the order of both lists", () => {
  expect(pair("abc", "abc")).toBe("aa bb cc");
  expect(pair("abcd", "abxcd")).toBe("aa bb -x cc dd");
  expect(pair("axbycz", "abc")).toBe("aa x- bb y- cc z-");
  expect(pair("ab", "cd")).toBe("a- b- -c -d");
  expect(pair("aab", "ab")).toMatch(/^(aa a-|a- aa) bb$/);
  expect([pair("", ""), pair("a", ""), pair("", "a")]).toEqual(["", "a-", "-a"]);
});

test("lists too long to compare have their middle replaced, and nothing is lost", () => {
  const long = (letter: string) => ["begin", ...Array(3_000).fill(letter), "end"];
  const pairs = pairLists(long("a"), long("b"), (item) => item);
  expect(pairs).toHaveLength(6_002);
  expect([pairs[0], pairs.at(-1)]).toEqual([
    ["begin", "begin"],
    ["end", "end"],
  ]);
  expect(pairs[3_001]).toEqual([undefined, "b"]);
});

test("items far from every change are replaced by their number", () => {
  const fold = (marks: string, context: number) =>
    foldUnchanged(
      [...marks].map((mark) => ({ mark })),
      ({ mark }) => mark === "x",
      context,
    )
      .map((one) => (typeof one === "number" ? `${one}` : one.mark))
      .join(" ");
  expect(fold("abcxdefxg", 1)).toBe("2 c x d 1 f x g");
  expect(fold("xabx", 1)).toBe("x a b x");
  expect(fold("abc", 2)).toBe("3");
  expect(fold("x", 0)).toBe("x");
});
