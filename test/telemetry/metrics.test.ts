// Metrics as a collector gets them: the values of the page, at an interval and at a stop.
import { afterEach, expect, test } from "bun:test";
import { createLog } from "../../src/platform/log.ts";
import { openMetrics } from "../../src/platform/metrics.ts";
import type { Sent } from "../../src/telemetry/collector.ts";
import { MetricExporter } from "../../src/telemetry/metric-exporter.ts";
import { writeMetrics } from "../../src/telemetry/metric-json.ts";
import { writeResource } from "../../src/telemetry/otlp-json.ts";
import { startApp } from "../support/app.ts";
import { createManualClock } from "../support/clock.ts";
import { startCollector } from "../support/collector.ts";
import { hasJudge, judgeRequests } from "../support/otlp-judge.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const RESOURCE = writeResource({ "service.name": "wadi" }, "1");
const TIMES = { startedAt: 1_000, now: 61_000.5 };

async function write(fill: (metrics: Awaited<ReturnType<typeof openMetrics>>) => void) {
  const metrics = await openMetrics();
  fill(metrics);
  const { resourceMetrics } = JSON.parse(writeMetrics(RESOURCE, await metrics.read(), TIMES));
  return resourceMetrics[0].scopeMetrics[0].metrics;
}

test("counters, gauges and histograms have their form, units and times", async () => {
  const written = await write((metrics) => {
    metrics.counter({ name: "asked_total", help: "Asked.", labels: ["by"] }).inc({ by: "a" }, 3);
    metrics.gauge({ name: "kept_bytes", help: "Kept." }, (set) => set(7));
    const took = metrics.histogram({ name: "took_seconds", help: "Took.", buckets: [1, 2] });
    for (const seconds of [0.5, 1.5, 1.6, 9]) took.observe(seconds);
  });
  const time = { startTimeUnixNano: "1000000000", timeUnixNano: "61000500000" };
  expect(written).toEqual([
    {
      name: "asked_total",
      description: "Asked.",
      sum: {
        aggregationTemporality: 2,
        isMonotonic: true,
        dataPoints: [
          { ...time, attributes: [{ key: "by", value: { stringValue: "a" } }], asDouble: 3 },
        ],
      },
    },
    {
      name: "kept_bytes",
      description: "Kept.",
      unit: "By",
      gauge: { dataPoints: [{ ...time, attributes: [], asDouble: 7 }] },
    },
    {
      name: "took_seconds",
      description: "Took.",
      unit: "s",
      histogram: {
        aggregationTemporality: 2,
        dataPoints: [
          {
            ...time,
            attributes: [],
            count: "4",
            sum: 12.6,
            bucketCounts: ["1", "2", "1"],
            explicitBounds: [1, 2],
          },
        ],
      },
    },
  ]);
});

test("what has no value is left out", async () => {
  const written = await write((metrics) => {
    metrics.counter({ name: "asked_total", help: "Asked.", labels: ["by"] });
    metrics.gauge({ name: "free_bytes", help: "Free." }, (set) => set(Number.NaN));
    const buckets = [1];
    metrics.histogram({ name: "took_seconds", help: "Took.", labels: ["by"], buckets });
  });
  expect(written).toEqual([]);
});

function open(...replies: Sent[]) {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  let sent = 0;
  const exporter = new MetricExporter({
    metrics: { read: async () => [] },
    everyMs: 60_000,
    async send() {
      sent += 1;
      return replies.shift() ?? { kind: "taken", rejected: 0 };
    },
    resource: RESOURCE,
    clock,
    log: createLog(clock, (line) => void lines.push(JSON.parse(line)), false),
  });
  return { exporter, clock, lines, count: () => sent };
}

test("metrics are sent at each interval and once more at the stop", async () => {
  const { exporter, clock, count } = open();
  exporter.start();
  await clock.advance(59_999);
  expect(count()).toBe(0);
  await clock.advance(1);
  await clock.advance(60_000);
  expect(count()).toBe(2);
  await exporter.stop();
  expect([count(), clock.pending()]).toEqual([3, 0]);
});

test("a collector that is away is told once a minute at most, and asked at the next interval", async () => {
  const away: Sent = { kind: "later", reason: "refused" };
  const { exporter, clock, lines, count } = open(away, away, { kind: "taken", rejected: 2 });
  exporter.start();
  await clock.advance(120_000);
  await exporter.stop();
  expect(count()).toBe(3);
  expect(lines).toMatchObject([{ reason: "refused" }, { reason: "refused" }]);
});

test("a collector that takes a part only is told", async () => {
  const { exporter, clock, lines } = open({ kind: "taken", rejected: 2 });
  exporter.start();
  await clock.advance(60_000);
  await exporter.stop();
  expect(lines).toMatchObject([{ level: "warn", reason: "it took a part only" }]);
});

test("a server sends its metrics without a page of its own", async () => {
  const collector = startCollector();
  const app = await startApp({
    settings: `[telemetry]\notlp = "${collector.url}"\nmetrics_every = "10s"\n`,
    listens: true,
  });
  cleanups.push(collector.stop, app.stop);
  expect((await app.get("/metrics", { key: null })).status).toBe(404);
  const find = () => collector.requests.find(({ path }) => path === "/v1/metrics");
  await app.clock.advance(10_000);
  while (!find()) await collector.next();
  expect(find()!.text).toContain('"name":"wadi_build_info"');
});

test.skipIf(!hasJudge)("opentelemetry-proto reads the values of the page", async () => {
  const collector = startCollector();
  const settings = `[telemetry]\notlp = "${collector.url}"\n`;
  const app = await startApp({ settings, hasOpenMetrics: true, listens: true });
  cleanups.push(collector.stop);
  for (let n = 0; n < 3; n++) expect((await app.chat("Hello")).status).toBe(201);
  const page = await (await app.get("/metrics", { key: null })).text();
  await app.stop();
  const { metrics } = await judgeRequests(
    collector.requests.filter(({ path }) => path === "/v1/metrics"),
  );
  const find = (name: string) => metrics.find((one) => one.name === name)!;
  const [duration] = find("gen_ai_server_request_duration_seconds").points;
  expect(duration!.value).toMatchObject({ count: 3 });
  expect(duration!.attributes).toMatchObject({ gen_ai_request_model: "stub-1" });
  expect(find("wadi_tokens_total")).toMatchObject({ kind: "sum" });
  const tokens = Object.fromEntries(
    find("wadi_tokens_total").points.map(({ attributes, value }) => [
      attributes.gen_ai_token_type,
      value,
    ]),
  );
  for (const [type, value] of Object.entries(tokens)) {
    expect(page).toContain(`gen_ai_token_type="${type}"} ${value}\n`);
  }
  expect(find("wadi_runs_executing")).toMatchObject({ kind: "gauge", points: [{ value: 0 }] });
});
