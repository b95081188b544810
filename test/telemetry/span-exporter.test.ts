// Tests how spans are gathered, sent again, dropped with a count, and sent at a stop.
import { expect, test } from "bun:test";
import { createLog } from "../../src/platform/log.ts";
import { openMetrics } from "../../src/platform/metrics.ts";
import type { Span } from "../../src/platform/spans.ts";
import type { Sent } from "../../src/telemetry/collector.ts";
import { writeNanoseconds, writeResource } from "../../src/telemetry/otlp-json.ts";
import { SpanExporter } from "../../src/telemetry/span-exporter.ts";
import { writeSpans } from "../../src/telemetry/span-json.ts";
import { createManualClock } from "../support/clock.ts";
import { readSpans } from "../support/collector.ts";

const TAKEN: Sent = { kind: "taken", rejected: 0 };
const AWAY: Sent = { kind: "later", reason: "refused" };

function makeSpan(n: number, content?: Record<string, string>): Span {
  const context = { traceId: "0".repeat(31) + 1, spanId: "0".repeat(15) + 1, parentId: null };
  const times = { startedAt: 1_000, endedAt: 1_000.5 };
  return {
    context,
    name: `span ${n}`,
    kind: "client",
    ...times,
    attributes: {},
    error: null,
    content,
  };
}

function open(...replies: (Sent | Promise<Sent>)[]) {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const batches: string[][] = [];
  const exporter = new SpanExporter({
    async send(text) {
      batches.push(readSpans({ text }).map(({ name }) => name));
      return replies.shift() ?? TAKEN;
    },
    resource: writeResource({ "service.name": "wadi" }, "1"),
    clock,
    log: createLog(clock, (line) => void lines.push(JSON.parse(line)), false),
  });
  const take = (from: number, to: number, content?: Record<string, string>) => {
    for (let n = from; n <= to; n++) exporter.take(makeSpan(n, content));
  };
  const count = async () => {
    const metrics = await openMetrics();
    exporter.show(metrics);
    const text = await metrics.write();
    const read = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)![1]);
    return {
      waiting: read("wadi_otlp_spans_waiting"),
      exported: read("wadi_otlp_spans_exported_total"),
      full: read('wadi_otlp_spans_dropped_total\\{reason="full"\\}'),
      refused: read('wadi_otlp_spans_dropped_total\\{reason="refused"\\}'),
    };
  };
  return { exporter, clock, lines, batches, take, count };
}

test("spans gather for a second, and 512 are sent at once", async () => {
  const { clock, batches, take, count } = open();
  take(1, 3);
  await clock.advance(999);
  expect(batches).toEqual([]);
  await clock.advance(1);
  expect(batches).toEqual([["span 1", "span 2", "span 3"]]);
  take(1, 600);
  await clock.advance(0);
  expect(batches.map(({ length }) => length)).toEqual([3, 512]);
  await clock.advance(1_000);
  expect(batches.map(({ length }) => length)).toEqual([3, 512, 88]);
  expect(await count()).toEqual({ waiting: 0, exported: 603, full: 0, refused: 0 });
});

test("a full batch is sent at once, also the one after it", async () => {
  const { clock, batches, take } = open();
  take(1, 1_024);
  await clock.advance(0);
  expect(batches.map(({ length }) => length)).toEqual([512, 512]);
  take(1, 512);
  await clock.advance(0);
  expect(batches).toHaveLength(3);
});

test("content that was sent makes room for more", async () => {
  const { clock, take, count } = open();
  const content = { "gen_ai.input.messages": "x".repeat(1_000_000) };
  // Together more than is kept while the collector is away.
  for (let n = 1; n <= 20; n++) {
    take(n, n, content);
    await clock.advance(1_000);
  }
  expect(await count()).toEqual({ waiting: 0, exported: 20, full: 0, refused: 0 });
});

test("while the collector is away the same spans are sent again, ever more rarely", async () => {
  const { clock, batches, lines, take, count } = open(AWAY, AWAY, AWAY);
  take(1, 1);
  await clock.advance(1_000);
  take(2, 2);
  await clock.advance(999);
  expect(batches).toEqual([["span 1"]]);
  await clock.advance(1);
  await clock.advance(2_000);
  expect(await count()).toMatchObject({ waiting: 2, exported: 0 });
  await clock.advance(4_000);
  const both = ["span 1", "span 2"];
  expect(batches).toEqual([["span 1"], both, both, both]);
  expect(await count()).toEqual({ waiting: 0, exported: 2, full: 0, refused: 0 });
  expect(lines).toMatchObject([{ level: "warn", reason: "refused" }]);
  take(3, 3);
  await clock.advance(1_000);
  expect(batches.at(-1)).toEqual(["span 3"]);
});

