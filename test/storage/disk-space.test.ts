// The room that stays free on a disk: from how many bytes on nothing new is accepted.
import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DiskSpace, readFreeBytes } from "../../src/storage/index.ts";
import { createManualClock } from "../support/clock.ts";

const PLACE = { kind: "sqlite", file: join(tmpdir(), "wadi.db") } as const;
/** Other processes write to the disk: so many verdicts in a row are believed. */
const VERDICTS = 5;

/** The verdict on new work while so many bytes are free beyond those that stay free. */
function judge(spare: number): string {
  for (let last = "", count = 0; ; ) {
    const free = readFreeBytes(PLACE)!;
    const disk = new DiskSpace(PLACE, createManualClock(), () => free - spare);
    let verdict = "accepted";
    try {
      disk.require();
    } catch (failure) {
      verdict = (failure as { code: string }).code;
    }
    if (readFreeBytes(PLACE) !== free) continue;
    count = verdict === last ? count + 1 : 1;
    last = verdict;
    if (count === VERDICTS) return verdict;
  }
}

test("work is accepted down to the last byte that stays free, and no further", () => {
  expect([1, 0, -1].map(judge)).toEqual(["accepted", "accepted", "service_unavailable"]);
});
