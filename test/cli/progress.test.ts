// Tests the progress bar.
import { expect, test } from "bun:test";
import { drawBar } from "../../src/cli/progress.ts";

test("the bar shows the done part, never more than all", () => {
  expect(drawBar("move", 0, 10)).toBe(`move [${"-".repeat(30)}] 0 %, 0 of 10 rows`);
  expect(drawBar("move", 5, 10)).toBe(
    `move [${"#".repeat(15)}${"-".repeat(15)}] 50 %, 5 of 10 rows`,
  );
  expect(drawBar("move", 12, 10)).toBe(`move [${"#".repeat(30)}] 100 %, 12 of 10 rows`);
  expect(drawBar("move", 0, 0)).toContain("100 %");
});
