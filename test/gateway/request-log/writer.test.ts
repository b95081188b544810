// Tests batches, retries and the stop of the request log's writer, on a controlled store.
import { expect, test } from "bun:test";
import { DatabaseUnavailable } from "../../../src/database/index.ts";
import { nameValues, readEntries } from "../../../src/gateway/request-log/entry.ts";
import { EntryWriter } from "../../../src/gateway/request-log/writer.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createManualClock } from "../../support/clock.ts";
import { makeEntry } from "../../support/request-log.ts";

/** Writes wait until they are released or made to fail, or fail with a bad entry. */
function open(isBad?: (id: string) => boolean) {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line)), false);
  const writes: { ids: string[]; isRetry: boolean; end: PromiseWithResolvers<void> }[] = [];
  const written: string[] = [];
  const store = {
    async add(batch: string, isRetry: boolean) {
      const ids = readEntries(batch).map((values) => nameValues(values).id);
      const end = Promise.withResolvers<void>();
      writes.push({ ids, isRetry, end });
      if (isBad === undefined) await end.promise;
      else if (ids.some(isBad)) throw new Error("bad");
      else written.push(...ids);
    },
  };
  const writer = new EntryWriter(store, clock, log);
  let made = 0;
  const add = (count: number) => {
    for (let n = 0; n < count; n++) writer.add(makeEntry(`e-${++made}`));
  };
  return { clock, lines, writes, writer, add, written: () => written };
}
type Opened = ReturnType<typeof open>;

/** The sizes of the writes. */
const sizesOf = ({ writes }: Opened) => writes.map(({ ids }) => ids.length);
const succeed = async ({ writes, clock }: Opened) => {
  writes.at(-1)!.end.resolve();
  await clock.advance(0);
};
const fail = async ({ writes, clock }: Opened, error: Error = new DatabaseUnavailable("away")) => {
  writes.at(-1)!.end.reject(error);
  await clock.advance(0);
};

test("after a pause an entry is written at once, with those of its turn", async () => {
  const opened = open();
  opened.add(2);
  expect(opened.writes).toEqual([]);
  await opened.clock.advance(0);
  expect(opened.writes.map(({ ids }) => ids)).toEqual([["e-1", "e-2"]]);
  await succeed(opened);
  await opened.clock.advance(25);
  opened.add(1);
  await opened.clock.advance(0);
  expect(sizesOf(opened)).toEqual([2, 1]);
});

test("writes start 25 ms apart, and entries in between share one, in their order", async () => {
  const opened = open();
  opened.add(1);
  await opened.clock.advance(0);
  await succeed(opened);
  opened.add(2);
  await opened.clock.advance(24);
  opened.add(1);
  expect(opened.writes).toHaveLength(1);
  await opened.clock.advance(1);
  expect(opened.writes[1]!.ids).toEqual(["e-2", "e-3", "e-4"]);
  await succeed(opened);
  expect(opened.clock.pending()).toBe(0);
});

test("256 entries are written without a wait", async () => {
  const opened = open();
  opened.add(255);
  expect(opened.writes).toEqual([]);
  opened.add(1);
  expect(sizesOf(opened)).toEqual([256]);
});

test("entries that fill the next write are written without a wait, too", async () => {
  const opened = open();
  opened.add(512);
  await succeed(opened);
  expect(sizesOf(opened)).toEqual([256, 256]);
});

test("one write runs at a time, and the next keeps its interval", async () => {
  const opened = open();
  opened.add(256);
  opened.add(300);
  await opened.clock.advance(1_000);
  expect(sizesOf(opened)).toEqual([256]);
  await succeed(opened);
  expect(sizesOf(opened)).toEqual([256, 256]);
  await succeed(opened);
  expect(opened.writes).toHaveLength(2);
  await opened.clock.advance(25);
  expect(sizesOf(opened)).toEqual([256, 256, 44]);
  opened.add(1);
  await opened.clock.advance(20);
  await succeed(opened);
  await opened.clock.advance(4);
  expect(opened.writes).toHaveLength(3);
  await opened.clock.advance(1);
  expect(sizesOf(opened)).toEqual([256, 256, 44, 1]);
});

