// Holds the bundled tokenizer to the library's own counts, and to leaving others their turns.
import { describe, expect, spyOn, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { countBundled } from "../../../src/models/bundled-tokenizer/count.ts";
import { nextTurn } from "../../../src/platform/clock.ts";

const QUARTER_MB = 256 * 1024;
const { signal } = new AbortController();
const count = async (...texts: string[]) =>
  (await countBundled(texts, Number.POSITIVE_INFINITY, signal))!;

test("the ranks are read once, however many are the first", async () => {
  // What other test files counted has read them already.
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

/** Others' turns of the event loop while this goes on. */
async function countTurns(run: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await run();
  isOver = true;
  return turns;
}

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

test("prose and code of any length have the library's count, or a token more for each cut", async () => {
  const sentence =
    'The fox, 7 years old, said: "it\'s fine" — and left for عمّان.\n    return x[0];\n';
  const text = sentence.repeat(1_000);
  const counted = countTokens(text);
  const bundled = await count(text);
  expect(bundled).toBeGreaterThanOrEqual(counted);
  expect(bundled).toBeLessThanOrEqual(counted + text.length / 4_000);
});

describe("runs of one letter are a few tokens, as the library counts them", () => {
  const LENGTHS = [64, 80, 100, 128, 140, 200, 300, 1_000];
  test.each([..." -=*#/_.~+%\n\t─—　", "-=", "//-", "| "])("%j", async (unit) => {
    for (const length of LENGTHS) {
      const run = unit.repeat(length);
      const lines = `${run}\n`.repeat(Math.ceil(6_000 / length));
      const mixed = `x ${run}y\n`.repeat(Math.ceil(6_000 / length));
      for (const text of [lines, mixed]) {
        const counted = countTokens(text);
        const bundled = await count(text);
        expect(bundled).toBeGreaterThanOrEqual(0.95 * counted);
        // A turn's border may cut a run in two.
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

describe("a text without any border", () => {
  test.each([
    ["one letter", "a"],
    ["spaces", " "],
    ["line breaks", "\n"],
    ["emoji", "😀"],
    ["Chinese", "漢"],
    ["half surrogates", "\ud800"],
    ["a family of joiners", "👩‍👩‍👧‍👦"],
    ["Thai", "ภาษาไทยเป็นภาษาที่"],
  ])(
    "of 256 KB of %s has no more tokens than bytes, and others get their turns",
    async (_, unit) => {
      const bytes = Buffer.byteLength(unit);
      const text = unit.repeat(Math.floor(QUARTER_MB / bytes));
      let counted = 0;
      const turns = await countTurns(async () => {
        counted = await count(text);
      });
      expect(counted).toBeGreaterThan(0);
      expect(counted).toBeLessThanOrEqual(Buffer.byteLength(text));
      expect(turns).toBeGreaterThanOrEqual(Math.floor(text.length / 8_192));
      // A run is cut in pieces: twice the text is about twice the tokens, and twice the work.
      expect(await count(text + text)).toBeGreaterThanOrEqual(1.9 * counted);
    },
  );
});

test("many short texts give others their turns as a long one does", async () => {
  const texts = Array.from({ length: 1_000 }, () => "漢".repeat(256));
  expect(await countTurns(() => count(...texts))).toBeGreaterThanOrEqual(60);
});

test("it stops to count when it is enough, and when the caller left", async () => {
  const text = " a".repeat(QUARTER_MB / 2);
  const enough = await countBundled([text], 1_000, signal);
  expect(enough).toBeGreaterThan(1_000);
  expect(enough).toBeLessThanOrEqual(1_000 + 4_096);
  const caller = new AbortController();
  const counted = countBundled([text, text], Number.POSITIVE_INFINITY, caller.signal);
  await nextTurn();
  caller.abort();
  expect(await counted).toBeLessThan(QUARTER_MB / 2);
  expect(await countBundled([text], 9, AbortSignal.abort())).toBeNull();
});

test("many at once give others the turns of all of them, one after the other", async () => {
  const text = "漢".repeat(20_480);
  const turns = await countTurns(() => Promise.all(Array.from({ length: 20 }, () => count(text))));
  expect(turns).toBeGreaterThanOrEqual(20 * 10);
});

test("what comes while 64 wait is not counted", async () => {
  // Whoever was served before is gone.
  await nextTurn();
  const counts = await Promise.all(
    Array.from({ length: 67 }, () => countBundled(["one two"], 9, signal)),
  );
  expect(counts).toEqual([...Array(65).fill(2), null, null]);
});
