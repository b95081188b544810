// Tests metrics in the Prometheus format.
import { expect, test } from "bun:test";
import {
  keepReading,
  openMetrics,
  registerProcessMetrics,
  showWaiting,
} from "../../src/platform/metrics.ts";
import { createManualClock } from "../support/clock.ts";

const listSamples = (text: string) =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("counters and histograms add up their values", async () => {
  const metrics = await openMetrics();
  const asked = metrics.counter({ name: "asked_total", help: "Asked.", labels: ["by"] });
  asked.inc({ by: "a" });
  asked.inc({ by: "a" }, 2);
  const took = metrics.histogram({ name: "took_seconds", help: "Took.", buckets: [1, 2] });
  took.observe(1.5);
  expect(listSamples(await metrics.write())).toEqual([
    'asked_total{by="a"} 3',
    'took_seconds_bucket{le="1"} 0',
    'took_seconds_bucket{le="2"} 1',
    'took_seconds_bucket{le="+Inf"} 1',
    "took_seconds_sum 1.5",
    "took_seconds_count 1",
  ]);
});

test("gauges and totals are read at each scrape, and forget removed labels", async () => {
  const metrics = await openMetrics();
  let rooms: Record<string, number> = { hall: 1, cellar: 2 };
  metrics.gauge({ name: "guests", help: "Now.", labels: ["room"] }, (set) => {
    for (const [room, guests] of Object.entries(rooms)) set(guests, { room });
  });
  let steps = 7;
  metrics.total({ name: "steps_total", help: "Ever." }, (set) => set(steps));
  expect(listSamples(await metrics.write())).toEqual([
    'guests{room="hall"} 1',
    'guests{room="cellar"} 2',
    "steps_total 7",
  ]);
  rooms = { hall: 3 };
  steps = 9;
  expect(listSamples(await metrics.write())).toEqual(['guests{room="hall"} 3', "steps_total 9"]);
});

test("a label cannot break out of its quotes", async () => {
  const metrics = await openMetrics();
  const asked = metrics.counter({ name: "asked_total", help: "Asked.", labels: ["by"] });
  asked.inc({ by: 'a"} 1\nforged 2' });
  expect(listSamples(await metrics.write())).toEqual(['asked_total{by="a\\"} 1\\nforged 2"} 1']);
});

test("the process reports its start, its memory and its CPU time", async () => {
  const metrics = await openMetrics();
  registerProcessMetrics(metrics, { startedAt: 1_500, version: "1.2.3" });
  const samples = Object.fromEntries(
    listSamples(await metrics.write()).map((line) => line.split(" ") as [string, string]),
  );
  expect(samples[`wadi_build_info{version="1.2.3",bun_version="${Bun.version}"}`]).toBe("1");
  expect(samples.process_start_time_seconds).toBe("1.5");
  expect(Number(samples.process_resident_memory_bytes)).toBeGreaterThan(1_000_000);
  expect(Number(samples.process_cpu_seconds_total)).toBeGreaterThan(0);
});

test("a value from the database is read once for five seconds, and by scrapes together", async () => {
  const clock = createManualClock();
  let reads = 0;
  const find = keepReading(clock, async () => ++reads);
  expect(await Promise.all([find(), find()])).toEqual([1, 1]);
  await clock.advance(4_999);
  expect(await find()).toBe(1);
  await clock.advance(1);
  expect(await find()).toBe(2);
});

test("a read that fails has no value, and the next scrape reads again", async () => {
  let fails = true;
  const find = keepReading(createManualClock(), async () => {
    if (fails) throw new Error("the database is away");
    return 7;
  });
  expect(await find()).toBeNull();
  fails = false;
  expect(await find()).toBe(7);
});

test("a late read delays a scrape by a second at most, and its value comes with a later one", async () => {
  const clock = createManualClock();
  const read = Promise.withResolvers<number>();
  const find = keepReading(clock, () => read.promise);
  const first = find();
  await clock.advance(1_000);
  expect(await first).toBeNull();
  read.resolve(3);
  expect(await find()).toBe(3);
});

test("what waits is shown with the age of the oldest, and left out while it is unknown", async () => {
  const clock = createManualClock();
  const metrics = await openMetrics();
  let waiting = { count: 2, oldest: (clock.now() - 90_000) as number | null };
  let fails = false;
  const read = async () => {
    if (fails) throw new Error("the database is away");
    return waiting;
  };
  showWaiting(metrics, clock, read, [
    { name: "asks_pending", help: "Now." },
    { name: "asks_oldest_age_seconds", help: "Age." },
  ]);
  const scrape = async () => listSamples(await metrics.write());
  expect(await scrape()).toEqual(["asks_pending 2", "asks_oldest_age_seconds 90"]);
  waiting = { count: 0, oldest: null };
  await clock.advance(5_000);
  expect(await scrape()).toEqual(["asks_pending 0", "asks_oldest_age_seconds 0"]);
  // The wall clock may be set back.
  waiting = { count: 1, oldest: clock.now() + 60_000 };
  await clock.advance(5_000);
  expect(await scrape()).toEqual(["asks_pending 1", "asks_oldest_age_seconds 0"]);
  fails = true;
  await clock.advance(5_000);
  expect(await scrape()).toEqual([]);
});
