// Holds the vote to its groups, to what it may know early, and to whom it makes the winner.
import { describe, expect, test } from "bun:test";
import { measureNearness } from "../../../../src/gateway/chat/think/nearness.ts";
import {
  findWinner,
  isDecided,
  isUnanimous,
  type Voice,
} from "../../../../src/gateway/chat/think/vote.ts";

/** A letter for each voice, by its key; a dot says nothing. */
const voicesOf = (keys: string): Voice[] =>
  [...keys].map((key, n) => ({
    key: key === "." ? "" : key,
    text: key === "." ? "" : `${key}${n}`,
  }));

test.each<[keys: string, agrees: boolean]>([
  ["", false],
  ["a", false],
  ["aa", true],
  ["aaa", true],
  ["aab", false],
  ["aa.", false],
  ["...", true],
])("%p is unanimous: %p", (keys, agrees) => {
  expect(isUnanimous(voicesOf(keys))).toBe(agrees);
});

test.each<[keys: string, more: number, decided: boolean]>([
  ["", 0, false],
  ["a", 0, true],
  ["a", 1, false],
  ["aa", 1, true],
  ["aa", 2, false],
  ["aa", 3, false],
  ["aab", 0, true],
  ["aab", 1, false],
  ["aaab", 1, true],
  ["aaab", 2, false],
  ["aabb", 0, false],
  ["aabbc", 0, false],
  ["abc", 2, false],
  ["aa..", 1, true],
  ["..", 0, false],
])("%p with %p to come is decided: %p", (keys, more, decided) => {
  expect(isDecided(voicesOf(keys), more)).toBe(decided);
});

/** Every way in which so many more voices may speak, of a, b, c, or one of their own. */
function* listFutures(more: number): Generator<string> {
  if (more === 0) return yield "";
  for (const rest of listFutures(more - 1)) for (const key of "abcz.") yield key + rest;
}

describe("decided is exactly when nothing that may come changes the answer", () => {
  const pasts = [
    "a",
    "aa",
    "aaa",
    "aab",
    "aba",
    "aabb",
    "aaab",
    "abc",
    "aabc",
    "a.",
    "aa.",
    "aab.",
  ];
  test.each(pasts.flatMap((past) => [0, 1, 2, 3].map((more): [string, number] => [past, more])))(
    "%p and %p more",
    (past, more) => {
      const leads = (keys: string) => {
        const counts = [..."abcz"].map((key) => keys.split(key).length - 1);
        const most = Math.max(...counts);
        const leaders = counts.flatMap((count, i) => (count === most ? i : []));
        // A tie goes to texts, which nobody knows yet.
        return leaders.length === 1 ? leaders[0] : null;
      };
      const now = leads(past);
      const stays = [...listFutures(more)].every((future) => leads(past + future) === now);
      expect(isDecided(voicesOf(past), more)).toBe(now !== null && stays);
    },
  );
});

describe("the winner", () => {
  const win = (...voices: [key: string, text: string][]) =>
    findWinner(voices.map(([key, text]) => ({ key, text }))).text;

  test("is of the largest group", () => {
    expect(findWinner(voicesOf("abb")).key).toBe("b");
    expect(findWinner(voicesOf("abcb")).key).toBe("b");
    expect(findWinner(voicesOf("a")).key).toBe("a");
  });

  test("is the first of those that say the same", () => {
    const voices: Voice[] = [1, 2, 3].map(() => ({ key: "a", text: "one and the same" }));
    expect(findWinner(voices)).toBe(voices[0]!);
  });

  test("is in its group the nearest to all others", () => {
    expect(
      win(["42", "42"], ["42", "six times seven makes 42"], ["43", "six times seven makes 43"]),
    ).toBe("six times seven makes 42");
  });

  test("is in a tie the nearest to all others, of whatever group", () => {
    const near = "the capital of France is Paris";
    expect(win(["a", "I do not know"], ["b", near], ["c", "the capital of France is Lyon"])).toBe(
      near,
    );
    expect(win(["a", "x y"], ["b", "v w"], ["a", "x z"], ["b", "v w x y"])).toBe("v w x y");
  });

  test("says something where anybody does", () => {
    expect(findWinner(voicesOf("..a")).key).toBe("a");
    expect(findWinner(voicesOf("..")).key).toBe("");
  });

  test("is the same in whatever order they are heard", () => {
    const texts = ["so it is 42", "it is 42", "41 it is", "well: 41", "40"];
    const voices = texts.map((text) => ({ key: text.match(/4\d/)![0], text }));
    const orders = permute(voices);
    expect(orders).toHaveLength(120);
    expect(new Set(orders.map((order) => findWinner(order).text)).size).toBe(1);
  });
});

function permute<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]];
  return all.flatMap((one, i) => permute(all.toSpliced(i, 1)).map((rest) => [one, ...rest]));
}

describe("nearness", () => {
  test("is the share of words in common, summed over the others", () => {
    expect(measureNearness(["a b", "a B", "c"])).toEqual([1, 1, 0]);
    expect(measureNearness(["a b", "b c"])).toEqual([1 / 3, 1 / 3]);
    expect(measureNearness(["", "!"])).toEqual([1, 1]);
    expect(measureNearness(["one"])).toEqual([0]);
  });

  test("knows Arabic words and Chinese letters", () => {
    expect(measureNearness(["عاصمة مصر القاهرة", "القاهرة عاصمة مصر"])).toEqual([1, 1]);
    expect(measureNearness(["我爱你", "你爱我"])).toEqual([1, 1]);
  });

  test("reads only so much of a long text", () => {
    const long = Array.from({ length: 100_000 }, (_, n) => `w${n}`).join(" ");
    expect(measureNearness([long, `${long} end`])).toEqual([1, 1]);
    const equal = "a ".repeat(500_000);
    expect(measureNearness([equal, `${equal} end`])).toEqual([1, 1]);
    expect(measureNearness(["x".repeat(1_000_000), "x"])[0]).toBe(0);
  });
});
