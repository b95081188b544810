// Plans the calls of a model's reply: each is run, needs a person, or is answered without running.
import type { InternalCompletion } from "../../../gateway/index.ts";
import { yieldToEventLoop } from "../../../platform/clock.ts";
import type { Ids } from "../../../platform/ids.ts";
import { hashArguments } from "../../approvals/approval.ts";
import type { ToolCallText } from "../../threads/thread.ts";
import type { CheckArguments } from "../../tools/arguments.ts";
import type { Tool } from "../../tools/contract.ts";
import { cleanText } from "../../tools/output.ts";
import { type CallDecision, decide } from "../../tools/policy.ts";
import { type Amount, formatAmount } from "../cost.ts";
import type { RunEntry } from "../run-entry.ts";
import type { RunState } from "../state.ts";
import type { AssistantData, StepOutcome, ToolCallData } from "../step.ts";
import { fingerprint, makeResult } from "./open-calls.ts";

const CALLS_A_ROUND_MAX = 32;
const CALLS_STORED_MAX = 128;
const REASON_CHARACTERS_MAX = 64;
const NAME_CHARACTERS_MAX = 128;
/** Maximum characters of all arguments of a reply together. */
const ARGUMENTS_CHARACTERS_MAX = 262_144;
/** Length of arguments whose check takes milliseconds, and a turn of the event loop of its own. */
const LONG_ARGUMENTS_CHARACTERS = 4_096;
/** Maximum characters of a reply's text, more than any model writes. */
const CONTENT_CHARACTERS_MAX = 1_048_576;

/** Bounds a model's reply, and gives its calls unique ids. */
export function readReply(reply: InternalCompletion, cost: Amount, ids: Ids): AssistantData {
  const { content, usage, duration_ms } = reply;
  const calls = reply.tool_calls.slice(0, CALLS_STORED_MAX);
  let left = ARGUMENTS_CHARACTERS_MAX;
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
    usage,
    duration_ms,
    cost: formatAmount(cost),
  };
}

const ALREADY_DENIED =
  "The same call was not allowed earlier in this run: it is not asked for again.";

const UNASKED: CallDecision = { decision: "auto", why: [] };

export interface CallPlannerOptions {
  ids: Pick<Ids, "uuid">;
  state: Pick<RunState, "version" | "deniedCalls">;
  findTool(name: string): Tool | undefined;
  /** Why a tool of the version is not found now. */
  explainOff?(name: string): string | null;
  checkArguments: CheckArguments;
  /** The calls are answered from a record, and need no approval. */
  isRecorded: boolean;
  entry: RunEntry;
}

export class CallPlanner {
  readonly #options: CallPlannerOptions;

  constructor(options: CallPlannerOptions) {
    this.#options = options;
  }

  async planCalls(calls: readonly ToolCallText[]): Promise<ToolCallData[]> {
    const planned: ToolCallData[] = [];
    for (const [index, call] of calls.entries()) {
      if (call.arguments.length > LONG_ARGUMENTS_CHARACTERS) await yieldToEventLoop();
      const data = await this.#planCall(call, index);
      if (data) planned.push(data);
    }
    return planned;
  }

  async #planCall(call: ToolCallText, index: number): Promise<ToolCallData | undefined> {
    const { ids, state, findTool, explainOff, checkArguments, isRecorded, entry } = this.#options;
    const { version, deniedCalls } = state;
    const tool = findTool(call.name);
    const pin = version.tool_revisions.find(({ name }) => name === call.name);
    const refused: ToolCallData = {
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
    const answerWithoutRun = (outcome: StepOutcome, content: string, value: unknown = null) => {
      entry.addStep({ kind: "tool_call", data: { ...refused, arguments: value } });
      entry.addResult(makeResult(refused, { outcome, content }));
      return undefined;
    };
    if (index >= CALLS_A_ROUND_MAX) {
      return answerWithoutRun("error", `Only ${CALLS_A_ROUND_MAX} calls of one reply are run.`);
    }
    if (!pin || !tool) {
      const names = version.tools.filter(findTool).join(", ") || "none";
      const outcome = pin ? "disabled" : "unknown_tool";
      const why = explainOff?.(call.name) ?? "There is no such tool now.";
      const content = `${why} The tools you have: ${names}.`;
      return answerWithoutRun(outcome, content);
    }
    const { account_id: account, external_content } = entry.progress;
    const checked = await checkArguments(tool.parameters, call.arguments, { account });
    if (!checked.ok) return answerWithoutRun("invalid_arguments", checked.faults.join("\n"));
    const { value } = checked;
    const isDenied =
      deniedCalls.size > 0 && deniedCalls.has(fingerprint(call.name, hashArguments(value)));
    if (isDenied) return answerWithoutRun("rejected", ALREADY_DENIED, value);
    const { risk, name } = tool;
    const { policy } = version;
    const { decision, why } = isRecorded
      ? UNASKED
      : decide({ risk, name, policy, hasExternal: external_content });
    const data: ToolCallData = {
      ...refused,
      arguments: value,
      decision,
      why,
      approval_id: decision === "needs_approval" ? ids.uuid() : null,
      // Reads get no intent step that would count the attempt.
      attempt: pin.risk === "read" ? 1 : 0,
    };
    entry.addStep({ kind: "tool_call", data });
    return data;
  }
}
