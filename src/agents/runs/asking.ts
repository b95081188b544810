// Asks a model for a run until it answers, or nobody can expect that it will.
import type { RoundAnswer, RoundAsk } from "../../gateway/index.ts";
import { meetPoison } from "../../platform/failpoint.ts";
import { drawFraction } from "../../platform/ids.ts";
import { addCost } from "./cost.ts";
import { createTelling } from "./counting.ts";
import { fail, KEY_ENDED } from "./ending.ts";
import { nameRound, watchCall } from "./hung-call.ts";
import { type End, tell } from "./journal.ts";
import { planRetry } from "./retrying.ts";
import type { Work } from "./work.ts";

/** `broken`: why stands in the signal; `stopped`: the program ends, and the run goes on later. */
export type Asked = RoundAnswer | "broken" | "stopped" | End;

/** The key's rights are looked at for each attempt: agents.authentication.1. */
export async function askModel(work: Work, ask: RoundAsk): Promise<Asked> {
  const { around, state, journal, leash } = work;
  const { inside, clock, ids } = around;
  const { signal } = leash;
  let first_failed_at: number | null = null;
  for (let attempts = 1; ; attempts++) {
    const caller = await work.findCaller(state.row.started_by_key_id);
    if (!caller) return KEY_ENDED;
    const who = { caller, request_id: ids.uuid(), trace: null };
    const reply = await watchCall(work, nameRound(state), () => {
      meetPoison("model", ask);
      return inside.chat.ask(who, ask, signal);
    });
    if (reply.ok) return reply;
    // agents.does.cost.1: something was made of which nobody says what it cost.
    if (reply.usage) state.row = { ...state.row, cost: addCost(state.row.cost, "model", null) };
    if (signal.aborted) return "broken";
    if (reply.is_stopped) return "stopped";
    const now = clock.monotonic();
    first_failed_at ??= now;
    const wait_ms = planRetry(
      reply,
      { attempts, passed_ms: now - first_failed_at },
      drawFraction(ids),
    );
    if (wait_ms === null) return fail(reply.code, reply.why);
    const message = `The model failed with ${reply.code}; it is asked again.`;
    const detail = { code: reply.code, attempt: attempts, wait_ms };
    const { model, usage, cost } = state.row;
    const steps = [
      tell(ids, usage.rounds, "model_retry", message, detail),
      ...createTelling(work)(usage.rounds, model, cost.model),
    ];
    await journal.note({ progress: state.row, steps });
    const parked = await leash.park(wait_ms);
    if (parked !== "on") return parked;
  }
}
