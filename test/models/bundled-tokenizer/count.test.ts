// Tests the bundled tokenizer against the library's own counts, and its maximum.
import { describe, expect, spyOn, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { Compute } from "../../../src/compute/index.ts";
import { countBundled } from "../../../src/models/bundled-tokenizer/count.ts";
import { createTextCount, TOKENS } from "../../../src/models/bundled-tokenizer/task.ts";
import { chooseCases, countRounds } from "../../support/rounds.ts";

const BYTES = countRounds(256) * 1024;
const count = (...texts: string[]) => countBundled(texts, Number.POSITIVE_INFINITY);

test("the ranks are read once, for any number of concurrent counts", async () => {
  // Counts of other test files have read them already.
  const read = spyOn(Bun, "file");
  try {
    expect(await Promise.all(Array.from({ length: 50 }, () => count("one two")))).toEqual(
      Array(50).fill(2),
    );
    const files = read.mock.calls.filter(([path]) => String(path).includes("o200k"));
    expect(files.length).toBeLessThanOrEqual(1);
  } finally {
    read.mockRestore();
  }
});

test.each([
  [""],
  [" "],
  ["a"],
  ["Hello, World! How are you today?"],
  ["It's what we'd have said, I'LL say."],
  ["1234567 and 3.14159"],
  ["  indented\n\n\n\tlines  \r\n end "],
  ["camelCaseNamesAndHTTPServers"],
  ["const x = { a: [1, 2], 'b': /c+/g };"],
  ["مرحبا يا وادي السيليكون"],
  ["漢字とかな、そして한국어"],
  ["ภาษาไทยเป็นภาษาที่"],
  ["🏜️🐪🌴 👩‍👩‍👧‍👦"],
  ["\u0000\u001f\ufffd\u00ad"],
  ["<|endof" + "text|>"],
])("%j has as many tokens as the library counts", async (text) => {
  const counted = countTokens(text, { disallowedSpecial: new Set() });
  expect(await count(text)).toBe(counted);
});

test("prose and code of any length have the library's count, plus at most one token per cut", async () => {
  const sentence =
    'The fox, 7 years old, said: "it\'s fine" — and left for عمّان.\n    return x[0];\n';
  const text = sentence.repeat(1_000);
  const counted = countTokens(text);
  const bundled = await count(text);
  expect(bundled).toBeGreaterThanOrEqual(counted);
  expect(bundled).toBeLessThanOrEqual(counted + text.length / 4_000);
});

describe("runs of one letter are a few tokens, as the library counts them", () => {
  const LENGTHS = chooseCases([64, 80, 100, 128, 140, 200], (length) => length % 64 === 0);
  test.each([..." -=*#/_.~+%\n\t─—　", "-=", "//-", "| "])("%j", async (unit) => {
    for (const length of LENGTHS) {
      const run = unit.repeat(length);
      const lines = `${run}\n`.repeat(Math.ceil(6_000 / length));
      const mixed = `x ${run}y\n`.repeat(Math.ceil(6_000 / length));
      for (const text of [lines, mixed]) {
        const counted = countTokens(text);
        const bundled = await count(text);
        expect(bundled).toBeGreaterThanOrEqual(0.95 * counted);
        // A turn's boundary may split a run in two.
        expect(bundled).toBeLessThanOrEqual(1.03 * counted + text.length / 500);
      }
    }
  });
});

test("several texts are counted together", async () => {
  const texts = ["one", " two", "three four"];
  const each = await Promise.all(texts.map((text) => count(text)));
  expect(await count(...texts)).toBe(each.reduce((sum, one) => sum + one));
});

describe("a text without any boundary", () => {
  test.each([
    ["one letter", "a"],
    ["spaces", " "],
    ["line breaks", "\n"],
    ["emoji", "😀"],
    ["Chinese", "漢"],
    ["half surrogates", "\ud800"],
    ["a family of joiners", "👩‍👩‍👧‍👦"],
    ["Thai", "ภาษาไทยเป็นภาษาที่"],
  ])("of %s has no more tokens than bytes", async (_, unit) => {
    const bytes = Buffer.byteLength(unit);
    const text = unit.repeat(Math.floor(BYTES / bytes));
    const counted = await count(text);
    expect(counted).toBeGreaterThan(0);
    expect(counted).toBeLessThanOrEqual(Buffer.byteLength(text));
    // A run is split: twice the text takes about twice the tokens, and twice the work.
    expect(await count(text + text)).toBeGreaterThanOrEqual(1.9 * counted);
  });
});

test("the count stops at its maximum", async () => {
  const enough = await countBundled([" a".repeat(BYTES / 2)], 1_000);
  expect(enough).toBeGreaterThan(1_000);
  expect(enough).toBeLessThanOrEqual(1_000 + 4_096);
});

test("a count at its maximum goes on, since the next text may be too much", async () => {
  expect(await countBundled(["one", " two", " three"], 1)).toBe(2);
  expect(await countBundled(["one", " two"], 2)).toBe(2);
});

test("a count that has failed is none, and no zero", async () => {
  const asked: unknown[] = [];
  const count = (computed: object) =>
    createTextCount({
      async run(task: unknown, input: unknown) {
        asked.push(task, input);
        return computed;
      },
    } as unknown as Compute)(["one"], 7, { account: "a-1" });
  expect(await count({ ok: false })).toBeNull();
  expect(await count({ ok: true, value: 3 })).toBe(3);
  expect(asked.slice(0, 2)).toEqual([TOKENS, { texts: ["one"], tokensMax: 7 }]);
});
