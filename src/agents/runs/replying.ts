// What becomes of a model's reply: the end of its run, or the calls that it plans.
import type { RoundAnswer } from "../../gateway/index.ts";
import { createArgumentsCheck } from "../tools/arguments.ts";
import { judgeCalls } from "./budget.ts";
import { askFor } from "./calls/requesting.ts";
import { priceRound } from "./cost.ts";
import { addReply, createTelling } from "./counting.ts";
import { end, exceed } from "./ending.ts";
import { type Plan, planReply, readReply } from "./planning.ts";
import type { RunRow } from "./run.ts";
import type { Turn, Work } from "./work.ts";

export async function takeReply(work: Work, answer: RoundAnswer): Promise<Turn> {
  const { state, around, findTool } = work;
  const { row } = state;
  const cost = priceRound(row.cost.prices, row.model, answer.usage, answer.usage_estimated);
  const counted = addReply(row, answer, cost, 1);
  const reply = readReply(answer, cost, around.ids);
  const progress = reply.content ? { ...counted, output: { message: reply.content } } : counted;
  const round = progress.usage.rounds;
  const told = createTelling(work)(round, row.model, cost);

  const isPlain = reply.tool_calls.length === 0;
  const exceeded = isPlain ? null : judgeCalls(progress, reply.tool_calls.length);
  // Whoever reads a plan that nobody follows would wait for its results.
  const plan = await planReply({ ...state, row: progress }, reply, {
    ids: around.ids,
    checkArguments: createArgumentsCheck(around.compute),
    findTool: isPlain || exceeded ? null : findTool,
  });
  const addition = { progress, steps: [...plan.steps, ...told], messages: plan.messages };
  if (exceeded) return exceed(work, exceeded, addition);
  // agents.states.running_model_and_tools_finish
  if (isPlain) return end(work, { status: "succeeded", error: null }, addition);
  await follow(work, plan, addition);
  return "next";
}

async function follow(
  work: Work,
  plan: Plan,
  { progress, steps, messages }: { progress: RunRow } & Pick<Plan, "steps" | "messages">,
): Promise<void> {
  const asked = askFor(
    work,
    progress,
    plan.calls.filter(({ approval_id }) => approval_id !== null),
  );
  const addition = { progress: asked.progress, steps: [...steps, ...asked.steps], messages };
  await work.journal.plan(addition, asked.requests);
}
