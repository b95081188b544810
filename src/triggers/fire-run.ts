// Fires triggers: prepares the run for whom the trigger acts, and hands over to the store.
import type { FindCaller } from "../access/index.ts";
import type { RunRequest, RunStarter } from "../agents/index.ts";
import type { Bound } from "../database/index.ts";
import type { Clock } from "../platform/clock.ts";
import { ApiError, apiError, type ErrorCode } from "../platform/errors.ts";
import type { Ids } from "../platform/ids.ts";
import type { FireSource } from "./fire.ts";
import { type DueInstant, type Fired, isLimit, type PreparedFire } from "./store/fire.ts";
import type { triggerStore } from "./store/index.ts";
import type { PausedReason, TriggerRow } from "./trigger.ts";

export interface FireRequest {
  /** As it was read. */
  trigger: TriggerRow;
  source: FireSource;
  /** Of source cron. */
  instant?: DueInstant;
  /** Of source webhook. */
  webhook_id?: string;
  /** The body of a hook; left out: there is none. */
  hook?: unknown;
  /** Of source manual. */
  fired_by_key_id?: string;
}

/** Whatever cannot be told by an outcome throws, and nothing was written. */
export type FireTrigger = (wish: FireRequest) => Promise<Exclude<Fired, { kind: "changed" }>>;

export interface FireRunOptions {
  triggers: Pick<Bound<typeof triggerStore>, "fire" | "find" | "isHeld">;
  findCaller: FindCaller;
  prepareRun: RunStarter["prepare"];
  clock: Clock;
  ids: Ids;
}

/** Who changes a trigger all the time could keep it from firing. */
const ATTEMPTS_MAX = 5;

/** agents.states.p12: what refuses a fire also pauses its trigger, by what was at fault. */
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
  const { triggers, clock, ids } = options;
  return async (wish) => {
    let { trigger } = wish;
    for (let attempts = 1; attempts <= ATTEMPTS_MAX; attempts++) {
      const fire_id = ids.uuid();
      const { key_id, input, thread_id, name } = trigger;
      const fired = await triggers.fire({
        trigger_id: trigger.id,
        judged: { key_id, input, thread_id, name },
        source: wish.source,
        instant: wish.instant ?? null,
        webhook_id: wish.webhook_id ?? null,
        fired_by_key_id: wish.fired_by_key_id ?? null,
        prepared: await prepare(options, { ...wish, trigger }, fire_id),
        ...{ fire_id, event_id: ids.uuid(), now: clock.now() },
      });
      if (fired.kind !== "changed") return fired;
      const found = await triggers.find(trigger.id);
      if (!found) return { kind: "gone" };
      trigger = found;
    }
    throw new Error("a trigger was changed each time that it was to fire");
  };
}

/** agents.authentication.1: its runs act for the trigger's key, as that key is now. */
async function prepare(
  { triggers, findCaller, prepareRun, clock }: FireRunOptions,
  wish: FireRequest,
  fire_id: string,
): Promise<PreparedFire> {
  const { trigger, source, instant } = wish;
  // What would refuse it now says nothing of the time at which it was to fire.
  if (instant?.is_missed) return MISSED;
  const caller = await findCaller(trigger.key_id);
  if (!caller) {
    // agents.errors.agent_held: what is held is judged by its key no sooner than by its model.
    const held = (await triggers.isHeld(trigger.id)) ? apiError("agent_held") : null;
    const { code, message } = held ?? { code: "permission_denied", message: KEY_ENDED };
    return refuseFor(code, message, clock.now());
  }
  const run: RunRequest = {
    message: trigger.input?.message ?? describe(wish, clock.now()),
    ...("hook" in wish && { hook: wish.hook }),
    thread_id: trigger.thread_id,
    trigger: { kind: source, id: trigger.id, fire_id, fired_by_key_id: findFirer(wish) },
  };
  try {
    return { ok: true, admission: await prepareRun(caller, trigger.agent_id, run) };
  } catch (failure) {
    if (failure instanceof ApiError) return refuseFor(failure.code, failure.message, clock.now());
    throw failure;
  }
}

function refuseFor(code: ErrorCode, message: string, now: number): PreparedFire {
  const error = { code, message };
  // agents.errors.agent_held: it starts nothing, and goes on once it is released.
  if (code === "agent_held") return { ok: false, outcome: "held", error, pause: null };
  if (isLimit(code)) return { ok: false, outcome: "limited", error, pause: null };
  const type = PAUSES[code];
  if (!type) return { ok: false, outcome: "failed", error, pause: null };
  const pause = { type, ...error, at: new Date(now).toISOString() };
  return { ok: false, outcome: "refused", error, pause };
}

/** What a run is asked where its trigger has no words of its own. */
function describe({ trigger, source, instant }: FireRequest, now: number): string {
  const at = new Date(instant?.scheduled_at ?? now).toISOString();
  const sent = source === "webhook" ? " by the request that stands before this" : "";
  return `The trigger "${trigger.name}" fired at ${at}${sent}.`;
}

/** agents.authentication.5: whoever was shown the secret may have sent the request itself. */
function findFirer({ trigger, source, fired_by_key_id }: FireRequest): string | null {
  return source === "webhook" ? trigger.secret_key_id : (fired_by_key_id ?? null);
}
