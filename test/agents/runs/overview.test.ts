// Runs as operators see them: their titles, spans and counts.
import { expect, test } from "bun:test";
import { createRunOverview, measureRun, readTitle } from "../../../src/agents/runs/overview.ts";

test.each([
  ["of one line", { message: "Pay." }, "Pay."],
  ["of several lines", { message: 'Say "hi".\nThen go.' }, 'Say "hi".'],
  ["that begins with an empty line", { message: "\nPay." }, ""],
  ["without a text, of images alone", { message: "", content: [] }, "(image)"],
])("the title of a run is the first line of its message: one %s", (_, input, title) => {
  expect(readTitle(JSON.stringify(input))).toBe(title);
});

test("a title has 120 characters at most, and ends with a whole one", () => {
  const title = (message: string) => readTitle(JSON.stringify({ message }));
  expect([title("x".repeat(120)), title("x".repeat(121))]).toEqual(Array(2).fill("x".repeat(120)));
  expect(title(`${"x".repeat(119)}😀`)).toBe(`${"x".repeat(119)}\ufffd`);
});

test("a rest of a second counts as waiting, and a shorter one as work", () => {
  const measure = (worked_ms: number, status: "running" | "waiting_approval" = "running") =>
    measureRun(
      { status, created_at: 0, started_at: 100, finished_at: null, worked_ms, stepped_at: 5_100 },
      5_100,
    );
  expect(measure(4_000)).toEqual({ queued: 100, worked: 4_000, waited: 1_000 });
  expect(measure(4_001)).toEqual({ queued: 100, worked: 5_000, waited: 0 });
  expect(measure(4_999, "waiting_approval").waited).toBe(1);
});

test("at most 50 ranges of 2,000 runs are counted, and then the count says that it is partial", async () => {
  const count = async (ranges: number) => {
    let read = 0;
    const sizes = new Set<number>();
    const overview = createRunOverview({
      countActive: async () => [],
      findRangeEnd: async (_: unknown, { size }: { size: number }) => {
        sizes.add(size);
        return ++read < ranges ? { id: `r-${read}`, created_at: 9 } : undefined;
      },
      countEnded: async () => [{ status: "failed", runs: 1 }],
    } as never);
    const found = await overview.count({ since: null } as never);
    expect([...sizes]).toEqual([2_000]);
    return found;
  };
  expect(await count(50)).toEqual({ counts: { failed: 50 }, isPartial: false });
  expect(await count(51)).toEqual({ counts: { failed: 50 }, isPartial: true });
});

test("runs of the earliest moment are also looked for behind a range that ends with one", async () => {
  const overview = createRunOverview({
    countActive: async () => [],
    findRangeEnd: async (_: unknown, { before }: { before: string | null }) =>
      before === null ? { id: "r-2", created_at: 9 } : undefined,
    listEnded: async (_: unknown, { before }: { before: string | null }) => [
      { id: before === null ? "r-2" : "r-1" },
    ],
    countEnded: async () => [{ status: "failed", runs: 1 }],
  } as never);
  const search = { since: 9, stage: "ended", status: null, before: null, limit: 5 } as never;
  expect((await overview.list(search)).map(({ id }) => id)).toEqual(["r-2", "r-1"]);
  expect(await overview.count(search)).toEqual({ counts: { failed: 2 }, isPartial: false });
});
