// What makes a trigger one that can fire: what goes with its kind, its schedule, zone and secret.

import { validateSigningSecret } from "../crypto/index.ts";
import { apiError } from "../platform/errors.ts";
import { readSchedule } from "./cron/schedule.ts";
import { zoneFault } from "./cron/zone.ts";
import type { NewTrigger, TriggerPatch } from "./input.ts";
import type { TriggerRow, TriggerType } from "./trigger.ts";

const DEFAULT_ZONE = "UTC";
const DEFAULT_CATCH_UP_SECONDS = 3_600;

type Timed = Pick<TriggerRow, "cron" | "time_zone" | "catch_up_seconds">;

/** The schedule of a new trigger, whole, or nulls of kind webhook; refuses what does not fit. */
export function readTimed({ kind, cron, time_zone, catch_up_seconds }: NewTrigger): Timed {
  const sent = { cron: cron ?? null, time_zone, catch_up_seconds };
  const timed = readTimedChange(kind, sent);
  if (kind === "webhook") return { cron: null, time_zone: null, catch_up_seconds: null };
  return {
    cron: timed.cron!,
    time_zone: timed.time_zone ?? DEFAULT_ZONE,
    catch_up_seconds: timed.catch_up_seconds ?? DEFAULT_CATCH_UP_SECONDS,
  };
}

/** What a request changes of a schedule; a null is its default. */
export function readTimedChange(
  kind: TriggerType,
  { cron, time_zone, catch_up_seconds }: Pick<TriggerPatch, keyof Timed>,
): Partial<Timed> {
  if (kind === "webhook") {
    for (const [param, value] of Object.entries({ cron, time_zone, catch_up_seconds })) {
      if ((value ?? null) !== null) throw refuseField(param, "goes with the kind `cron` only");
    }
    return {};
  }
  if (cron === null) throw refuseField("cron", "is needed with the kind `cron`");
  if (cron !== undefined) {
    const reading = readSchedule(cron);
    if (!reading.ok) throw refuseFault("cron", reading.fault);
  }
  const fault = typeof time_zone === "string" ? zoneFault(time_zone) : null;
  if (fault !== null) throw refuseFault("time_zone", fault);
  return {
    ...(cron !== undefined && { cron }),
    ...(time_zone !== undefined && { time_zone: time_zone ?? DEFAULT_ZONE }),
    ...(catch_up_seconds !== undefined && {
      catch_up_seconds: catch_up_seconds ?? DEFAULT_CATCH_UP_SECONDS,
    }),
  };
}

/** Refuses a secret that no sender signs with, without a word of it; null: one is to be made. */
export function requireOwnSecret(kind: TriggerType, secret: string | null): void {
  if (secret === null) return;
  if (kind === "cron") throw refuseField("secret", "goes with the kind `webhook` only");
  const wrong = validateSigningSecret(secret);
  if (wrong !== null) throw refuseField("secret", wrong);
}

function refuseField(param: string, wrong: string) {
  return refuseFault(param, `\`${param}\` ${wrong}.`);
}

/** agents.errors.invalid_request */
function refuseFault(param: string, message: string) {
  return apiError("invalid_request", { param, message });
}
