// Pages of runs by metadata, which are read range by range.
import { expect, test } from "bun:test";
import { listRunPage, readRunsQuery } from "../../../src/agents/runs/list.ts";
import type { RunFilter } from "../../../src/agents/runs/store/reads.ts";
import { makeRun } from "../../support/runs.ts";

const query = { metadata: { ticket: "A-17" } };

/** Reads the pages of an account with runs up to `newest`, of which these numbers match. */
async function readPages(newest: number, matching: readonly number[], limit = 50) {
  const widths: number[] = [];
  const list = async (filter: RunFilter) => {
    const { before, after, metadata } = filter;
    const from = Math.min(newest, (before ?? newest + 1) - 1);
    if (Object.keys(metadata).length === 0) return from > 0 ? [makeRun("r", { number: from })] : [];
    widths.push(from - after!);
    const found = matching.filter((number) => number <= from && number > after!);
    return found
      .slice(0, filter.limit)
      .map((number) => makeRun("r", { id: `r-${number}`, number }));
  };
  const pages: string[][] = [];
  for (let before: string | null = null; pages.length < 20; ) {
    const asked = { ...query, limit, ...(before !== null && { before }) };
    const parts = listRunPage(asked, readRunsQuery("a-1", asked), list);
    const ids: string[] = [];
    let part = await parts.next();
    for (; !part.done; part = await parts.next()) {
      ids.push(...(part.value as { id: string }[]).map(({ id }) => id));
    }
    pages.push(ids);
    before = (part.value as { next_before: string | null }).next_before;
    if (before === null) break;
  }
  return { pages, widest: Math.max(0, ...widths) };
}

test("no read looks at more than 2,000 runs, and a page at 100,000", async () => {
  const matching = [240_000, 238_000, 237_999, 150_000, 2_001, 2_000, 1];
  const { pages, widest } = await readPages(250_000, matching);
  expect(widest).toBe(2_000);
  const [first, second, ...others] = pages;
  expect(first).toEqual(["r-240000", "r-238000", "r-237999"]);
  expect([...first!, ...second!, ...others.flat()]).toEqual(matching.map((n) => `r-${n}`));
  expect(pages).toHaveLength(3);
});

test("a full page goes on behind its last run, and an account without runs has none", async () => {
  const matching = Array.from({ length: 120 }, (_, i) => 4_000 - i * 30);
  const { pages } = await readPages(4_000, matching, 55);
  expect(pages.map(({ length }) => length)).toEqual([55, 55, 10]);
  expect(pages.flat()).toEqual(matching.map((n) => `r-${n}`));
  expect((await readPages(0, [])).pages).toEqual([[]]);
});
