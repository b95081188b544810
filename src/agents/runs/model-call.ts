// Asks a model for a run until it answers, or nobody can expect that it will.
import type { InternalChatRequest, InternalCompletion } from "../../gateway/index.ts";
import { reachPoison } from "../../platform/failpoint.ts";
import { drawFraction } from "../../platform/ids.ts";
import { addCost } from "./cost.ts";
import { failRun, KEY_ENDED } from "./finish.ts";
import { nameRound, watchCall } from "./hung-call.ts";
import { planRetry } from "./retry.ts";
import type { RunContext } from "./run-context.ts";
import { type FinalState, systemStep } from "./run-log.ts";
import { createTelling } from "./usage.ts";

/** `broken`: why stands in the signal; `stopped`: the program ends, and the run goes on later. */
export type ModelCallResult = InternalCompletion | "broken" | "stopped" | FinalState;

/** The key's rights are looked at for each attempt: agents.authentication.1. */
export async function callModel(
  context: RunContext,
  ask: InternalChatRequest,
): Promise<ModelCallResult> {
  const { deps, state, runLog, control } = context;
  const { inside, clock, ids } = deps;
  const { signal } = control;
  let firstFailedAt: number | null = null;
  for (let attempts = 1; ; attempts++) {
    const caller = await context.findCaller(state.row.started_by_key_id);
    if (!caller) return KEY_ENDED;
    const who = { caller, request_id: ids.uuid(), trace: null };
    const reply = await watchCall(context, nameRound(state), () => {
      reachPoison("model", ask);
      return inside.chat.ask(who, ask, signal);
    });
    if (reply.ok) return reply;
    // agents.does.cost.1: something was made of which nobody says what it cost.
    if (reply.usage) state.row = { ...state.row, cost: addCost(state.row.cost, "model", null) };
    if (signal.aborted) return "broken";
    if (reply.is_stopped) return "stopped";
    const now = clock.monotonic();
    firstFailedAt ??= now;
    const wait_ms = planRetry(
      reply,
      { attempts, passed_ms: now - firstFailedAt },
      drawFraction(ids),
    );
    if (wait_ms === null) return failRun(reply.code, reply.why);
    const message = `The model failed with ${reply.code}; it is asked again.`;
    const detail = { code: reply.code, attempt: attempts, wait_ms };
    const { model, usage, cost } = state.row;
    const steps = [
      systemStep(ids, usage.rounds, "model_retry", message, detail),
      ...createTelling(context)(usage.rounds, model, cost.model),
    ];
    await runLog.note({ progress: state.row, steps });
    const parked = await control.park(wait_ms);
    if (parked !== "on") return parked;
  }
}
