// Tests which traces are recorded, and that times follow the wall clock.
import { expect, test } from "bun:test";
import { writeTrace } from "../../src/platform/spans.ts";
import { readTrace } from "../../src/platform/trace.ts";
import { SampledTracer } from "../../src/telemetry/tracer.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

function open(sample: number) {
  const clock = createManualClock();
  const options = { sample, hasContent: false, clock, ids: createSeededIds(), take() {} };
  return { clock, tracer: new SampledTracer(options) };
}

test("a new trace has ids of the right form, and its headers are valid", () => {
  const context = open(1).tracer.begin(null)!;
  expect(context).toMatchObject({ parentId: null });
  expect(context.traceId).toMatch(/^[0-9a-f]{32}$/);
  const headers = new Headers({ ...writeTrace(context) });
  expect(readTrace(headers)).toEqual({
    traceparent: `00-${context.traceId}-${context.spanId}-01`,
  });
});

test("about the given share is recorded, and all processes agree on a trace", () => {
  const quarter = open(0.25).tracer;
  const { tracer } = open(1);
  const traces = Array.from({ length: 4_000 }, () => tracer.begin(null)!);
  const recorded = traces.filter((one) => quarter.isSampled(one.traceId));
  expect(recorded.length).toBeWithin(800, 1_200);
  for (const one of traces) {
    expect(quarter.begin(writeTrace(one)) !== null).toBe(recorded.includes(one));
  }
});

test("a trace at the border of the share is not recorded, and a share of 0 records none", () => {
  const [below, border] = [
    "0".repeat(19) + "7".padEnd(13, "f"),
    "0".repeat(19) + "8".padEnd(13, "0"),
  ];
  expect([below, border].map((id) => open(0.5).tracer.isSampled(id))).toEqual([true, false]);
  expect(open(0).tracer.isSampled("0".repeat(32))).toBe(false);
});

test("a trace that its caller does not record is not recorded", () => {
  const { tracer } = open(1);
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
  expect(tracer.begin({ traceparent: `${traceparent}-00` })).toBeNull();
  expect(tracer.begin({ traceparent: `${traceparent}-03` })).toMatchObject({
    parentId: "00f067aa0ba902b7",
  });
});

test("times follow the wall clock when it is set, with fractions of the monotonic one", async () => {
  const { clock, tracer } = open(1);
  const before = tracer.now();
  await clock.advance(0.25);
  expect(tracer.now() - before).toBeCloseTo(0.25, 3);
  clock.shiftWall(60_000);
  expect(tracer.now() - before).toBeCloseTo(60_000, -1);
});

test("a wall clock that is off by 10 ms was not set, and by more it was", () => {
  for (const [shift, seen] of [
    [10, 0],
    [11, 11],
  ] as const) {
    const { clock, tracer } = open(1);
    const before = tracer.now();
    clock.shiftWall(shift);
    expect(tracer.now() - before).toBe(seen);
  }
});
