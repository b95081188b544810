// Runs one call of a round, and bounds its time and its output.
import type { Caller } from "../../../access/index.ts";
import { DatabaseUnavailable, retryUnavailable } from "../../../database/index.ts";
import { abortAfter } from "../../../platform/clock.ts";
import { reachPoison } from "../../../platform/failpoint.ts";
import type { NoteEffect } from "../../notes/store.ts";
import type { StoredOutput, Tool, ToolResult, ToolUse } from "../../tools/contract.ts";
import { cutOutput, type OutputLimits } from "../../tools/output.ts";
import { type Amount, formatAmount, priceCall } from "../cost.ts";
import { sourceOf } from "../run.ts";
import type { RunContext } from "../run-context.ts";
import type { StepExecution, ToolCallData, ToolResultData } from "../step.ts";
import { isSent, makeResult } from "./open-calls.ts";

/** Time for a tool to report its own timeout before the call is given up. */
const GRACE_MS = 1_000;
const LATE: ToolResult = { outcome: "timeout", content: "It took too long.", external: false };

/** Maximum characters of a run's results before new ones are shown by shorter parts. */
const SHOWN_CHARACTERS_MAX = 16_777_216;
/** Maximum truncated results of a run that are kept whole. */
const WHOLES_MAX = 64;

type CallControl = Pick<ToolUse, "signal" | "task" | "keepTask">;

export interface FinishedCall {
  call: ToolCallData;
  result: ToolResultData;
  /** The whole output where `result` shows parts of it. */
  whole?: string | null;
  /** When it was run; absent for a call that was not. */
  execution?: StepExecution;
  cost: Amount;
  /** Address of outside content, if it came from a single known one. */
  url?: string | undefined;
  effect?: NoteEffect | undefined;
  /** The run had read outside content when the call began. */
  hadExternal?: boolean;
  /** The tool was disabled: the call is not sent again, not even after an approval. */
  isDisabled?: boolean;
  /** From a record, in which it was not run either: it counts against no budget. */
  isUncounted?: boolean;
}

function endCall(
  call: ToolCallData,
  outcome: ToolResultData["outcome"],
  content: string,
): FinishedCall {
  return { call, result: makeResult(call, { outcome, content }), cost: 0 };
}

export function endDisabled(
  { explainOff }: Pick<RunContext, "explainOff">,
  call: ToolCallData,
): FinishedCall {
  // An earlier attempt may have been done.
  const outcome = isSent(call) ? "outcome_unknown" : "disabled";
  const content = explainOff(call.name) ?? "The tool was switched off.";
  return { ...endCall(call, outcome, content), isDisabled: true };
}

export function endUnseen(call: ToolCallData): FinishedCall {
  return endCall(call, "outcome_unknown", "Nobody saw its end.");
}

export function endHung(call: ToolCallData): FinishedCall {
  const content = isSent(call)
    ? "This call stopped the service twice and is not run again: it may have been done or not."
    : "This call stopped the service twice and is not run again.";
  return endCall(call, "error", content);
}

