// Tests the truncation of large event data.
import { expect, test } from "bun:test";
import { writeEventData } from "../../src/outbox/event-data.ts";

const KIB = 1024;
const run = (fields: object) => ({ run: { id: "r-1", status: "failed", ...fields } });
const read = (data: Record<string, unknown>) => {
  const text = writeEventData(data);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(64 * KIB);
  return JSON.parse(text);
};

test("short data is stored unchanged", () => {
  const data = run({ output: { message: "x".repeat(60 * KIB) } });
  expect(read(data)).toEqual(data);
});

test("the longest texts become null and are listed, as few as needed", () => {
  const data = run({
    input: { message: "x".repeat(50 * KIB) },
    output: { message: "\u0001".repeat(12 * KIB) },
    error: { code: "c", message: "y".repeat(KIB) },
  });
  expect(read(data)).toEqual({
    run: { ...data.run, output: { message: null } },
    truncated: ["run.output.message"],
  });
});

test("data of exactly 64 KiB is stored whole, and one byte more is too much", () => {
  const data = (length: number) => run({ output: { message: "x".repeat(length) } });
  const room = 64 * KIB - JSON.stringify(data(0)).length;
  expect(read(data(room))).toEqual(data(room));
  expect(read(data(room + 1)).truncated).toEqual(["run.output.message"]);
});

test("one text is removed where that is enough, to a byte", () => {
  const data = (length: number, a: string | null = "x".repeat(66 * KIB)) =>
    run({ a, b: "y".repeat(length) });
  // The name counts with a comma, and the list of names with one more.
  const names = '"truncated":[],'.length + '"run.a",'.length + 1;
  const room = 64 * KIB - JSON.stringify(data(0, null)).length - names;
  expect(read(data(room)).truncated).toEqual(["run.a"]);
  expect(read(data(room + 1)).truncated).toEqual(["run.a", "run.b"]);
});

test("texts of 256 characters are removed alone, shorter ones with their field", () => {
  const removed = (length: number): string[] =>
    read(run({ hook: Array(262).fill("z".repeat(length)) })).truncated;
  expect(removed(256)).toContain("run.hook.0");
  expect(removed(255)).toEqual(["run.hook"]);
});

test("a text is removed alone up to sixteen names deep", () => {
  const removed = (names: number) => {
    let deep: unknown = "x".repeat(70 * KIB);
    for (let depth = 2; depth < names; depth++) deep = { deep };
    return read(run({ input: deep })).truncated;
  };
  expect(removed(16)).toEqual([`run.input${".deep".repeat(14)}`]);
  expect(removed(17)).toEqual(["run.input"]);
});

test("bytes count, not characters", () => {
  for (const [letter, count] of [
    ["ش", 40 * KIB],
    ["€", 32_000],
  ] as const) {
    const data = run({ input: { message: letter.repeat(count) } });
    expect(read(data)).toMatchObject({ run: { input: { message: null } } });
  }
});

test("many long texts are removed, and all of them are listed", () => {
  const list = Array.from({ length: 90 }, (_, i) => `${i}`.padEnd(2 * KIB));
  const { truncated } = read(run({ input: { message: "m", hook: list } }));
  expect(truncated.length).toBeGreaterThan(50);
});

test("up to 100 texts are removed one by one, and no more", () => {
  const lists = Array.from({ length: 20 }, (_, more) =>
    Array.from({ length: more + 120 }, (_, i) => `${i}`.padEnd(2 * KIB)),
  );
  const counts = lists.map((hook) => {
    const { truncated = [] } = read(run({ input: { message: "m", hook } }));
    return truncated.length;
  });
  expect(Math.max(...counts)).toBe(100);
});

test("a field with too many removed texts is removed as a whole", () => {
  const list = Array.from({ length: 400 }, (_, i) => `${i}`.padEnd(500));
  const { run: shown, truncated } = read(run({ input: { message: "m", hook: list } }));
  expect([shown.input, truncated]).toEqual([null, ["run.input"]]);
});

test("whole fields are removed if the length is not in texts", () => {
  const numbers = Array.from({ length: 40_000 }, (_, i) => i);
  const short = Array.from({ length: 5_000 }, () => "z".repeat(100));
  const shown = read(run({ arguments: numbers, input: { message: "m", hook: short } }));
  expect(shown).toEqual({
    run: { id: "r-1", status: "failed", arguments: null, input: null },
    truncated: ["run.arguments", "run.input"],
  });
});

test("deeply nested data is removed with its field", () => {
  let deep: unknown = "x".repeat(70 * KIB);
  for (let i = 0; i < 500; i++) deep = { deep };
  expect(read(run({ input: deep }))).toMatchObject({ run: { id: "r-1", input: null } });
});

test("fields of 256 bytes are removed if nothing longer is left", () => {
  const numbers = [10, ...Array(126).fill(1)];
  const fields = Array.from({ length: 300 }, (_, i) => [`f${i}`, numbers]);
  expect(read(run(Object.fromEntries(fields))).truncated).not.toEqual([]);
});
