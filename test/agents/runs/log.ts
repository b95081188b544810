// What must hold of the log of every run, whatever became of it.
import { expect } from "bun:test";
import { DEFAULT_BUDGETS, type VersionRow } from "../../../src/agents/definitions/version.ts";
import type { StepRow, ToolResultData } from "../../../src/agents/runs/step.ts";
import type { Trial } from "./trial.ts";

/** The kinds of a run's steps; of a system step its event. */
export const kindsOf = async (trial: Trial, id: string) =>
  (await trial.steps(id)).map(({ kind, data }) =>
    kind === "system" ? (data as { event: string }).event : kind,
  );

export const resultsOf = async (trial: Trial, id: string) =>
  (await trial.steps(id))
    .filter(({ kind }) => kind === "tool_result")
    .map(({ data }) => data as ToolResultData);

/** Steps have no gaps, every planned call has exactly one result, and the parts are the total. */
export async function judgeLog(trial: Trial, id: string): Promise<void> {
  const steps = await trial.steps(id);
  expect(steps.map(({ seq }) => seq)).toEqual(steps.map((_, index) => index + 1));
  const idsOf = (wanted: string) =>
    steps
      .filter(({ kind }) => kind === wanted)
      .map(({ data }) => (data as { tool_call_id: string }).tool_call_id)
      .sort();
  expect(idsOf("tool_result")).toEqual(idsOf("tool_call"));
  expect(steps.every(({ round }, i) => i === 0 || round >= steps[i - 1]!.round)).toBe(true);

  const { cost } = await trial.find(id);
  const model = addCosts(steps, (step) => step.kind === "assistant" || isSummary(step));
  const tools = addCosts(steps, ({ kind }) => kind === "tool_result");
  expect([cost.model, cost.tools]).toEqual([model, tools]);
  expect(cost.total).toBe(model === null || tools === null ? null : model + tools);
}

const isSummary = ({ kind, data }: StepRow) =>
  kind === "system" && (data as { event: string }).event === "compacted";

/** null: one of them is unknown. */
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
