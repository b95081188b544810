// Settles calls of a round in one transaction: results, taint, and decisions about calls of unknown
// outcome.
import { ANSWER_BEGIN } from "../../approvals/approval.ts";
import type { Tool } from "../../tools/contract.ts";
import { failure, type RunContext, type StepResult } from "../run-context.ts";
import type { RunEntry } from "../run-entry.ts";
import type { ToolCallData, ToolResultData } from "../step.ts";
import { makeApproval } from "./approval-request.ts";
import { endHung, endUnseen, type FinishedCall } from "./invocation.ts";
import { type DeniedCall, isSent, makeResult, type OpenCall } from "./open-calls.ts";

/** Maximum automatic attempts of a repeatable call, the first one included. */
const ATTEMPTS_MAX = 3;

/** Writes finished calls, and returns those to send again. */
export async function settleCalls(
  context: RunContext,
  finished: readonly FinishedCall[],
): Promise<ToolCallData[]> {
  const isRepeated = (one: FinishedCall) =>
    isUnknown(one) &&
    !one.isDisabled &&
    !context.hasHung(one.call.tool_call_id) &&
    mayRepeat(one.call, context.findTool(one.call.name));
  const ended = finished.filter((one) => !isRepeated(one));
  if (ended.length > 0) await writeEnded(context, ended);
  return finished.filter(isRepeated).map(({ call }) => call);
}

/** Only idempotent writes are repeated; irreversible calls never are. */
function mayRepeat({ attempt, risk }: ToolCallData, tool: Tool | undefined): boolean {
  return risk === "write" && tool?.sends?.isIdempotent === true && attempt < ATTEMPTS_MAX;
}

export async function settleUnseen(
  context: RunContext,
  unseen: readonly OpenCall[],
): Promise<StepResult> {
  const { state } = context;
  const finished = unseen.map(({ call }) => endUnseen(call));
  const repeated = await settleCalls(context, finished);
  state.openCalls = state.openCalls.map((one) =>
    repeated.includes(one.call) ? { call: one.call, status: "ready", approval: null } : one,
  );
  return "next";
}

export async function settleHung(
  context: RunContext,
  hung: readonly OpenCall[],
): Promise<StepResult> {
  await settleCalls(
    context,
    hung.map(({ call }) => endHung(call)),
  );
  return "next";
}

async function writeEnded(context: RunContext, ended: readonly FinishedCall[]): Promise<void> {
  const entry = context.newEntry();
  for (const one of ended) {
    if (isUnknown(one)) addUnknown(context, entry, one);
    else addKnown(context, entry, one);
  }
  await context.write("settle", entry);
}

export function addKnown(context: RunContext, entry: RunEntry, finished: FinishedCall): void {
  const { call, result, whole = null, cost, url = null, effect, isDisabled } = finished;
  const { name: tool, tool_call_id, external } = result;
  const isFirst = external && !entry.progress.external_content;
  if (!isDisabled && !finished.isUncounted) entry.countCall(cost, external);
  entry.addResult(result, finished.execution);
  context.reportUnpriced(entry, tool, cost);
  // The first outside content taints the run; later ones are reported with their address.
  if (isFirst || url !== null) {
    const message = `The run has read content from outside, with ${tool}.`;
    entry.addEvent("external_content", message, { tool, tool_call_id, url });
  }
  if (whole !== null) entry.outputs.push({ tool_call_id: call.tool_call_id, content: whole });
  if (effect) entry.effects.push({ effect, external: finished.hadExternal === true });
}

const REPORT =
  "Nobody knows whether this call was done: it was sent, and no answer came. It is not sent " +
  "again by itself. Look whether it was done before you ask for the same again.";

/** Requests a decision about a call of unknown outcome, or reports it to the model. */
function addUnknown(context: RunContext, entry: RunEntry, finished: FinishedCall): void {
  const { call, result, isDisabled, execution } = finished;
  const { state, deps } = context;
  // A disabled tool could not be sent again, even after an approval.
  const maySend = !isDisabled && context.findTool(call.name)?.sends !== undefined;
  if (state.version.policy.on_unknown_outcome === "ask" && maySend) {
    const asking: ToolCallData = {
      ...call,
      decision: "needs_approval",
      why: ["outcome_unknown"],
      approval_id: deps.ids.uuid(),
    };
    entry.addStep({ kind: "tool_call", data: asking });
    entry.addApproval(makeApproval(context, asking));
    return;
  }
  const { outcome, http_status, duration_ms } = result;
  entry.countCall(0, false);
  const report = makeResult(call, { outcome, content: REPORT, http_status, duration_ms });
  entry.addResult(report, execution);
}

function isUnknown({ result }: FinishedCall): boolean {
  return result.outcome === "outcome_unknown";
}

/** agents.states.waiting_approval_reject: the run continues, and the model is told. */
export async function settleDenied(
  context: RunContext,
  denied: readonly DeniedCall[],
): Promise<StepResult> {
  const entry = context.newEntry();
  for (const one of denied) {
    // A call that was already sent counts, even if its outcome is unknown.
    if (isSent(one.call)) entry.countCall(0, false);
    context.deps.traces?.recordWait(context.state.row, one.approval, one.event);
    entry.addResult(describeDenial(one));
  }
  const failsOnExpiry = context.state.version.policy.on_approval_expired === "fail";
  if (failsOnExpiry && denied.some(({ event }) => event === "expired")) {
    const message = "Nobody decided in time on a call that needed approval.";
    return context.finish(failure("approval_expired", message), entry);
  }
  await context.write("settle", entry);
  return "next";
}

const DENIALS = {
  rejected: "A person decided that this call is not made.",
  expired: "Nobody decided in time whether this call is made, so it is not made.",
};
const RESEND_DENIALS = {
  rejected: "a person decided that it is not sent again.",
  expired: "nobody decided in time whether it is sent again, so it is not.",
};

function describeDenial({ call, event, approval }: DeniedCall): ToolResultData {
  const given = approval.reason ?? "";
  const isAnswer = given.startsWith(ANSWER_BEGIN);
  if (isAnswer && !isSent(call)) return makeResult(call, { outcome: event, content: given });
  const told = isAnswer || given === "" ? given : `The reason given: ${given}`;
  const reason = told === "" ? "" : ` ${told}`;
  if (isSent(call)) {
    const denial = RESEND_DENIALS[event];
    const content = `Nobody knows whether this call was done, and ${denial}${reason}`;
    return makeResult(call, { outcome: "outcome_unknown", content });
  }
  return makeResult(call, { outcome: event, content: `${DENIALS[event]}${reason}` });
}
