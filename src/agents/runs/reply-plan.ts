// From a model's reply to what is written of it: its step, the calls that it plans, and those that
// are answered without being run.
import type { InternalCompletion } from "../../gateway/index.ts";
import { nextTurn } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import { hashArguments } from "../approvals/approval.ts";
import type { NewMessage, ToolCallText } from "../threads/thread.ts";
import type { CheckArguments } from "../tools/arguments.ts";
import type { Tool } from "../tools/contract.ts";
import { cleanText } from "../tools/output.ts";
import { decide } from "../tools/policy.ts";
import { nameCall } from "./calls/open-calls.ts";
import { writeResult, writeToolMessage } from "./calls/result.ts";
import { writeAmount } from "./cost.ts";
import type { RunState } from "./state.ts";
import type { AssistantData, NewStep, StepOutcome, ToolCallData } from "./step.ts";

/** A reply asks for more at its own risk: what is beyond is answered, and not run. */
const CALLS_A_ROUND_MAX = 32;
/** And what is beyond that is not even written down. */
const CALLS_WRITTEN_MAX = 128;
const REASON_CHARACTERS_MAX = 64;
/** As long as a tool's name may be; a model can write anything there. */
const NAME_CHARACTERS_MAX = 128;
/**
 * Of all calls of a reply together, and as long as the longest arguments that are taken: a model's
 * own text, which nobody bounds. All of it is read and written in a few turns of the event loop.
 */
const ARGUMENTS_OF_REPLY_MAX = 262_144;
/** Reading longer ones takes milliseconds: each such call has a turn of its own. */
const ARGUMENTS_AT_ONCE = 4_096;
/** More than any model writes in one reply; what is beyond would come back with every page. */
const CONTENT_CHARACTERS_MAX = 1_048_576;

/** The tools of a version as they are now; undefined: there is none of that name any more. */
export type FindTool = (name: string) => Tool | undefined;

export interface ReplyPlan {
  steps: NewStep[];
  messages: NewMessage[];
  /** Calls that wait to be run or decided. */
  calls: ToolCallData[];
}

/** What a reply is written as; its calls get ids that are unique for ever. */
export function readReply(reply: InternalCompletion, cost: number | null, ids: Ids): AssistantData {
  const { content, usage, duration_ms } = reply;
  const calls = reply.tool_calls.slice(0, CALLS_WRITTEN_MAX);
  let left = ARGUMENTS_OF_REPLY_MAX;
  const cutArguments = (text: string) => {
    const cut = text.slice(0, left);
    left -= cut.length;
    return cleanText(cut);
  };
  return {
    content: content === null ? null : cleanText(content.slice(0, CONTENT_CHARACTERS_MAX)),
    tool_calls: calls.map(({ function: { name, arguments: text } }) => ({
      id: `call_${ids.token(24)}`,
      name: cleanText(name.slice(0, NAME_CHARACTERS_MAX)),
      arguments: cutArguments(text),
    })),
    finish_reason: cleanText(reply.finish_reason.slice(0, REASON_CHARACTERS_MAX)),
    model: reply.model,
    ...{ usage, duration_ms },
    cost: writeAmount(cost),
  };
}

export interface ReplyPlanContext {
  ids: Ids;
  checkArguments: CheckArguments;
  /** null: nothing that the reply asks for is to be done. */
  findTool: FindTool | null;
}

/** The round of its steps is the one that this reply ends. */
export async function planReply(
  state: RunState,
  reply: AssistantData,
  { ids, checkArguments, findTool }: ReplyPlanContext,
): Promise<ReplyPlan> {
  const round = state.row.usage.rounds;
  const plan: ReplyPlan = {
    steps: [{ id: ids.uuid(), round, kind: "assistant", data: reply }],
    messages: [],
    calls: [],
  };
  const { content, tool_calls } = reply;
  // Servers refuse an assistant who says nothing.
  if (content !== null || tool_calls.length > 0) {
    plan.messages.push({
      ...{ id: ids.uuid(), role: "assistant", content },
      tool_calls: tool_calls.length > 0 ? tool_calls : null,
      ...{ tool_call_id: null, external: false },
    });
  }
  if (!findTool) return plan;
  for (const [index, call] of tool_calls.entries()) {
    if (call.arguments.length > ARGUMENTS_AT_ONCE) await nextTurn();
    await planCall(state, plan, call, { index, round, ids, checkArguments, findTool });
  }
  return plan;
}

const DENIED = "The same call was not allowed earlier in this run: it is not asked for again.";

function isDenied({ denied }: RunState, name: string, value: unknown): boolean {
  return denied.size > 0 && denied.has(nameCall(name, hashArguments(value)));
}

interface CallPlanning extends ReplyPlanContext {
  index: number;
  round: number;
  findTool: FindTool;
}

async function planCall(
  state: RunState,
  plan: ReplyPlan,
  call: ToolCallText,
  { index, round, ids, checkArguments, findTool }: CallPlanning,
): Promise<void> {
  const tool = findTool(call.name);
  const pin = state.version.tool_revisions.find(({ name }) => name === call.name);
  const planned: ToolCallData = {
    tool_call_id: call.id,
    name: call.name,
    revision: pin?.revision ?? 0,
    risk: pin?.risk ?? null,
    arguments: null,
    decision: "refused",
    why: [],
    approval_id: null,
    attempt: 0,
  };
  const add = (data: ToolCallData) =>
    plan.steps.push({ id: ids.uuid(), round, kind: "tool_call", data });
  const answer = (outcome: StepOutcome, content: string, value: unknown = null) => {
    add({ ...planned, arguments: value });
    const result = writeResult(planned, { outcome, content });
    plan.steps.push({ id: ids.uuid(), round, kind: "tool_result", data: result });
    plan.messages.push(writeToolMessage(result, ids.uuid()));
  };
  if (index >= CALLS_A_ROUND_MAX) {
    answer("error", `Only ${CALLS_A_ROUND_MAX} calls of one reply are run.`);
    return;
  }
  if (!pin || !tool) {
    const names = state.version.tools.filter(findTool).join(", ") || "none";
    const outcome = pin ? "disabled" : "unknown_tool";
    answer(outcome, `There is no such tool now. The tools you have: ${names}.`);
    return;
  }
  const { account_id: account } = state.row;
  const checked = await checkArguments(tool.parameters, call.arguments, { account });
  if (!checked.ok) {
    answer("invalid_arguments", checked.faults.join("\n"));
    return;
  }
  if (isDenied(state, call.name, checked.value)) {
    answer("rejected", DENIED, checked.value);
    return;
  }
  const { decision, why } = decide({
    risk: tool.risk,
    name: tool.name,
    policy: state.version.policy,
    has_external: state.row.external_content,
  });
  const approval_id = decision === "needs_approval" ? ids.uuid() : null;
  // Nobody has to know before that something is read.
  const attempt = pin.risk === "read" ? 1 : 0;
  const data = { ...planned, arguments: checked.value, decision, why, approval_id, attempt };
  add(data);
  plan.calls.push(data);
}
