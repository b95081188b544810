// Calls of which nobody knows whether they were done: never sent again unless that is harmless, or
// a person says so.
import type { Tool } from "../../tools/contract.ts";
import type { RunRow } from "../run.ts";
import type { RunContext } from "../run-context.ts";
import type { RunLogEntry } from "../run-log.ts";
import type { ToolCallData } from "../step.ts";
import type { ApprovalRequest } from "../store/wait.ts";
import { addCall } from "../usage.ts";
import { requestDecisions } from "./approval-request.ts";
import type { FinishedCall } from "./invocation.ts";
import { writeResult, writeToolMessage } from "./result.ts";

/** So often a call that may be repeated is sent by itself, the first time included. */
const ATTEMPTS_MAX = 3;

const REPORT =
  "Nobody knows whether this call was done: it was sent, and no answer came. It is not sent " +
  "again by itself. Look whether it was done before you ask for the same again.";

/** What adds to a record: the call is asked about, or the model is told. */
export interface UnknownOutcome {
  progress: RunRow;
  steps: NonNullable<RunLogEntry["steps"]>;
  messages: NonNullable<RunLogEntry["messages"]>;
  requests: readonly ApprovalRequest[];
}

/**
 * Whether a call is sent again by itself: its receiver knows it by its key. What cannot be undone
 * never is, whatever is said of it.
 */
export function mayRepeat({ attempt, risk }: ToolCallData, tool: Tool | undefined): boolean {
  return risk === "write" && tool?.sends?.isIdempotent === true && attempt < ATTEMPTS_MAX;
}

/** By the policy a person is asked whether it is sent again, or the model is told. */
export function describeUnknown(
  context: RunContext,
  progress: RunRow,
  called: FinishedCall,
): UnknownOutcome {
  const { call, result: seen, is_off } = called;
  const { state, deps, findTool } = context;
  const { ids } = deps;
  // What is switched off could not be sent again, whoever said so.
  const maySend = !is_off && findTool(call.name)?.sends !== undefined;
  if (state.version.policy.on_unknown_outcome === "ask" && maySend) {
    const asking: ToolCallData = {
      ...call,
      decision: "needs_approval",
      why: ["outcome_unknown"],
      approval_id: ids.uuid(),
    };
    const asked = requestDecisions(context, progress, [asking]);
    const planned = { id: ids.uuid(), round: progress.usage.rounds, kind: "tool_call" as const };
    const steps = [{ ...planned, data: asking }, ...asked.steps];
    return { ...asked, steps, messages: [] };
  }
  const { outcome, http_status, duration_ms } = seen;
  const result = writeResult(call, { outcome, content: REPORT, http_status, duration_ms });
  const step = { id: ids.uuid(), round: progress.usage.rounds, kind: "tool_result" as const };
  return {
    progress: addCall(progress, 0, false),
    steps: [{ ...step, data: result }],
    messages: [writeToolMessage(result, ids.uuid())],
    requests: [],
  };
}
