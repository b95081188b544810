// The calls of a round: those that run side by side, those that a person has decided on, and those
// of which nobody knows what became of them.
import type { Caller } from "../../../access/index.ts";
import { end, KEY_ENDED } from "../ending.ts";
import { hasHung } from "../hung-call.ts";
import type { ToolCallData } from "../step.ts";
import type { Turn, Work } from "../work.ts";
import { allowCalls } from "./allowing.ts";
import { type Called, runCall } from "./calling.ts";
import { watchDecisions } from "./decisions.ts";
import { answerDenied } from "./denying.ts";
import { prepareCall } from "./open-calls.ts";
import { settle, settleAdrift, settleHung } from "./settling.ts";

/** So many calls of a round run side by side. */
const CALLS_AT_ONCE = 8;

/**
 * What needs a person holds nothing up: it is waited for when all else is done, and starts at once
 * where a person says so before.
 */
export async function workCalls(work: Work): Promise<Turn> {
  const { state, journal } = work;
  await work.refreshTools?.();
  // What runs here has a result before the next look: these were sent by a process that is gone.
  const adrift = state.open.filter(({ standing }) => standing === "sent");
  if (adrift.length > 0) return settleAdrift(work, adrift);
  const denied = state.open.filter((one) => one.standing === "denied");
  if (denied.length > 0) return answerDenied(work, denied);
  const ready = state.open.filter((one) => one.standing === "ready");
  const hung = ready.filter(({ call }) => hasHung(state, call.tool_call_id));
  if (hung.length > 0) return settleHung(work, hung);
  // agents.states.running_tool_call_needs_approval
  if (ready.length === 0) return (await journal.wait()) ? "waiting" : "next";
  const caller = await work.findCaller(state.row.started_by_key_id);
  if (!caller) return end(work, KEY_ENDED);
  return runSideBySide(work, ready.map(prepareCall), caller);
}

async function runSideBySide(
  work: Work,
  calls: readonly ToolCallData[],
  caller: Caller,
): Promise<Turn> {
  const { state, leash } = work;
  const { signal } = leash;
  // Whatever ends this, nothing of it goes on behind.
  const over = new AbortController();
  const theirs = AbortSignal.any([signal, over.signal]);
  let waiting = [...calls];
  const running = new Set<Promise<void>>();
  let ready: Called[] = [];
  const start = (call: ToolCallData) => {
    const run = runCall(work, call, caller, theirs).then((called) => {
      running.delete(run);
      // What was broken off has no result: it is looked at anew, or ends with its run.
      if (!signal.aborted) ready.push(called);
    });
    // Seen by whoever waits for it, which may be after it has failed.
    run.catch(() => undefined);
    running.add(run);
  };
  const decisions = watchDecisions(work);
  const broken = Promise.withResolvers<void>();
  const leave = () => broken.resolve();
  signal.addEventListener("abort", leave, { once: true });
  try {
    while (!signal.aborted && waiting.length + running.size + ready.length > 0) {
      waiting.push(...(await decisions.takeApproved()).map(prepareCall));
      const allowed = await allowCalls(work, waiting.splice(0, CALLS_AT_ONCE - running.size));
      if (signal.aborted || state.row.cancel_requested) break;
      for (const call of allowed.calls) start(call);
      ready.push(...allowed.refused);
      if (ready.length === 0) {
        await Promise.race([broken.promise, decisions.heard(), ...running]);
      }
      const done = ready;
      ready = [];
      waiting = [...(await settle(work, done)), ...waiting];
    }
  } finally {
    decisions.end();
    signal.removeEventListener("abort", leave);
    over.abort();
  }
  // What came while the last was written is no less true for the break.
  await settle(work, ready);
  return signal.aborted ? "broken" : "next";
}
