// Fires triggers: prepares the run as the trigger's key, then writes fire and run in the store.
import type { FindCaller } from "../access/index.ts";
import type { RunRequest, RunStarter } from "../agents/index.ts";
import type { Bound } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { ApiError, apiError, type ErrorCode } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { FireOutcome, FireSource } from "./fire.ts";
import { type DueInstant, type Fired, isLimit, type PreparedFire } from "./store/fire.ts";
import type { triggerStore } from "./store/index.ts";
import type { PausedReason, TriggerRow } from "./trigger.ts";

export interface FireRequest {
  trigger: TriggerRow;
  source: FireSource;
  instant?: DueInstant;
  webhook_id?: string;
  hook?: unknown;
  fired_by_key_id?: string;
  /** Name of the operator who fires it by hand. */
  operator?: string;
}

/** Writes nothing when it throws. */
export type FireTrigger = (request: FireRequest) => Promise<Exclude<Fired, { kind: "changed" }>>;

export type FireCounts = Record<FireOutcome, number>;

export interface FireRunOptions {
  triggers: Pick<Bound<typeof triggerStore>, "fire" | "find" | "isHeld">;
  findCaller: FindCaller;
  prepareRun: RunStarter["prepare"];
  clock: Clock;
  ids: Ids;
  /** Counts the fires by their outcome. */
  fires?: FireCounts;
}

const ATTEMPTS_MAX = 5;

/** agents.states.p12: errors that also pause the trigger, by their cause. */
const PAUSES: Readonly<Partial<Record<ErrorCode, PausedReason["type"]>>> = {
  permission_denied: "key",
  agent_not_found: "agent",
  agent_version_not_found: "agent",
  agent_archived: "agent",
  model_not_permitted: "model",
  model_not_found: "model",
};
const KEY_ENDED = "The key that the trigger acts for has ended.";
const MISSED: PreparedFire = { ok: false, outcome: "missed", error: null, pause: null };

export function createFireRun(options: FireRunOptions): FireTrigger {
  const { triggers, clock, ids, fires } = options;
  return async (request) => {
    let { trigger } = request;
    for (let attempts = 1; attempts <= ATTEMPTS_MAX; attempts++) {
      const fire_id = ids.uuid();
      const { key_id, input, thread_id, name } = trigger;
      const fired = await triggers.fire({
        trigger_id: trigger.id,
        preparedFor: { key_id, input, thread_id, name },
        source: request.source,
        instant: request.instant ?? null,
        webhook_id: request.webhook_id ?? null,
        fired_by_key_id: request.fired_by_key_id ?? null,
        prepared: await prepare(options, { ...request, trigger }, fire_id),
        fire_id,
        event_id: ids.uuid(),
        now: clock.now(),
      });
      if (fired.kind === "fired" && fires) fires[fired.fire.outcome] += 1;
      if (fired.kind !== "changed") return fired;
      const found = await triggers.find(trigger.id);
      if (!found) return { kind: "gone" };
      trigger = found;
    }
    throw new Error("a trigger was changed during each attempt to fire it");
  };
}

/** agents.authentication.1: the run acts for the trigger's key with its present rights. */
async function prepare(
  { triggers, findCaller, prepareRun, clock }: FireRunOptions,
  request: FireRequest,
  fire_id: string,
): Promise<PreparedFire> {
  const { trigger, source, instant } = request;
  // Present errors say nothing about the time at which it should have fired.
  if (instant?.isMissed) return MISSED;
  const caller = await findCaller(trigger.key_id);
  if (!caller) {
    // agents.errors.agent_held: a hold precedes every check of the key.
    return (await triggers.isHeld(trigger.id))
      ? refuse(apiError("agent_held"), clock.now())
      : refuse({ code: "permission_denied", message: KEY_ENDED }, clock.now());
  }
  const run: RunRequest = {
    message: trigger.input?.message ?? describe(request, clock.now()),
    ...("hook" in request && { hook: request.hook }),
    thread_id: trigger.thread_id,
    ...(request.operator !== undefined && { operator: request.operator }),
    trigger: { kind: source, id: trigger.id, fire_id, fired_by_key_id: findSender(request) },
  };
  try {
    return { ok: true, start: await prepareRun(caller, trigger.agent_id, run) };
  } catch (error) {
    if (error instanceof ApiError) return refuse(error, clock.now());
    throw error;
  }
}

function refuse({ code, message }: Pick<ApiError, "code" | "message">, now: number): PreparedFire {
  const error = { code, message };
  // agents.errors.agent_held: the trigger stays active, and fires again after the release.
  if (code === "agent_held") return { ok: false, outcome: "held", error, pause: null };
  if (isLimit(code)) return { ok: false, outcome: "limited", error, pause: null };
  const type = PAUSES[code];
  if (!type) return { ok: false, outcome: "failed", error, pause: null };
  const pause = { type, ...error, at: new Date(now).toISOString() };
  return { ok: false, outcome: "refused", error, pause };
}

function describe({ trigger, source, instant }: FireRequest, now: number): string {
  const at = new Date(instant?.scheduledAt ?? now).toISOString();
  const sent = source === "webhook" ? " by the request that stands before this" : "";
  return `The trigger "${trigger.name}" fired at ${at}${sent}.`;
}

/** agents.authentication.5: the key that was shown the secret may have sent the request. */
function findSender({ trigger, source, fired_by_key_id }: FireRequest): string | null {
  return source === "webhook" ? trigger.secret_key_id : (fired_by_key_id ?? null);
}
