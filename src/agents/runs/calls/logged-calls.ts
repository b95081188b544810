// The calls of a run as its steps tell of them, each with its result.
import { hashArguments } from "../../approvals/approval.ts";
import type { StepRow, ToolCallData, ToolResultData } from "../step.ts";
import { fingerprint } from "./open-calls.ts";

export interface LoggedCall {
  data: ToolCallData;
  round: number;
  result: ToolResultData | null;
}

/** Reads the calls from the steps of a run, in their order; one that was sent again stands once. */
export function listCalls(
  steps: readonly Pick<StepRow, "kind" | "round" | "data">[],
): LoggedCall[] {
  const calls = new Map<string, LoggedCall>();
  for (const { kind, round, data } of steps) {
    if (kind === "tool_call") {
      const call = data as ToolCallData;
      calls.set(call.tool_call_id, { data: call, round, result: null });
    } else if (kind === "tool_result") {
      const result = data as ToolResultData;
      const call = calls.get(result.tool_call_id);
      if (call) call.result = result;
    }
  }
  return [...calls.values()];
}

/** Names a call by its tool and arguments. */
export function nameCall({ name, arguments: values }: ToolCallData): string {
  return fingerprint(name, hashArguments(values));
}
