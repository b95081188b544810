// Tests the difference of two texts by line, and of two versions by field.
import { expect, test } from "bun:test";
import { diffLines } from "../../src/console/client/agents/diff.ts";

const SIGNS = { same: "  ", removed: "- ", added: "+ " } as const;
const draw = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => SIGNS[kind] + text);
const apply = (lines: ReturnType<typeof diffLines>, without: "removed" | "added") =>
  lines.filter(({ kind }) => kind !== without).map(({ text }) => text);

test("equal texts have no difference", () => {
  expect(draw("a\nb", "a\nb")).toEqual(["  a", "  b"]);
  expect(draw("", "")).toEqual(["  "]);
});

test("a changed line is removed and added, between those that stay", () => {
  expect(draw("a\nb\nc", "a\nB\nc")).toEqual(["  a", "- b", "+ B", "  c"]);
  expect(draw("a\nc", "a\nb\nc")).toEqual(["  a", "+ b", "  c"]);
  expect(draw("a\nb\nc", "a\nc")).toEqual(["  a", "- b", "  c"]);
  expect(draw("a\na", "a")).toEqual(["  a", "- a"]);
  expect(draw("x\na\nb\ny", "a\nz\nb")).toEqual(["- x", "  a", "+ z", "  b", "- y"]);
});

test("both texts follow from each difference, and no shorter one exists for small texts", () => {
  let seed = 7;
  const next = (most: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % most;
  };
  const make = () => Array.from({ length: next(9) }, () => "abc"[next(3)]!).join("\n");
  const common = (a: string[], b: string[]): number => {
    if (a.length === 0 || b.length === 0) return 0;
    if (a[0] === b[0]) return 1 + common(a.slice(1), b.slice(1));
    return Math.max(common(a.slice(1), b), common(a, b.slice(1)));
  };
  for (let n = 0; n < 200; n++) {
    const [before, after] = [make(), make()];
    const lines = diffLines(before, after);
    expect(apply(lines, "added").join("\n")).toBe(before);
    expect(apply(lines, "removed").join("\n")).toBe(after);
    const same = lines.filter(({ kind }) => kind === "same").length;
    expect(same).toBe(common(before.split("\n"), after.split("\n")));
  }
});

test("texts that differ in very many lines are shown as replaced, between what is equal", () => {
  const many = (word: string) => Array.from({ length: 5_000 }, (_, n) => `${word} ${n}`);
  const before = ["head", ...many("old"), "tail"].join("\n");
  const after = ["head", ...many("new"), "tail"].join("\n");
  const lines = diffLines(before, after);
  expect(lines).toHaveLength(10_002);
  expect([lines[0]!.kind, lines[1]!.kind, lines[5_001]!.kind]).toEqual([
    "same",
    "removed",
    "added",
  ]);
  expect(lines.at(-1)).toEqual({ kind: "same", text: "tail" });
  expect(apply(lines, "removed").join("\n")).toBe(after);
});
