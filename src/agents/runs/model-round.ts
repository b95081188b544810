// One round of the model: it is called until it replies or fails for good, and its reply ends the
// run or plans calls.
import type { Caller } from "../../access/index.ts";
import type { InternalChatError, InternalCompletion } from "../../gateway/index.ts";
import type { ErrorCode } from "../../platform/errors.ts";
import { reachPoison } from "../../platform/failpoint.ts";
import { drawFraction } from "../../platform/ids.ts";
import { createArgumentsCheck } from "../tools/arguments.ts";
import { checkBudgets, checkCalls } from "./budget.ts";
import { makeApproval } from "./calls/approval-request.ts";
import { CallPlanner, readReply } from "./calls/plan.ts";
import { notRecorded } from "./calls/replay.ts";
import { maySummarise, reduceContext, takeSummary } from "./context-reduction.ts";
import { type Amount, addCost, addReply, priceRound } from "./cost.ts";
import { type ModelReply, measurePrompt, measureReply } from "./measures.ts";
import { checkOutput } from "./output.ts";
import { buildPrompt, type Prompt } from "./prompt.ts";
import { sourceOf } from "./run.ts";
import {
  type FinalState,
  failure,
  KEY_ENDED,
  type RunContext,
  type StepResult,
} from "./run-context.ts";
import type { RunEntry } from "./run-entry.ts";
import type { AssistantData, StepExecution } from "./step.ts";

const HUNG = failure(
  "internal_error",
  "The model's round stopped the service twice and is not asked again.",
);

export async function runModelRound(context: RunContext): Promise<StepResult> {
  await context.refreshTools();
  const name = context.roundName;
  if (context.hasHung(name)) return context.finish(HUNG);
  const round = context.state.row.usage.rounds + 1;
  if (context.recorded?.mustReplay(round)) return replayRound(context, round);
  const prompt = context.watch(name, () => buildPrompt(context, maySummarise(context)));
  const result = await callModel(context, prompt);
  switch (result.kind) {
    case "interrupted":
      return "interrupted";
    case "draining":
      return context.release();
    case "failed": {
      const isReduced = await reduceContext(context, result.final, prompt);
      return isReduced ? "next" : context.finish(result.final);
    }
    case "reply":
      if (prompt.summary) return takeSummary(context, prompt.summary, result);
      return context.watch(name, () => {
        reachPoison("reply", result.reply);
        return takeReply(context, prompt, result);
      });
  }
}

/** Takes a round of a rerun from the record; the model is not asked, and nothing is paid. */
async function replayRound(context: RunContext, round: number): Promise<StepResult> {
  const recorded = context.recorded!.findReply(round);
  if (!recorded) return context.finish(notRecorded(`round ${round}`));
  const { content, finish_reason, model } = recorded;
  const reply: InternalCompletion = {
    ...{ ok: true, model, content, finish_reason, usage: NO_USAGE, usage_estimated: false },
    tool_calls: recorded.tool_calls.map(({ id, name, arguments: text }) => {
      return { id, type: "function", function: { name, arguments: text } };
    }),
    duration_ms: 0,
  };
  const answer = { reply, askedAt: context.deps.clock.now(), request_id: null };
  const prompt = context.watch(context.roundName, () => buildPrompt(context, false));
  return context.watch(context.roundName, () => takeReply(context, prompt, answer, 0));
}

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

type ModelCallResult =
  | ({ kind: "reply" } & ModelReply)
  | { kind: "failed"; final: FinalState }
  | { kind: "interrupted" | "draining" };

