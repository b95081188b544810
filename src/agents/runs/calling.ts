// Runs the calls of a round side by side, and says what became of each.
import type { Caller } from "../../access/index.ts";
import { abortAfter } from "../../platform/clock.ts";
import type { StoredOutput, ToolResult } from "../tools/contract.ts";
import { cutOutput } from "../tools/output.ts";
import { type Amount, priceCall, writeAmount } from "./cost.ts";
import { writeResult } from "./result.ts";
import type { RunState } from "./state.ts";
import type { ToolCallData, ToolResultData } from "./step.ts";
import type { Work } from "./work.ts";

/** A call that has ended. */
export interface Called {
  result: ToolResultData;
  /** The whole, where the step has only head and tail of it. */
  whole: string | null;
  cost: Amount;
  /** Where content from outside came from; null: from no one place, or there is none. */
  url: string | null;
}

/** Runs one call; it never throws: a bug of a tool is an error of the call. */
export async function runCall(
  { around, findTool, findOutput }: Pick<Work, "around" | "findTool" | "findOutput">,
  state: RunState,
  call: ToolCallData,
  caller: Caller,
  signal: AbortSignal,
): Promise<Called> {
  const { clock, ids, log } = around;
  const tool = findTool(call.name);
  if (!tool) {
    const result = writeResult(call, { outcome: "disabled", content: "It was switched off." });
    return { result, whole: null, cost: 0, url: null };
  }
  const { row } = state;
  const begun_at = clock.monotonic();
  const time = abortAfter(clock, tool.timeout_ms, signal);
  let result: ToolResult;
  try {
    result = await tool.run({
      arguments: call.arguments as Record<string, unknown>,
      account_id: row.account_id,
      agent_id: row.agent_id,
      run_id: row.id,
      tool_call_id: call.tool_call_id,
      caller,
      request_id: ids.uuid(),
      trace: null,
      readOutput: (id) => findEarlier(state, id, findOutput),
      has_external: row.external_content,
      // Nothing is known as long as nobody gathers what was said.
      isKnownAddress: () => false,
      now: clock.now,
      signal: time.signal,
    });
  } catch (error) {
    log.error("a tool failed", { run_id: row.id, tool: tool.name, error });
    result = { outcome: "error", content: "The tool failed on our side.", external: false };
  } finally {
    time.cancel();
  }
  const mayRead = state.version.tools.includes("read_output");
  const cut = cutOutput(result.content, mayRead ? call.tool_call_id : null);
  // Only what was of use is paid.
  const cost = result.outcome === "ok" ? priceCall(row.cost.prices, tool.name) : 0;
  return {
    result: writeResult(call, {
      outcome: result.outcome,
      content: cut.shown,
      truncated: cut.truncated,
      http_status: result.http_status ?? null,
      duration_ms: Math.round(clock.monotonic() - begun_at),
      external: result.external,
      cost: writeAmount(cost),
    }),
    whole: cut.whole,
    cost,
    url: result.external_url ?? null,
  };
}

/** A result that was not cut stands whole in its step. */
async function findEarlier(
  { row, results }: RunState,
  tool_call_id: string,
  findOutput: Work["findOutput"],
): Promise<StoredOutput | undefined> {
  const result = results.get(tool_call_id);
  if (!result) return undefined;
  const { content, external, truncated } = result;
  const whole = truncated ? await findOutput(row.id, tool_call_id) : undefined;
  return { content: whole ?? content, external };
}
