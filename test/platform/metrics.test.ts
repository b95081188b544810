// Tests metrics in the Prometheus format.
import { expect, test } from "bun:test";
import { openMetrics, registerProcessMetrics } from "../../src/platform/metrics.ts";

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
  registerProcessMetrics(metrics, 1_500);
  const samples = Object.fromEntries(
    listSamples(await metrics.write()).map((line) => line.split(" ") as [string, string]),
  );
  expect(samples.process_start_time_seconds).toBe("1.5");
  expect(Number(samples.process_resident_memory_bytes)).toBeGreaterThan(1_000_000);
  expect(Number(samples.process_cpu_seconds_total)).toBeGreaterThan(0);
});
