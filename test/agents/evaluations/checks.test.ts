// Checks of a run: what holds, what does not, and what cannot be checked.
import { expect, test } from "bun:test";
import { assessRun, validateChecks } from "../../../src/agents/evaluations/checks.ts";
import type { Check } from "../../../src/agents/evaluations/evaluation.ts";
import type { LoggedCall } from "../../../src/agents/runs/calls/logged-calls.ts";
import type { RunRow } from "../../../src/agents/runs/run.ts";
import type { ToolCallData } from "../../../src/agents/runs/step.ts";
import { inlineCompute } from "../../support/compute.ts";
import { makeRun } from "../../support/runs.ts";

const called = (
  name: string,
  values: unknown,
  decision: ToolCallData["decision"] = "auto",
): LoggedCall => ({
  data: { tool_call_id: name, name, arguments: values, decision } as ToolCallData,
  ...{ round: 1, result: null },
});

const RUN: Partial<RunRow> = {
  ...{ status: "succeeded", output: { message: '{"sum": 5}' }, worked_ms: 1_500 },
  usage: {
    ...{ prompt_tokens: 90, completion_tokens: 10, total_tokens: 100, rounds: 2, tool_calls: 1 },
  },
  cost: { model: 500_000, tools: 0, total: 500_000, prices: makeRun("r").cost.prices },
};
const CALLS = [
  called("look_up", { to: "Ada", deep: { a: 1, b: 2 } }),
  called("gone", null, "refused"),
];

const assess = async (check: Check, fields: Partial<RunRow> = {}) => {
  const run = makeRun("r-1", { ...RUN, ...fields });
  const failures = await assessRun(inlineCompute, [check], { run, calls: CALLS });
  return failures.map(({ message }) => message);
};

const SCHEMA = { type: "object", properties: { sum: { type: "integer", minimum: 1 } } };

test.each([
  { end: "succeeded" },
  { called: { tool: "look_up" } },
  { called: { tool: "look_up", arguments: { deep: { b: 2, a: 1 } } } },
  { not_called: { tool: "pay" } },
  { not_called: { tool: "gone" } },
  { not_called: { tool: "look_up", arguments: { to: "Bob" } } },
  { not_called: { tool: "look_up", arguments: { missing: null } } },
  { output_pattern: "sum.+[0-9]" },
  { output_schema: SCHEMA },
  { max_rounds: 2 },
  { max_total_tokens: 100 },
  { max_cost_sar: "0.50" },
  { max_seconds: 1.5 },
] satisfies Check[])("%o holds", async (check) => {
  expect(await assess(check)).toEqual([]);
});

test.each([
  [{ end: "failed" }, "It ended succeeded, not failed."],
  [{ called: { tool: "pay" } }, "It did not call pay."],
  [
    { called: { tool: "look_up", arguments: { to: "Bob" } } },
    'It did not call look_up with {"to":"Bob"}.',
  ],
  [{ not_called: { tool: "look_up" } }, "It called look_up."],
  [{ output_pattern: "^sum" }, "Its text does not match ^sum"],
  [{ max_rounds: 1 }, "Its rounds are 2, and may be 1."],
  [{ max_total_tokens: 99 }, "Its tokens are 100, and may be 99."],
  [{ max_cost_sar: "0.499999" }, "Its cost is 0.500000 SAR, and may be 0.499999 SAR."],
  [{ max_seconds: 1 }, "Its seconds of work are 1.5, and may be 1."],
] satisfies [Check, string][])("%o does not hold", async (check, message) => {
  expect(await assess(check)).toEqual([message]);
});

test("an output that does not fit its schema is told with its place", async () => {
  const output = { message: '{"sum": 0}' };
  const [fault] = await assess({ output_schema: SCHEMA }, { output });
  expect(fault).toStartWith("Its output/sum");
  expect(await assess({ output_schema: SCHEMA }, { output: { message: "5!" } })).toEqual([
    "Its text is no JSON.",
  ]);
});

test("a run without a text or with an unknown cost passes no check of them", async () => {
  expect(await assess({ output_pattern: "" }, { output: null })).toEqual(["It has no text."]);
  const cost = { ...RUN.cost!, total: null };
  expect(await assess({ max_cost_sar: "9" }, { cost })).toEqual([
    "Its cost is unknown, and may be 9 SAR.",
  ]);
  const error = { code: "not_recorded", message: "No." };
  expect(await assess({ end: "succeeded" }, { status: "failed", error })).toEqual([
    "It ended failed (not_recorded), not succeeded.",
  ]);
});

test("what does not hold is told in 300 characters", async () => {
  const [fault] = await assess({ output_pattern: `^${"x".repeat(400)}` });
  expect(fault).toBe(`${`Its text does not match ^${"x".repeat(400)}`.slice(0, 300)}…`);
});

test("all fields of a check must hold, and each failure names its check", async () => {
  const checks: Check[] = [{ end: "succeeded" }, { end: "failed", max_rounds: 1 }];
  const run = makeRun("r-1", RUN);
  const failures = await assessRun(inlineCompute, checks, { run, calls: CALLS });
  expect(failures.map(({ check }) => check)).toEqual([1, 1]);
});

test.each([
  [{}, "checks.0"],
  [{ max_cost_sar: "much" }, "checks.0.max_cost_sar"],
  [{ output_pattern: "(?=x)" }, "checks.0.output_pattern"],
  [{ output_schema: { type: "text" } }, "checks.0.output_schema"],
] satisfies [Check, string][])("%o is refused with its place", async (check, param) => {
  const validated = validateChecks([check], "a-1", inlineCompute);
  await expect(validated).rejects.toMatchObject({ code: "invalid_request", details: { param } });
  await validateChecks([{ output_pattern: "x", output_schema: SCHEMA }], "a-1", inlineCompute);
});
