// Tests the reserve of free disk space, below which no new work is accepted.
import { expect, spyOn, test } from "bun:test";
import * as files from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DiskSpace, readFreeBytes } from "../../src/storage/index.ts";
import { createManualClock } from "../support/clock.ts";

const PLACE = { kind: "sqlite", file: join(tmpdir(), "wadi.db") } as const;
/** Other processes write to the disk, so this number of equal outcomes in a row is required. */
const EQUAL_OUTCOMES = 5;

/** The outcome for new work with this number of free bytes above the reserve. */
function check(spare: number): string {
  for (let last = "", count = 0; ; ) {
    const free = readFreeBytes(PLACE)!;
    const disk = new DiskSpace(PLACE, createManualClock(), () => free - spare);
    let outcome = "accepted";
    try {
      disk.require();
    } catch (failure) {
      outcome = (failure as { code: string }).code;
    }
    if (readFreeBytes(PLACE) !== free) continue;
    count = outcome === last ? count + 1 : 1;
    last = outcome;
    if (count === EQUAL_OUTCOMES) return outcome;
  }
}

test("work is accepted down to the last byte of the reserve, and no further", () => {
  expect([1, 0, -1].map(check)).toEqual(["accepted", "accepted", "service_unavailable"]);
});

test("the disk is measured once a second", async () => {
  const clock = createManualClock();
  const disk = new DiskSpace(PLACE, clock, () => 1);
  using measure = spyOn(files, "statfsSync");
  const counts: number[] = [];
  for (const elapsed_ms of [0, 999, 1]) {
    await clock.advance(elapsed_ms);
    disk.require();
    counts.push(measure.mock.calls.length);
  }
  expect(counts).toEqual([1, 1, 2]);
});

test("what is reserved for root is no free space of this user", () => {
  const room = { bavail: 2, bfree: 9, bsize: 4_096 } as ReturnType<typeof files.statfsSync>;
  using _ = spyOn(files, "statfsSync").mockReturnValue(room);
  expect(readFreeBytes(PLACE)).toBe(8_192);
});
