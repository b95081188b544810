// Calls of which nobody knows whether they were done: never sent again unless that is harmless, or
// a person says so.
import type { Tool } from "../../tools/contract.ts";
import { addCall } from "../counting.ts";
import type { Addition } from "../journal.ts";
import type { RunRow } from "../run.ts";
import type { ToolCallData } from "../step.ts";
import type { Request } from "../store/waiting.ts";
import type { Work } from "../work.ts";
import type { Called } from "./calling.ts";
import { askFor } from "./requesting.ts";
import { writeResult, writeToolMessage } from "./result.ts";

/** So often a call that may be repeated is sent by itself, the first time included. */
const ATTEMPTS_MAX = 3;

const REPORT =
  "Nobody knows whether this call was done: it was sent, and no answer came. It is not sent " +
  "again by itself. Look whether it was done before you ask for the same again.";

/** What adds to a record: the call is asked about, or the model is told. */
export interface Unknown {
  progress: RunRow;
  steps: NonNullable<Addition["steps"]>;
  messages: NonNullable<Addition["messages"]>;
  requests: readonly Request[];
}

/**
 * Whether a call is sent again by itself: its receiver knows it by its key. What cannot be undone
 * never is, whatever is said of it.
 */
export function mayRepeat({ attempt, risk }: ToolCallData, tool: Tool | undefined): boolean {
  return risk === "write" && tool?.sends?.is_idempotent === true && attempt < ATTEMPTS_MAX;
}

/** By the policy a person is asked whether it is sent again, or the model is told. */
export function tellUnknown(work: Work, progress: RunRow, called: Called): Unknown {
  const { call, result: seen, is_off } = called;
  const { state, around, findTool } = work;
  const { ids } = around;
  // What is switched off could not be sent again, whoever said so.
  const maySend = !is_off && findTool(call.name)?.sends !== undefined;
  if (state.version.policy.on_unknown_outcome === "ask" && maySend) {
    const asking: ToolCallData = {
      ...call,
      decision: "needs_approval",
      why: ["outcome_unknown"],
      approval_id: ids.uuid(),
    };
    const asked = askFor(work, progress, [asking]);
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
