// What is written before a call leaves: that it will be sent. Without that nothing is.

import type { RunContext } from "../run-context.ts";
import type { ToolCallData } from "../step.ts";
import { type FinishedCall, writeDisabled } from "./invocation.ts";

export interface IntentResult {
  /** They may begin now. */
  calls: ToolCallData[];
  /** Their tools were switched off meanwhile. */
  refused: FinishedCall[];
}

/**
 * Of a run that was asked to stop none. What only reads, or changes only what lies here,
 * needs no word before.
 */
export async function recordIntents(
  context: RunContext,
  calls: readonly ToolCallData[],
): Promise<IntentResult> {
  const { findTool, runLog } = context;
  const isSending = ({ name }: ToolCallData) => findTool(name)?.sends !== undefined;
  const sending = calls.filter(isSending);
  if (sending.length === 0) return { calls: [...calls], refused: [] };
  const others = calls.filter((call) => !isSending(call));
  const intents = sending.map((call) => ({ ...call, attempt: call.attempt + 1 }));
  const intent = await runLog.intend(intents);
  if (intent.came === "written") return { calls: [...intents, ...others], refused: [] };
  if (intent.came !== "disabled") return { calls: [], refused: [] };
  // Those that may be sent are asked for again without the others.
  const isOff = ({ name }: ToolCallData) => intent.tools.includes(name);
  const left = calls.filter((call) => !isOff(call));
  const allowed = await recordIntents(context, left);
  return { ...allowed, refused: [...sending.filter(isOff).map(writeDisabled), ...allowed.refused] };
}
