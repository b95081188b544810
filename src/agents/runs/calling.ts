// Runs the calls of a round side by side, and says what became of each.
import type { Caller } from "../../access/index.ts";
import { abortAfter } from "../../platform/clock.ts";
import type { Around } from "../around.ts";
import type { ToolResult } from "../tools/contract.ts";
import { cutOutput } from "../tools/output.ts";
import { type Amount, priceCall, writeAmount } from "./cost.ts";
import { type FindTool, writeResult } from "./planning.ts";
import type { RunState } from "./state.ts";
import type { ToolCallData, ToolResultData } from "./step.ts";

/** A call that has ended. */
export interface Called {
  result: ToolResultData;
  /** The whole, where the step has only head and tail of it. */
  whole: string | null;
  cost: Amount;
  /** Where content from outside came from; null: from no one place, or there is none. */
  url: string | null;
}

export interface CallingOptions {
  around: Around;
  findTool: FindTool;
  findOutput(run_id: string, tool_call_id: string): Promise<string | undefined>;
}

/** The tool that reads what others brought, from outside too. */
const READ_OUTPUT = "read_output";

/** Runs one call; it never throws: a bug of a tool is an error of the call. */
export async function runCall(
  { around, findTool, findOutput }: CallingOptions,
  state: RunState,
  call: ToolCallData,
  caller: Caller,
  signal: AbortSignal,
): Promise<Called> {
  const { clock, ids, log } = around;
  const tool = findTool(call.name);
  if (!tool) return endCall(call, "disabled", "The tool was switched off.");
  const { row } = state;
  const begun_at = clock.monotonic();
  const time = abortAfter(clock, tool.timeout_ms, signal);
  let result: ToolResult;
  try {
    result = await tool.run({
      arguments: call.arguments as Record<string, unknown>,
      account_id: row.account_id,
      run_id: row.id,
      tool_call_id: call.tool_call_id,
      caller,
      request_id: ids.uuid(),
      trace: null,
      readOutput: async (id) => (await findOutput(row.id, id)) ?? findShown(state, id),
      now: clock.now,
      signal: time.signal,
    });
  } catch (error) {
    log.error("a tool failed", { run_id: row.id, tool: tool.name, error });
    result = { outcome: "error", content: "The tool failed on our side.", external: false };
  } finally {
    time.cancel();
  }
  // What an earlier result brought from outside is from outside when it is read again.
  const external = result.external || (tool.name === READ_OUTPUT && row.external_content);
  const mayRead = state.version.tools.includes(READ_OUTPUT);
  const cut = cutOutput(result.content, mayRead ? call.tool_call_id : null);
  // Only what was of use is paid.
  const cost = result.outcome === "ok" ? priceCall(row.cost.prices, tool.name) : 0;
  return {
    result: writeResult(call, {
      outcome: result.outcome,
      content: cut.shown,
      truncated: cut.truncated,
      duration_ms: Math.round(clock.monotonic() - begun_at),
      external,
      cost: writeAmount(cost),
    }),
    whole: cut.whole,
    cost,
    url: result.external_url ?? null,
  };
}

/** A call that ends without being run. */
export function endCall(
  call: ToolCallData,
  outcome: ToolResultData["outcome"],
  content: string,
): Called {
  return { result: writeResult(call, { outcome, content }), whole: null, cost: 0, url: null };
}

/** A result that is short enough stands whole among what was said. */
function findShown({ said, present_from }: RunState, tool_call_id: string): string | undefined {
  const own = said.slice(present_from);
  return own.find((message) => message.tool_call_id === tool_call_id)?.content ?? undefined;
}