test("a failed write is retried with growing delays, along with newer entries", async () => {
  const opened = open();
  opened.add(1);
  await opened.clock.advance(25);
  for (const [n, retryMs] of [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000].entries()) {
    await fail(opened);
    opened.add(1);
    await opened.clock.advance(retryMs - 1);
    expect(opened.writes).toHaveLength(n + 1);
    await opened.clock.advance(1);
    expect(opened.writes).toHaveLength(n + 2);
  }
  const written = await writeAll(opened);
  expect(written.sort()).toEqual(Array.from({ length: 9 }, (_, n) => `e-${n + 1}`));
  opened.add(2);
  await opened.clock.advance(25);
  expect(opened.writes.at(-1)!.ids).toEqual(["e-10", "e-11"]);
});

/** Releases every write, until no more is tried. */
async function writeAll(opened: Opened): Promise<string[]> {
  const written: string[] = [];
  for (let seen = 0; seen < opened.writes.length; ) {
    seen = opened.writes.length;
    const { ids } = opened.writes.at(-1)!;
    written.push(...ids);
    await succeed(opened);
    if (opened.writer.status().unwritten > 0) await opened.clock.advance(5_000);
  }
  return written;
}

test("entries that can never be written are dropped at once, and stop no other", async () => {
  const opened = open((id) => BAD.includes(id));
  const BAD = ["e-2", "e-3", "e-200"];
  opened.add(300);
  await opened.clock.advance(300);
  expect(opened.writer.status()).toEqual({ unwritten: 0, lost: 3 });
  const written = opened.written();
  expect(written).toHaveLength(297);
  expect(BAD.filter((id) => written.includes(id))).toEqual([]);
  const [line] = opened.lines;
  expect(opened.lines).toHaveLength(1);
  expect(line).toMatchObject({ level: "error", message: "request log: entries are lost", rows: 2 });
  expect(line).toMatchObject({ request_id: "request of e-2", key_id: "k-1" });
});

test("an entry that can never be written, and is alone, does not stop the writer", async () => {
  const opened = open((id) => id === "e-1");
  opened.add(1);
  await opened.clock.advance(1_000);
  expect(opened.writer.status()).toEqual({ unwritten: 0, lost: 1 });
  opened.add(1);
  await opened.clock.advance(25);
  expect(opened.written()).toEqual(["e-2"]);
});

test("bad entries of one caller hold back no good ones of others", async () => {
  const opened = open((id) => Number(id.slice(2)) % 10 === 0);
  for (let tick = 0; tick < 200; tick++) {
    opened.add(10);
    await opened.clock.advance(50);
  }
  expect(opened.writer.status().unwritten).toBeLessThan(20);
  expect(opened.written().length).toBeGreaterThan(1_780);
});

test("while every write fails, few entries are dropped", async () => {
  const opened = open(() => true);
  opened.add(1_000);
  await opened.clock.advance(1_000);
  expect(opened.writer.status()).toEqual({ unwritten: 936, lost: 64 });
});

test("each entry of a failed write counts as tried, also in the smaller writes after it", async () => {
  const opened = open();
  opened.add(256);
  for (let failures = 0; failures < 2; failures++) await fail(opened, new Error("bad"));
  opened.add(10);
  await writeAll(opened);
  const tries = opened.writes.map(({ ids, isRetry }) => [ids.length, isRetry]);
  expect(tries).toEqual([
    [256, false],
    [128, true],
    [64, true],
    [128, true],
    [74, true],
  ]);
  opened.add(1);
  await opened.clock.advance(25);
  expect(opened.writes.at(-1)!.isRetry).toBe(false);
});

