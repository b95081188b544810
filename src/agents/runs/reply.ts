// What becomes of a model's reply: the end of its run, or the calls that it plans.
import type { InternalCompletion } from "../../gateway/index.ts";
import { createArgumentsCheck } from "../tools/arguments.ts";
import { checkCalls } from "./budget.ts";
import { requestDecisions } from "./calls/approval-request.ts";
import { priceRound } from "./cost.ts";
import { finishOverBudget, finishRun } from "./finish.ts";
import { planReply, type ReplyPlan, readReply } from "./reply-plan.ts";
import type { RunRow } from "./run.ts";
import type { RunContext, StepResult } from "./run-context.ts";
import { addReply, createTelling } from "./usage.ts";

export async function takeReply(
  context: RunContext,
  answer: InternalCompletion,
): Promise<StepResult> {
  const { state, deps, findTool } = context;
  const { row } = state;
  const cost = priceRound(row.cost.prices, row.model, answer.usage, answer.usage_estimated);
  const counted = addReply(row, answer, cost, 1);
  const reply = readReply(answer, cost, deps.ids);
  const progress = reply.content ? { ...counted, output: { message: reply.content } } : counted;
  const round = progress.usage.rounds;
  const told = createTelling(context)(round, row.model, cost);

  const isPlain = reply.tool_calls.length === 0;
  const exceeded = isPlain ? null : checkCalls(progress, reply.tool_calls.length);
  // Whoever reads a plan that nobody follows would wait for its results.
  const plan = await planReply({ ...state, row: progress }, reply, {
    ids: deps.ids,
    checkArguments: createArgumentsCheck(deps.compute),
    findTool: isPlain || exceeded ? null : findTool,
  });
  const addition = { progress, steps: [...plan.steps, ...told], messages: plan.messages };
  if (exceeded) return finishOverBudget(context, exceeded, addition);
  // agents.states.running_model_and_tools_finish
  if (isPlain) return finishRun(context, { status: "succeeded", error: null }, addition);
  await follow(context, plan, addition);
  return "next";
}

async function follow(
  context: RunContext,
  plan: ReplyPlan,
  { progress, steps, messages }: { progress: RunRow } & Pick<ReplyPlan, "steps" | "messages">,
): Promise<void> {
  const asked = requestDecisions(
    context,
    progress,
    plan.calls.filter(({ approval_id }) => approval_id !== null),
  );
  const addition = { progress: asked.progress, steps: [...steps, ...asked.steps], messages };
  await context.runLog.plan(addition, asked.requests);
}
