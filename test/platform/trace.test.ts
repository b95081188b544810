// Tests which traces are passed on, and which are ignored.
import { expect, test } from "bun:test";
import { readTrace, traceIdOf } from "../../src/platform/trace.ts";

const ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = `00-${ID}-00f067aa0ba902b7-01`;
const read = (traceparent: string, tracestate?: string) =>
  readTrace(new Headers(tracestate === undefined ? { traceparent } : { traceparent, tracestate }));

test("a well-formed trace is parsed unchanged", () => {
  expect(read(PARENT)).toEqual({ traceparent: PARENT });
  expect(read(PARENT, "a=1,b=2")).toEqual({ traceparent: PARENT, tracestate: "a=1,b=2" });
  expect(traceIdOf(read(PARENT))).toBe(ID);
});

test.each([
  ["another version", `01-${ID}-00f067aa0ba902b7-01`],
  ["an id of zeros", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
  ["a parent of zeros", `00-${ID}-${"0".repeat(16)}-01`],
  ["capitals", PARENT.toUpperCase()],
  ["a suffix", `${PARENT}-00`],
  ["two of them", `${PARENT}, ${PARENT}`],
  ["nothing", ""],
])("%s is no trace", (_, traceparent) => {
  expect(read(traceparent, "a=1")).toBeNull();
});

test("a tracestate that is too long or not ASCII is dropped, its trace is not", () => {
  expect(read(PARENT, "x".repeat(512))).toHaveProperty("tracestate");
  for (const state of ["x".repeat(513), "caf\u00e9", "a\tb", ""]) {
    expect(read(PARENT, state)).toEqual({ traceparent: PARENT });
  }
});

test("without a trace there is no id", () => {
  expect(readTrace(new Headers({ tracestate: "a=1" }))).toBeNull();
  expect(traceIdOf(null)).toBeUndefined();
});
