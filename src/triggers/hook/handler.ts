// What becomes of a request whose sender is known: the fire that it had, a new one, or a refusal.
import { createLimiter } from "../../access/index.ts";
import type { Bound } from "../../database/index.ts";
import { type HandlerReply, parseBody } from "../../http/index.ts";
import { ApiError, apiError } from "../../platform/errors.ts";
import type { TriggersDeps } from "../deps.ts";
import type { FireRow } from "../fire.ts";
import type { FireTrigger } from "../fire-run.ts";
import { usesUp } from "../store/fire.ts";
import type { triggerStore } from "../store/index.ts";
import { judgePause } from "../view.ts";
import type { Verified } from "./signature.ts";

export interface HookHandlerOptions extends Pick<TriggersDeps, "clock" | "disk" | "settings"> {
  triggers: Pick<Bound<typeof triggerStore>, "findHook" | "findRequested">;
  fire: FireTrigger;
}

const WINDOW_MS = 60_000;
/** A hold ends when the operator says so. */
const HELD_RETRY_S = "60";
/** Where a limit does not say when there is room again, such as a thread whose run is not over. */
const LIMITED_RETRY_S = "10";

export function createHookHandler(options: HookHandlerOptions) {
  const { triggers, fire, clock, disk, settings } = options;
  const claim = createClaims({ clock, settings });
  return async ({ trigger_id, webhook_id }: Verified, body: Uint8Array): Promise<HandlerReply> => {
    const before = await triggers.findRequested(trigger_id, webhook_id);
    // agents.endpoints.triggers.p6
    if (before && usesUp(before.outcome)) return [200, writeReceipt(before)];
    const trigger = await triggers.findHook(trigger_id);
    // Deleted this moment, it is one of those that are not there.
    if (!trigger) throw apiError("invalid_signature");
    // agents.errors.trigger_paused
    if (judgePause(trigger).status === "paused") throw apiError("trigger_paused");
    // A hold is told before all that follows; a request that is in order has its fire all the same.
    const held = trigger.is_held ? refuseHeld() : null;
    const wait_ms = claim(trigger_id);
    if (wait_ms > 0) throw held ?? refuseLimited(String(Math.ceil(wait_ms / 1_000)));
    const sent = parseBody(body);
    // agents.errors.invalid_request
    if ("fault" in sent) throw held ?? apiError("invalid_request", { message: sent.fault });
    if (!held) disk.require();
    const fired = await fire({ trigger, source: "webhook", webhook_id, hook: sent.value });
    // Somebody else sent the same at the same time.
    if (fired.kind === "known") return [200, writeReceipt(fired.fire)];
    if (fired.kind !== "fired") {
      throw apiError(fired.kind === "gone" ? "invalid_signature" : "trigger_paused");
    }
    refuseUnstarted(fired.fire, fired.retry_after);
    // agents.endpoints.triggers.p5
    return [202, writeReceipt(fired.fire)];
  };
}

function writeReceipt({ id, outcome, run_id }: FireRow) {
  return { fire: { id, outcome, run_id } };
}

/** Of a fire that is kept, and to which the same request may come again. */
function refuseUnstarted({ outcome, error }: FireRow, retry_after: string | null): void {
  switch (outcome) {
    case "held":
      throw refuseHeld();
    case "refused":
      // agents.states.p12: it has paused the trigger.
      throw apiError("trigger_paused");
    case "limited":
      throw refuseLimited(retry_after ?? LIMITED_RETRY_S, error?.message);
    case "failed":
      throw new ApiError("hook_failed", {}, new Error(`no run could be started: ${error?.code}`));
  }
}

/** agents.errors.agent_held: its second status; the same request is to be sent again. */
function refuseHeld(): ApiError {
  return apiError("agent_held", { secondStatus: true, headers: { "retry-after": HELD_RETRY_S } });
}

/** agents.errors.rate_limited */
function refuseLimited(retry_after: string, message?: string): ApiError {
  return apiError("rate_limited", { message, headers: { "retry-after": retry_after } });
}

/**
 * Counts one signed request of a trigger; 0: it may pass, else the milliseconds until one may. What
 * the settings say holds from the next request on.
 */
function createClaims({ clock, settings }: Pick<TriggersDeps, "clock" | "settings">) {
  let requests_max = settings().limits.hook_requests_per_minute;
  const limiter = createLimiter(clock, { requests_max, window_ms: WINDOW_MS, closingMs: 0 });
  return (trigger_id: string): number => {
    const { hook_requests_per_minute } = settings().limits;
    if (hook_requests_per_minute !== requests_max) {
      requests_max = hook_requests_per_minute;
      limiter.change(requests_max);
    }
    return limiter.claim(trigger_id);
  };
}
