// Tests the last uses of keys: kept in memory, written once a minute and at a stop.
import { expect, test } from "bun:test";
import type { KeyUse } from "../../src/access/credentials.ts";
import { KeyUses } from "../../src/access/index.ts";
import { createLog } from "../../src/platform/log.ts";
import { createManualClock } from "../support/clock.ts";

function open() {
  const clock = createManualClock();
  const written: KeyUse[][] = [];
  const lines: string[] = [];
  const place = { isFailing: false, ready: Promise.resolve() };
  const store = {
    async noteUses(uses: readonly KeyUse[]) {
      await place.ready;
      if (place.isFailing) throw new Error("no disk");
      written.push([...uses]);
    },
  };
  const log = createLog(clock, (line) => void lines.push(line), false);
  const uses = new KeyUses({ database: { bind: () => store as never }, clock, log });
  uses.start();
  return { clock, written, lines, place, uses };
}

test("many uses of a key are one write a minute, and a minute without uses has none", async () => {
  const { clock, written, uses } = open();
  for (let n = 0; n < 1_000; n++) uses.note("k-1");
  await clock.advance(30_000);
  expect(written).toEqual([]);
  uses.note("k-2");
  const last_used_at = clock.now();
  await clock.advance(30_000);
  const first = last_used_at - 30_000;
  expect(written).toEqual([
    [
      { key_id: "k-1", last_used_at: first },
      { key_id: "k-2", last_used_at },
    ],
  ]);
  await clock.advance(300_000);
  expect(written).toHaveLength(1);
});

test("a stop writes what is left", async () => {
  const { clock, written, uses } = open();
  uses.note("k-1");
  await uses.stop();
  expect(written).toEqual([[{ key_id: "k-1", last_used_at: clock.now() }]]);
});

test("a failed write is logged and repeated, with later uses in place of earlier ones", async () => {
  const { clock, written, lines, place, uses } = open();
  place.isFailing = true;
  uses.note("k-1");
  uses.note("k-2");
  await clock.advance(60_000);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("last uses could not be written");
  place.isFailing = false;
  uses.note("k-2");
  const last_used_at = clock.now();
  await clock.advance(60_000);
  expect(written).toEqual([
    [
      { key_id: "k-1", last_used_at: last_used_at - 60_000 },
      { key_id: "k-2", last_used_at },
    ],
  ]);
});

test("thousands of keys are written in parts", async () => {
  const { clock, written, uses } = open();
  for (let n = 0; n < 1_200; n++) uses.note(`k-${n}`);
  await clock.advance(60_000);
  expect(written.map((batch) => batch.length)).toEqual([500, 500, 200]);
});

/** Begins the minute's write of `k-1`, which hangs until the returned function lets it fail. */
async function beginFailingWrite({ clock, place, uses }: ReturnType<typeof open>) {
  const { promise, reject } = Promise.withResolvers<void>();
  place.ready = promise;
  uses.note("k-1");
  await clock.advance(60_000);
  return () => {
    place.ready = Promise.resolve();
    reject(new Error("no disk"));
  };
}

test("a use during a write that fails is not replaced by the earlier one", async () => {
  const trial = open();
  const { clock, written, uses } = trial;
  const fail = await beginFailingWrite(trial);
  await clock.advance(1_000);
  uses.note("k-1");
  const last_used_at = clock.now();
  fail();
  await clock.advance(60_000);
  expect(written).toEqual([[{ key_id: "k-1", last_used_at }]]);
});

test("a use during a write is written with the next one", async () => {
  const { clock, written, place, uses } = open();
  const ready = Promise.withResolvers<void>();
  place.ready = ready.promise;
  uses.note("k-1");
  await clock.advance(60_000);
  uses.note("k-2");
  ready.resolve();
  await clock.advance(60_000);
  expect(written.flat().map(({ key_id }) => key_id)).toEqual(["k-1", "k-2"]);
});

test("a stop also writes what a write under way could not write", async () => {
  const trial = open();
  const { clock, written, uses } = trial;
  const last_used_at = clock.now();
  const fail = await beginFailingWrite(trial);
  const stopped = uses.stop();
  fail();
  await stopped;
  expect(written).toEqual([[{ key_id: "k-1", last_used_at }]]);
});