test("a lasting failure is logged once a minute", async () => {
  const opened = open();
  opened.add(1);
  await opened.clock.advance(25);
  for (let minute = 1; minute <= 3; minute++) {
    await fail(opened);
    for (let elapsed_ms = 0; elapsed_ms < 60_000; elapsed_ms += 5_000) {
      await opened.clock.advance(5_000);
      if (elapsed_ms < 55_000) await fail(opened);
    }
    expect(opened.lines).toHaveLength(minute);
  }
  expect(opened.lines[0]).toMatchObject({
    level: "error",
    message: "request log: entries wait because writing fails",
  });
});

test("memory is bounded: the oldest entries are dropped, and their number is logged once a minute", async () => {
  const opened = open();
  opened.add(1);
  await opened.clock.advance(25);
  await fail(opened);
  await opened.clock.advance(60_000);
  await fail(opened);
  opened.add(99_999);
  // The maximum itself has room.
  expect(opened.writer.status()).toEqual({ unwritten: 100_000, lost: 0 });
  opened.add(2_501);
  await opened.clock.advance(60_000);
  await fail(opened);
  expect(opened.lines.map(({ message }) => message)).toEqual([
    "request log: entries wait because writing fails",
    "request log: entries wait because writing fails",
    "request log: entries are lost",
    "request log: entries wait because writing fails",
  ]);
  opened.add(1_000);
  // The first thousand was told at once, and the others with the next one.
  const losses = opened.lines.filter(({ message }) => message === "request log: entries are lost");
  expect(losses.map(({ rows }) => rows)).toEqual([1_000, 3_000]);
  expect(opened.writer.status().lost).toBe(4_000);
  // The entry of the failed write and the newest ones remain.
  expect(await finish(opened)).toBe(0);
  const written = opened.writes.slice(3).flatMap(({ ids }) => ids);
  expect(written).toHaveLength(99_501);
  expect([written[0], written.at(-1)]).toEqual(["e-4001", "e-103501"]);
});

async function finish(opened: Opened): Promise<number> {
  const finished = opened.writer.finish(10_000);
  while (Bun.peek.status(finished) === "pending") await succeed(opened);
  return finished;
}

test("a stop writes all queued entries at once", async () => {
  const opened = open();
  opened.add(200);
  const finished = opened.writer.finish(10_000);
  expect(sizesOf(opened)).toEqual([200]);
  opened.add(3);
  await succeed(opened);
  expect(sizesOf(opened)).toEqual([200, 3]);
  await succeed(opened);
  expect(await finished).toBe(0);
  expect(opened.clock.pending()).toBe(0);
});

test("a stop does not wait for a failing database, and reports lost entries", async () => {
  const opened = open();
  opened.add(200);
  const finished = opened.writer.finish(1_000);
  await fail(opened);
  opened.add(3);
  await opened.clock.advance(1_000);
  expect(await finished).toBe(203);
  await fail(opened);
  expect(opened.clock.pending()).toBe(0);
});

test("after a success the pauses are short again, also while entries wait", async () => {
  const opened = open();
  const { clock, writes } = opened;
  opened.add(300);
  await clock.advance(25);
  for (const pause of [100, 200]) {
    await fail(opened);
    await clock.advance(pause);
  }
  expect(writes).toHaveLength(3);
  await succeed(opened);
  await clock.advance(25);
  await fail(opened);
  await clock.advance(99);
  expect(writes).toHaveLength(4);
  await clock.advance(1);
  expect(sizesOf(opened)).toHaveLength(5);
  expect(await finish(opened)).toBe(0);
});

test("entries that came after the dropped ones do not count as tried", async () => {
  const opened = open();
  opened.add(1);
  await opened.clock.advance(25);
  await fail(opened);
  opened.add(100_000);
  await opened.clock.advance(100);
  expect(opened.writes.map(({ isRetry }) => isRetry)).toEqual([false, false]);
});
