// The calls of a round: those that run side by side, those that a person has decided on, and those
// of which nobody knows what became of them.
import type { Caller } from "../../../access/index.ts";
import { finishRun, KEY_ENDED } from "../finish.ts";
import { hasHung } from "../hung-call.ts";
import type { RunContext, StepResult } from "../run-context.ts";
import type { ToolCallData } from "../step.ts";
import { watchDecisions } from "./decisions.ts";
import { answerDenied } from "./denial.ts";
import { recordIntents } from "./intent.ts";
import { type FinishedCall, runCall } from "./invocation.ts";
import { prepareCall } from "./open-calls.ts";
import { settleAdrift, settleCalls, settleHung } from "./settlement.ts";

/** So many calls of a round run side by side. */
const CALLS_AT_ONCE = 8;

/**
 * What needs a person holds nothing up: it is waited for when all else is done, and starts at once
 * where a person says so before.
 */
export async function runRound(context: RunContext): Promise<StepResult> {
  const { state, runLog } = context;
  await context.refreshTools?.();
  // What runs here has a result before the next look: these were sent by a process that is gone.
  const adrift = state.open.filter(({ standing }) => standing === "sent");
  if (adrift.length > 0) return settleAdrift(context, adrift);
  const denied = state.open.filter((one) => one.standing === "denied");
  if (denied.length > 0) return answerDenied(context, denied);
  const ready = state.open.filter((one) => one.standing === "ready");
  const hung = ready.filter(({ call }) => hasHung(state, call.tool_call_id));
  if (hung.length > 0) return settleHung(context, hung);
  // agents.states.running_tool_call_needs_approval
  if (ready.length === 0) return (await runLog.wait()) ? "waiting" : "next";
  const caller = await context.findCaller(state.row.started_by_key_id);
  if (!caller) return finishRun(context, KEY_ENDED);
  return runSideBySide(context, ready.map(prepareCall), caller);
}

async function runSideBySide(
  context: RunContext,
  calls: readonly ToolCallData[],
  caller: Caller,
): Promise<StepResult> {
  const { state, control } = context;
  const { signal } = control;
  // Whatever ends this, nothing of it goes on behind.
  const over = new AbortController();
  const theirs = AbortSignal.any([signal, over.signal]);
  let waiting = [...calls];
  const running = new Set<Promise<void>>();
  let ready: FinishedCall[] = [];
  const start = (call: ToolCallData) => {
    const run = runCall(context, call, caller, theirs).then((called) => {
      running.delete(run);
      // What was broken off has no result: it is looked at anew, or ends with its run.
      if (!signal.aborted) ready.push(called);
    });
    // Seen by whoever waits for it, which may be after it has failed.
    run.catch(() => undefined);
    running.add(run);
  };
  const decisions = watchDecisions(context);
  const broken = Promise.withResolvers<void>();
  const leave = () => broken.resolve();
  signal.addEventListener("abort", leave, { once: true });
  try {
    while (!signal.aborted && waiting.length + running.size + ready.length > 0) {
      waiting.push(...(await decisions.takeApproved()).map(prepareCall));
      const allowed = await recordIntents(context, waiting.splice(0, CALLS_AT_ONCE - running.size));
      if (signal.aborted || state.row.cancel_requested) break;
      for (const call of allowed.calls) start(call);
      ready.push(...allowed.refused);
      if (ready.length === 0) {
        await Promise.race([broken.promise, decisions.heard(), ...running]);
      }
      const done = ready;
      ready = [];
      waiting = [...(await settleCalls(context, done)), ...waiting];
    }
  } finally {
    decisions.end();
    signal.removeEventListener("abort", leave);
    over.abort();
  }
  // What came while the last was written is no less true for the break.
  await settleCalls(context, ready);
  return signal.aborted ? "broken" : "next";
}