test("spans whose request failed go before those that came meanwhile", async () => {
  const failing = Promise.withResolvers<Sent>();
  const { clock, batches, take } = open(failing.promise);
  take(1, 2);
  await clock.advance(1_000);
  take(3, 3);
  failing.resolve(AWAY);
  await clock.advance(0);
  await clock.advance(1_000);
  expect(batches).toEqual([
    ["span 1", "span 2"],
    ["span 1", "span 2", "span 3"],
  ]);
});

test("above 4,096 waiting spans the oldest are dropped with a count", async () => {
  const never = new Promise<Sent>(() => {});
  const { clock, batches, take, count } = open(never);
  take(1, 512);
  await clock.advance(0);
  take(513, 4_096);
  expect(await count()).toEqual({ waiting: 4_096, exported: 0, full: 0, refused: 0 });
  take(4_097, 4_097);
  expect(await count()).toEqual({ waiting: 3_841, exported: 0, full: 256, refused: 0 });
  expect(batches).toHaveLength(1);
});

test("long contents are bounded too, in memory and in one request", async () => {
  const { clock, batches, take, count } = open();
  const content = { text: "x".repeat(400_000) };
  take(1, 43, content);
  expect((await count()).full).toBeGreaterThan(0);
  take(1, 2, content);
  await clock.advance(1_000);
  expect(batches[0]).toHaveLength(2);
});

test("as much content as is allowed, in memory and in one request, is kept", async () => {
  const { clock, batches, take, count } = open();
  take(1, 32, { text: "x".repeat(524_288) });
  expect(await count()).toMatchObject({ waiting: 32, full: 0 });
  await clock.advance(1_000);
  expect(batches[0]).toHaveLength(2);
  await clock.advance(15_000);
  expect(await count()).toMatchObject({ waiting: 0, exported: 32 });
});

test("what the collector refuses is dropped with a count, and the next spans are sent", async () => {
  const refused: Sent = { kind: "refused", reason: "status 400" };
  const { clock, lines, take, count } = open(refused, { kind: "taken", rejected: 1 });
  take(1, 2);
  await clock.advance(1_000);
  take(3, 5);
  await clock.advance(1_000);
  expect(await count()).toEqual({ waiting: 0, exported: 2, full: 0, refused: 3 });
  // One line a minute.
  expect(lines).toMatchObject([{ level: "warn", reason: "status 400" }]);
});

test("refusals are told once a minute, and no more spans are counted than were sent", async () => {
  for (const [pause, told] of [
    [58_999, 1],
    [59_000, 2],
  ] as const) {
    const refused: Sent = { kind: "taken", rejected: 9 };
    const { clock, lines, take, count } = open(refused, refused);
    take(1, 1);
    await clock.advance(1_000);
    await clock.advance(pause);
    take(2, 2);
    await clock.advance(1_000);
    expect(lines).toHaveLength(told);
    expect(await count()).toEqual({ waiting: 0, exported: 0, full: 0, refused: 2 });
  }
});

test("a span that ends before its begin, after the clock was set back, takes no time", () => {
  const resource = writeResource({ "service.name": "wadi" }, "1");
  const text = writeSpans(resource, [{ ...makeSpan(1), endedAt: 999 }]);
  const [span] = readSpans({ text });
  expect(span).toMatchObject({
    startTimeUnixNano: writeNanoseconds(1_000),
    endTimeUnixNano: writeNanoseconds(1_000),
  });
});

test("a stop sends what waits, but waits for no collector that is away", async () => {
  const { exporter, batches, take, count } = open();
  take(1, 600);
  await exporter.stop();
  expect(batches.map(({ length }) => length)).toEqual([512, 88]);
  const asked = Promise.withResolvers<Sent>();
  const busy = open(asked.promise);
  busy.take(1, 1);
  await busy.clock.advance(1_000);
  let isStopped = false;
  const busyStopped = busy.exporter.stop().then(() => {
    isStopped = true;
  });
  await busy.clock.advance(0);
  expect(isStopped).toBe(false);
  asked.resolve(AWAY);
  await busyStopped;
  expect(await busy.count()).toMatchObject({ waiting: 1, exported: 0 });
  const away = open(AWAY);
  away.take(1, 1);
  await away.exporter.stop();
  expect(await away.count()).toMatchObject({ waiting: 1 });
  const silent = open(new Promise<Sent>(() => {}));
  silent.take(1, 1);
  const stopped = silent.exporter.stop();
  await silent.clock.advance(2_000);
  await stopped;
  expect(await count()).toMatchObject({ waiting: 0 });
});

test("times are whole nanoseconds", () => {
  expect(writeNanoseconds(1_795_176_000_000)).toBe("1795176000000000000");
  expect(writeNanoseconds(1_000.25)).toBe("1000250000");
  expect(writeNanoseconds(0.999_999_9)).toBe("0999999");
});