/** Runs a call; a bug of its tool becomes an error of the call. */
export async function runCall(
  context: RunContext,
  call: ToolCallData,
  caller: Caller,
  control: CallControl,
): Promise<FinishedCall> {
  const { deps, state } = context;
  const tool = context.findTool(call.name);
  // Attempt 0: no intent is stored, since the tool was disabled then, so nothing may be sent.
  if (!tool || (tool.sends && call.attempt === 0)) return endDisabled(context, call);
  const { row } = state;
  const hadExternal = row.external_content;
  // Another process may have taken over the run of one that was frozen; the wait is no part of the
  // call's time.
  if (tool.sends && !(await deps.process.fence.pass(control.signal))) return endUnseen(call);
  const started_at = deps.clock.now();
  const startedAt = deps.clock.monotonic();
  const traceStart = deps.traces?.now() ?? 0;
  const result = await retryUnavailable(deps.clock, () =>
    useTool(context, tool, call, caller, control),
  );
  const cut = cutOutput(result.content, ...limitOutput(context, call));
  const cost = result.outcome === "ok" ? priceCall(row.cost.prices, tool.name) : 0;
  const finished: FinishedCall = {
    call,
    result: makeResult(call, {
      // A call sent without an answer in time may have been done.
      outcome: tool.sends && result.outcome === "timeout" ? "outcome_unknown" : result.outcome,
      content: cut.shown,
      truncated: cut.truncated,
      http_status: result.http_status ?? null,
      duration_ms: Math.round(deps.clock.monotonic() - startedAt),
      external: result.external,
      cost: formatAmount(cost),
    }),
    whole: cut.whole,
    execution: { started_at, ended_at: deps.clock.now() },
    cost,
    url: result.external_url,
    effect: result.effect,
    hadExternal,
  };
  deps.traces?.recordCall(row, { call, result: finished.result, startedAt: traceStart });
  return finished;
}

/** Decides how much of a result the model is shown, and by which id it may read the rest. */
export function limitOutput(
  { state: { shown, version } }: RunContext,
  { tool_call_id }: ToolCallData,
): [tool_call_id: string | null, limits: OutputLimits] {
  const limits = {
    isWide: shown.characters < SHOWN_CHARACTERS_MAX,
    keepsWhole: shown.truncated < WHOLES_MAX,
  };
  return [version.tools.includes("read_output") ? tool_call_id : null, limits];
}

/** Uses a tool within its time; throws only DatabaseUnavailable. */
async function useTool(
  context: RunContext,
  tool: Tool,
  call: ToolCallData,
  caller: Caller,
  control: CallControl,
): Promise<ToolResult> {
  const { clock, log } = context.deps;
  const time = abortAfter(clock, tool.timeout_ms, control.signal);
  const late = Promise.withResolvers<ToolResult>();
  const cancelLate = clock.after(tool.timeout_ms + GRACE_MS, () => late.resolve(LATE));
  try {
    const use = makeToolUse(context, call, caller, { ...control, signal: time.signal });
    const ended = context.watch(call.tool_call_id, () => {
      reachPoison("tool", call.arguments);
      return tool.run(use);
    });
    const result = await Promise.race([ended, late.promise]);
    if (typeof result.content !== "string") throw new Error("a tool's result has no content");
    return result;
  } catch (error) {
    // Tools read the database before they send anything, so that the call can be repeated.
    if (error instanceof DatabaseUnavailable) throw error;
    log.error("runs: a tool failed", { run_id: context.state.row.id, tool: call.name, error });
    const outcome = tool.sends ? "outcome_unknown" : "error";
    return { outcome, content: "The tool failed on our side.", external: false };
  } finally {
    time.cancel();
    cancelLate();
  }
}

function makeToolUse(
  context: RunContext,
  { tool_call_id, arguments: args }: ToolCallData,
  caller: Caller,
  control: CallControl,
): ToolUse {
  const { deps, state } = context;
  const { row } = state;
  return {
    arguments: args as Record<string, unknown>,
    account_id: row.account_id,
    agent_id: row.agent_id,
    run: sourceOf(row),
    tool_call_id,
    caller,
    request_id: deps.ids.uuid(),
    readOutput: (id) => readOutput(context, id),
    hasExternal: row.external_content,
    isKnownAddress: async (url) => (await state.knownAddresses?.has(url)) ?? false,
    now: deps.clock.now,
    ...control,
  };
}

async function readOutput(
  context: RunContext,
  tool_call_id: string,
): Promise<StoredOutput | undefined> {
  const result = context.state.results.get(tool_call_id);
  if (!result) return undefined;
  const { content, external, truncated } = result;
  const whole = truncated ? await context.findOutput(tool_call_id) : undefined;
  return { content: whole ?? content, external };
}
