// What a call came to, as its step, and the same for the model and the thread.
import { formatMoney } from "../../../platform/money.ts";
import type { NewMessage } from "../../threads/thread.ts";
import type { ToolCallData, ToolResultData } from "../step.ts";
import { isSent } from "./open-calls.ts";

const NOTHING = formatMoney(0);

export function writeResult(
  { tool_call_id, name }: Pick<ToolCallData, "tool_call_id" | "name">,
  result: Pick<ToolResultData, "outcome" | "content"> & Partial<ToolResultData>,
): ToolResultData {
  return {
    ...{ tool_call_id, name, truncated: false, http_status: null, duration_ms: null },
    ...{ external: false, cost: NOTHING },
    ...result,
  };
}

/** Of a call whose run ends first. */
export function writeUnfinished(call: ToolCallData): ToolResultData {
  if (isSent(call)) {
    const content = "The run ended while this call was under way: it may have been done or not.";
    return writeResult(call, { outcome: "outcome_unknown", content });
  }
  const content = "The run ended before this call was done.";
  return writeResult(call, { outcome: "cancelled", content });
}

export function writeToolMessage(
  { tool_call_id, content, external }: ToolResultData,
  id: string,
): NewMessage {
  return { id, role: "tool", content, tool_calls: null, tool_call_id, external };
}
