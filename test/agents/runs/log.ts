// Invariants of the log of every run.
import { expect } from "bun:test";
import { DEFAULT_BUDGETS, type VersionRow } from "../../../src/agents/definitions/version.ts";
import type { StepRow, ToolCallData, ToolResultData } from "../../../src/agents/runs/step.ts";
import type { Trial } from "./trial.ts";

/** The kinds of a run's steps; for a system step its event. */
export const kindsOf = async (trial: Trial, id: string) =>
  (await trial.steps(id)).map(({ kind, data }) =>
    kind === "system" ? (data as { event: string }).event : kind,
  );

export const resultsOf = async (trial: Trial, id: string) =>
  (await trial.steps(id))
    .filter(({ kind }) => kind === "tool_result")
    .map(({ data }) => data as ToolResultData);

export const outcomesOf = async (trial: Trial, id: string): Promise<string[]> =>
  (await resultsOf(trial, id)).map(({ outcome }) => outcome);

export const callsOf = async (trial: Trial, id: string) =>
  (await trial.steps(id))
    .filter(({ kind }) => kind === "tool_call")
    .map(({ data }) => data as ToolCallData);

/**
 * Checks that steps have no gaps, every planned call has exactly one result and one message, each
 * attempt follows its step, and the parts add up to the total.
 */
export async function verifyLog(trial: Trial, id: string): Promise<void> {
  const steps = await trial.steps(id);
  expect(steps.map(({ seq }) => seq)).toEqual(steps.map((_, index) => index + 1));
  expect(steps.every(({ round }, i) => i === 0 || round >= steps[i - 1]!.round)).toBe(true);
  const calls = await callsOf(trial, id);
  const results = await resultsOf(trial, id);
  const called = [...new Set(calls.map(({ tool_call_id }) => tool_call_id))].toSorted();
  expect(results.map(({ tool_call_id }) => tool_call_id).toSorted()).toEqual(called);
  await verifyMessages(trial, id, results);
  for (const call_id of called) verifySendings(calls.filter((one) => one.tool_call_id === call_id));

  const { usage } = await trial.find(id);
  // Executed calls and those with an unknown outcome count.
  const isCounted = ({ duration_ms, outcome }: ToolResultData) =>
    duration_ms !== null || outcome === "outcome_unknown";
  expect(usage.tool_calls).toBe(results.filter(isCounted).length);
  await verifyCosts(trial, id, steps);
}

/** Checks that each call has one message on the thread, equal to its result. */
async function verifyMessages(trial: Trial, id: string, results: readonly ToolResultData[]) {
  const { thread_id, status } = await trial.find(id);
  const messages = (await trial.messages(thread_id)).filter(({ run_id }) => run_id === id);
  const contents = new Map(results.map(({ tool_call_id, content }) => [tool_call_id, content]));
  const requested = messages
    .flatMap(({ tool_calls }) => tool_calls ?? [])
    .map((call) => call.id)
    // Calls of a last reply beyond its budget are not planned.
    .filter((call_id) => status !== "budget_exceeded" || contents.has(call_id));
  const answers = messages.filter(({ role }) => role === "tool");
  expect(answers.map(({ tool_call_id }) => tool_call_id!).toSorted()).toEqual(requested.toSorted());
  for (const { tool_call_id, content } of answers) {
    expect(content).toBe(contents.get(tool_call_id!)!);
  }
}

/** Checks the steps of one call: planned, then sent again or subject to approval. */
function verifySendings([planned, ...later]: readonly ToolCallData[]): void {
  expect(planned!.attempt).toBeLessThanOrEqual(planned!.risk === "read" ? 1 : 0);
  let sent = planned!.attempt;
  for (const { attempt, decision, arguments: input, why } of later) {
    if (decision === "needs_approval") expect(why).toEqual(["outcome_unknown"]);
    else sent++;
    expect(attempt).toBe(sent);
    expect(input).toEqual(planned!.arguments);
  }
}

async function verifyCosts(trial: Trial, id: string, steps: readonly StepRow[]): Promise<void> {
  const { cost } = await trial.find(id);
  const model = addCosts(steps, (step) => step.kind === "assistant" || isSummary(step));
  const tools = addCosts(steps, ({ kind }) => kind === "tool_result");
  expect([cost.model, cost.tools]).toEqual([model, tools]);
  expect(cost.total).toBe(model === null || tools === null ? null : model + tools);
}

const isSummary = ({ kind, data }: StepRow) =>
  kind === "system" && (data as { event: string }).event === "compacted";

/** The sum of costs, or null if one is unknown. */
function addCosts(steps: readonly StepRow[], isOne: (step: StepRow) => boolean): number | null {
  let sum: number | null = 0;
  for (const step of steps.filter(isOne)) {
    const data = step.data as { cost?: string | null; detail?: { cost: string | null } };
    const cost: string | null = data.detail ? data.detail.cost : (data.cost ?? null);
    sum = sum === null || cost === null ? null : sum + Math.round(Number(cost) * 1_000_000);
  }
  return sum;
}

export const within = (budgets: Partial<VersionRow["budgets"]>) => ({
  version: { budgets: { ...DEFAULT_BUDGETS, ...budgets } },
});