async function callModel(
  context: RunContext,
  { request, summary }: Prompt,
): Promise<ModelCallResult> {
  const { deps, state, control } = context;
  const { internal, clock, ids } = deps;
  let firstFailedAt: number | null = null;
  let wasLimited = false;
  for (let attempts = 1; ; attempts++) {
    // agents.authentication.1: the key's rights are read for each attempt.
    const caller = await context.findCaller();
    if (!caller) return { kind: "failed", final: KEY_ENDED };
    const trace = deps.traces?.open(state.row) ?? null;
    const sender = { caller, request_id: ids.uuid(), trace, run: sourceOf(state.row) };
    const askedAt = clock.now();
    // A summary is no reply to anybody.
    const live = summary ? undefined : deps.live?.begin(state.row);
    const reply = await context.watch(context.roundName, () => {
      reachPoison("model", request);
      return internal.chat.ask(sender, request, control.signal, live);
    });
    live?.end(reply.ok);
    const { request_id } = sender;
    if (reply.ok) return { kind: "reply", reply, askedAt, request_id };
    // agents.does.cost.1: tokens were generated at an unknown cost.
    if (reply.usage) state.row = { ...state.row, cost: addCost(state.row.cost, "model", null) };
    if (control.signal.aborted) return { kind: "interrupted" };
    if (reply.isStopped) return { kind: "draining" };
    const now = clock.monotonic();
    const isLimited = reply.code === LIMITED;
    // Failures of a server and waits for a limit are counted apart.
    if (isLimited !== wasLimited) [attempts, firstFailedAt] = [1, now];
    wasLimited = isLimited;
    firstFailedAt ??= now;
    const waitMs = planRetry(
      reply,
      { attempts, elapsedMs: now - firstFailedAt },
      drawFraction(ids),
    );
    if (waitMs === null) return { kind: "failed", final: failure(reply.code, reply.reason) };
    const { code } = reply;
    const entry = context.newEntry();
    const message = isLimited
      ? `The round waits for a limit. ${reply.reason}`
      : `The model failed with ${code}; it is asked again.`;
    const detail = { code, attempt: attempts, wait_ms: waitMs };
    entry.addEvent("model_retry", message, detail, { started_at: askedAt });
    context.reportUnpriced(entry, state.row.model, state.row.cost.model);
    await context.write("note", entry);
    const parked = await (isLimited
      ? parkWhileLimited(context, caller, waitMs)
      : control.park(waitMs));
    if (parked !== "resumed") return { kind: parked };
  }
}

/** Waits, at most until the limits of the caller are others. */
async function parkWhileLimited(context: RunContext, { limits }: Caller, waitMs: number) {
  for (let leftMs = waitMs; leftMs > 0; leftMs -= LIMITS_READ_EVERY_MS) {
    const parked = await context.control.park(Math.min(leftMs, LIMITS_READ_EVERY_MS));
    if (parked !== "resumed") return parked;
    const caller = await context.findCaller();
    if (!caller || !Bun.deepEquals(caller.limits, limits)) break;
  }
  return "resumed";
}

/** Code of limits of the key or its account, which end with their period. */
const LIMITED: ErrorCode = "rate_limit_exceeded";
const LIMITS_READ_EVERY_MS = 60_000;

/** Failures of servers that are gone or busy, which return by themselves. */
const TEMPORARY: readonly ErrorCode[] = [
  "model_offline",
  "no_model_available",
  "upstream_rate_limited",
  "rate_limit_exceeded",
  "capacity_exceeded",
];
const TEMPORARY_MS_MAX = 600_000;
/** Failures that may occur again, and are retried a few times only. */
const TRANSIENT: readonly ErrorCode[] = [
  "upstream_error",
  "upstream_timeout",
  "model_unavailable",
  "service_unavailable",
  "internal_error",
];
const TRANSIENT_ATTEMPTS_MAX = 4;
const TRANSIENT_MS_MAX = 30_000;
const FIRST_RETRY_WAIT_MS = 1_000;
const RETRY_WAIT_MS_MAX = 30_000;

type RetriedFailure = Pick<InternalChatError, "code" | "retry_after_ms" | "isFinal">;

interface RetryState {
  attempts: number;
  elapsedMs: number;
}

/**
 * Returns the wait before the next attempt; null ends the retries. `draw`, a fraction up to 1,
 * spreads attempts that failed together.
 */
