// Two runs side by side.
import { expect, test } from "bun:test";
import { listCalls } from "../../../src/agents/runs/calls/logged-calls.ts";
import { compareRuns } from "../../../src/agents/runs/compare.ts";
import type { RunRow } from "../../../src/agents/runs/run.ts";
import { makeRun } from "../../support/runs.ts";

type Step = Parameters<typeof listCalls>[0][number];
const call = (id: string, name: string, values: unknown): Step =>
  ({ kind: "tool_call", data: { tool_call_id: id, name, arguments: values } }) as never;
const result = (id: string, outcome = "ok"): Step =>
  ({ kind: "tool_result", data: { tool_call_id: id, outcome } }) as never;

const open = (id: string, steps: Step[], fields: Partial<RunRow> = {}) => ({
  run: makeRun(id, { status: "succeeded", output: { message: "5" }, ...fields }),
  calls: listCalls(steps),
});

test("runs that end, call and say the same are the same", () => {
  const a = open("r-1", [call("c-1", "look", { a: 1, b: 2 }), result("c-1")]);
  // A call that was sent twice is one call.
  const steps = [call("c-2", "look", { b: 2, a: 1 }), call("c-2", "look", { b: 2, a: 1 })];
  const b = open("r-2", [...steps, result("c-2", "error")]);
  const found = compareRuns(a, b);
  expect(found.same).toEqual({ end: true, calls: true, text: true });
  expect(found.calls).toEqual([
    {
      a: { name: "look", arguments: '{"a":1,"b":2}', outcome: "ok" },
      b: { name: "look", arguments: '{"b":2,"a":1}', outcome: "error" },
    },
  ]);
});

test("what differs is told: the end, the calls, the text and the measures", () => {
  const a = open("r-1", [call("c-1", "look", {}), call("c-2", "pay", { sum: 1 })]);
  const b = open("r-2", [call("c-1", "pay", { sum: 1 }), call("c-2", "ring", {})], {
    ...{ status: "failed", error: { code: "not_recorded", message: "No." }, output: null },
    ...{ version: 2, worked_ms: 7 },
  });
  const found = compareRuns(a, b);
  expect(found.same).toEqual({ end: false, calls: false, text: false });
  expect(found.calls.map(({ a: one, b: other }) => [one?.name, other?.name])).toEqual([
    ["look", undefined],
    ["pay", "pay"],
    [undefined, "ring"],
  ]);
  expect(found.a).toMatchObject({ run_id: "r-1", version: 1, cost: "0.000000", text: "5" });
  expect(found.b).toMatchObject({
    ...{ run_id: "r-2", version: 2, status: "failed", error_code: "not_recorded", text: null },
    worked_ms: 7,
  });
});

test("calls that read results of their own run are the same whatever call they name", () => {
  const read = (id: string) => [call("c-1", "read_output", { tool_call_id: id }), result("c-1")];
  const found = compareRuns(open("r-1", read("call_1")), open("r-2", read("call_2")));
  expect(found.same.calls).toBe(true);
});

test("long texts and arguments are cut, and at most 1,000 calls shown", () => {
  const steps = Array.from({ length: 1_001 }, (_, at) =>
    call(`c-${at}`, "look", "x".repeat(5_000)),
  );
  const long = open("r-1", steps, { output: { message: "y".repeat(70_000) } });
  const found = compareRuns(long, long);
  expect(found.calls).toHaveLength(1_000);
  expect(found.calls[0]!.a!.arguments.length).toBe(4_097);
  expect(found.a.text!.length).toBe(65_537);
  expect(found.same.text).toBe(true);
});
