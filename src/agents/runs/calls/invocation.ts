// Runs the calls of a round side by side, and says what became of each.
import type { Caller } from "../../../access/index.ts";
import { DatabaseUnavailable, retryUnavailable } from "../../../database/index.ts";
import { abortAfter } from "../../../platform/clock.ts";
import { reachPoison } from "../../../platform/failpoint.ts";
import type { NoteEffect } from "../../notes/store.ts";
import type { StoredOutput, Tool, ToolResult, ToolUse } from "../../tools/contract.ts";
import { cutOutput, type OutputLimits } from "../../tools/output.ts";
import { type Amount, priceCall, writeAmount } from "../cost.ts";
import { watchCall } from "../hung-call.ts";
import type { RunContext } from "../run-context.ts";
import type { RunState } from "../state.ts";
import type { ToolCallData, ToolResultData } from "../step.ts";
import { isSent } from "./open-calls.ts";
import { writeResult } from "./result.ts";

/** So long behind its time a tool is waited for that says by itself how it was broken off. */
const GRACE_MS = 1_000;
const LATE: ToolResult = { outcome: "timeout", content: "It took too long.", external: false };

/** A call that has ended. */
export interface FinishedCall {
  call: ToolCallData;
  result: ToolResultData;
  /** The whole, where the step has only head and tail of it. */
  whole: string | null;
  cost: Amount;
  /** Where content from outside came from; null: from no one place, or there is none. */
  url: string | null;
  /** What it changes here; null: nothing. */
  effect: NoteEffect | null;
  /** Whether the run had read content from outside when it began. */
  has_external: boolean;
  /** Its tool is switched off: it is not sent again, whoever says so. */
  is_off: boolean;
}

/** What a call brings that nobody ran here. */
const NOTHING = { whole: null, cost: 0, url: null, effect: null, has_external: false };

/** Of a call whose tool was switched off behind its plan. */
export function writeDisabled(call: ToolCallData): FinishedCall {
  // Of what had been sent before nobody knows what became of it.
  const outcome = isSent(call) ? "outcome_unknown" : "disabled";
  const result = writeResult(call, { outcome, content: "The tool was switched off." });
  return { ...NOTHING, call, result, is_off: true };
}

/** Of a call that was sent by a process that is gone. */
export function writeUnseen(call: ToolCallData): FinishedCall {
  const result = writeResult(call, { outcome: "outcome_unknown", content: "Nobody saw its end." });
  return { ...NOTHING, call, result, is_off: false };
}

/** Of a call in which the process hung repeatedly: once more would only repeat that. */
export function writeHung(call: ToolCallData): FinishedCall {
  const content = isSent(call)
    ? "This call stopped the service twice and is not run again: it may have been done or not."
    : "This call stopped the service twice and is not run again.";
  return {
    ...NOTHING,
    call,
    result: writeResult(call, { outcome: "error", content }),
    is_off: false,
  };
}

/** Of all results of a run together so much is shown by head and tail, and of more by less. */
const SHOWN_CHARACTERS_MAX = 16_777_216;
/** So many results that were cut are kept whole. */
const WHOLES_MAX = 64;

function findRoom({ told: { characters, wholes } }: RunState): OutputLimits {
  return { isWide: characters < SHOWN_CHARACTERS_MAX, keepsWhole: wholes < WHOLES_MAX };
}

type Calling = Pick<RunContext, "deps" | "state" | "findTool" | "findOutput">;

/** Runs one call; it never throws: a bug of a tool is an error of the call. */
export async function runCall(
  work: Calling,
  call: ToolCallData,
  caller: Caller,
  signal: AbortSignal,
): Promise<FinishedCall> {
  const { deps, state } = work;
  const tool = work.findTool(call.name);
  // Switched on again since it was looked for: nothing says yet that it will be sent.
  if (!tool || (tool.sends && call.attempt === 0)) return writeDisabled(call);
  const { row } = state;
  const has_external = row.external_content;
  const begun_at = deps.clock.monotonic();
  const result = await retryUnavailable(deps.clock, () =>
    useTool(work, tool, call, { caller, signal }),
  );
  const mayRead = state.version.tools.includes("read_output");
  const { tool_call_id } = call;
  const cut = cutOutput(result.content, mayRead ? tool_call_id : null, findRoom(state));
  // Only what was of use is paid.
  const cost = result.outcome === "ok" ? priceCall(row.cost.prices, tool.name) : 0;
  return {
    call,
    result: writeResult(call, {
      // What was sent and not answered in time may have been done all the same.
      outcome: tool.sends && result.outcome === "timeout" ? "outcome_unknown" : result.outcome,
      content: cut.shown,
      truncated: cut.truncated,
      http_status: result.http_status ?? null,
      duration_ms: Math.round(deps.clock.monotonic() - begun_at),
      external: result.external,
      cost: writeAmount(cost),
    }),
    whole: cut.whole,
    cost,
    url: result.external_url ?? null,
    effect: result.effect ?? null,
    has_external,
    is_off: false,
  };
}

/** By its end, or by that of its time; it throws DatabaseUnavailable alone. */
async function useTool(
  { deps, state, findOutput }: Calling,
  tool: Tool,
  { name, tool_call_id, arguments: given }: ToolCallData,
  { caller, signal }: { caller: Caller; signal: AbortSignal },
): Promise<ToolResult> {
  const { clock, ids, log } = deps;
  const { row } = state;
  const time = abortAfter(clock, tool.timeout_ms, signal);
  const late = Promise.withResolvers<ToolResult>();
  const cancelLate = clock.after(tool.timeout_ms + GRACE_MS, () => late.resolve(LATE));
  try {
    const use: ToolUse = {
      arguments: given as Record<string, unknown>,
      account_id: row.account_id,
      agent_id: row.agent_id,
      run_id: row.id,
      tool_call_id,
      caller,
      request_id: ids.uuid(),
      trace: null,
      readOutput: (id) => findEarlier(state, id, findOutput),
      has_external: row.external_content,
      isKnownAddress: async (url) => (await state.known?.has(url)) ?? false,
      now: clock.now,
      signal: time.signal,
    };
    const ended = watchCall({ deps, state }, tool_call_id, () => {
      reachPoison("tool", given);
      return tool.run(use);
    });
    const result = await Promise.race([ended, late.promise]);
    if (typeof result.content !== "string") throw new Error("a tool's result has no content");
    return result;
  } catch (error) {
    // A tool reads what it needs before it sends anything: nothing has happened yet.
    if (error instanceof DatabaseUnavailable) throw error;
    log.error("a tool failed", { run_id: row.id, tool: name, error });
    // Whatever broke: it may have been sent before.
    const outcome = tool.sends ? "outcome_unknown" : "error";
    return { outcome, content: "The tool failed on our side.", external: false };
  } finally {
    time.cancel();
    cancelLate();
  }
}

/** A result that was not cut stands whole in its step. */
async function findEarlier(
  { row, results }: RunState,
  tool_call_id: string,
  findOutput: RunContext["findOutput"],
): Promise<StoredOutput | undefined> {
  const result = results.get(tool_call_id);
  if (!result) return undefined;
  const { content, external, truncated } = result;
  const whole = truncated ? await findOutput(row.id, tool_call_id) : undefined;
  return { content: whole ?? content, external };
}