export function planRetry(
  { code, retry_after_ms = 0, isFinal }: RetriedFailure,
  { attempts, elapsedMs }: RetryState,
  draw: number,
): number | null {
  const isTemporary = TEMPORARY.includes(code);
  if (isFinal) return null;
  if (!isTemporary && !TRANSIENT.includes(code)) return null;
  if (!isTemporary && attempts >= TRANSIENT_ATTEMPTS_MAX) return null;
  const doubledMs = Math.min(FIRST_RETRY_WAIT_MS * 2 ** (attempts - 1), RETRY_WAIT_MS_MAX);
  const waitMs = Math.max(doubledMs * (0.75 + draw / 2), retry_after_ms);
  const limitMs = isTemporary ? TEMPORARY_MS_MAX : TRANSIENT_MS_MAX;
  if (code === LIMITED) return Math.ceil(waitMs);
  return elapsedMs + waitMs > limitMs ? null : Math.ceil(waitMs);
}

function priceReply({ state: { row } }: RunContext, { reply }: ModelReply): Amount {
  return priceRound(row.cost.prices, row.model, reply.usage, reply.usage_estimated);
}

async function takeReply(
  context: RunContext,
  prompt: Prompt,
  answer: ModelReply,
  cost = priceReply(context, answer),
): Promise<StepResult> {
  const { reply } = answer;
  const { state, deps, recorded } = context;
  const execution = { ...measureReply(answer), prompt: measurePrompt(state, prompt) };
  const { row } = state;
  context.summaries = 0;
  const data = readReply(reply, cost, deps.ids);
  const counted = addReply(row, reply.usage, cost, 1);
  const output = data.content ? { message: data.content } : row.output;
  const entry = context.newEntry({ ...counted, output });
  if (state.version.output_schema && data.tool_calls.length === 0) {
    return takeOutput(context, entry, { data, execution, cost });
  }
  const planner = new CallPlanner({
    ids: deps.ids,
    state,
    findTool: context.findTool,
    explainOff: context.explainOff,
    checkArguments: createArgumentsCheck(deps.compute),
    isRecorded: recorded?.answersCalls(counted.usage.rounds) === true,
    entry,
  });
  entry.addReply(data, execution);
  const exceeded = checkCalls(entry.progress, data.tool_calls.length);
  // A plan that is not followed would leave calls without results.
  const calls = exceeded ? [] : await planner.planCalls(data.tool_calls);
  context.reportUnpriced(entry, row.model, cost);
  if (exceeded) return context.finishOverBudget(exceeded, entry);
  // agents.states.running_model_and_tools_finish
  if (data.tool_calls.length === 0) {
    return context.finish({ status: "succeeded", error: null }, entry);
  }
  for (const call of calls) {
    if (call.approval_id !== null) entry.addApproval(makeApproval(context, call));
  }
  await context.write("plan", entry);
  return "next";
}

interface ReadAnswer {
  data: AssistantData;
  execution: StepExecution;
  cost: Amount;
}

/** Ends a run with its checked output, or asks once more for an answer that does not fit. */
async function takeOutput(
  context: RunContext,
  entry: RunEntry,
  { data, execution, cost }: ReadAnswer,
): Promise<StepResult> {
  const { state, deps, workedMs } = context;
  const { row, version } = state;
  context.reportUnpriced(entry, row.model, cost);
  const checked = await checkOutput(deps.compute, version.output_schema!, data, row.account_id);
  if (checked.ok) {
    entry.addReply(data, execution);
    entry.progress = { ...entry.progress, output: { message: data.content!, data: checked.value } };
    return context.finish({ status: "succeeded", error: null }, entry);
  }
  const { faults } = checked;
  const asked_again = !state.rejected && checkBudgets(entry.progress, workedMs) === null;
  // Only the answer that stays is a message of the thread.
  if (asked_again) entry.addStep({ kind: "assistant", data }, execution);
  else entry.addReply(data, execution);
  const says = "The answer does not fit the output schema";
  const message = asked_again ? `${says}; the model is asked once more.` : `${says}.`;
  entry.addEvent("output_invalid", message, { faults, asked_again });
  if (!asked_again) {
    return context.finish(failure("invalid_output", `${says}. ${faults.join(" ")}`), entry);
  }
  await context.write("plan", entry);
  return "next";
}
