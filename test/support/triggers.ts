// Creates and fires triggers for tests of the store.
import type { SealedSecret } from "../../src/crypto/store.ts";
import type { TriggerChange } from "../../src/triggers/store/change.ts";
import type { DueInstant, FireInput } from "../../src/triggers/store/fire.ts";
import type { TriggerRow } from "../../src/triggers/trigger.ts";
import { BEGIN, makePreparedRun } from "./runs.ts";

/** A trigger of kind cron, due a minute after `BEGIN`. */
export const makeTrigger = (id: string, fields: Partial<TriggerRow> = {}): TriggerRow => ({
  ...{ id, account_id: "a-1", name: `Of ${id} "ä"`, agent_id: "g-1", kind: "cron" },
  ...{ status: "active", paused_reason: null, cron: "* * * * *", time_zone: "UTC" },
  ...{ overlap: "skip", catch_up_seconds: 3_600, input: null, thread_id: null, key_id: "k-1" },
  ...{ next_fire_at: BEGIN + 60_000, last_fire_at: null, previous_secret_expires_at: null },
  ...{ secret_key_id: "k-1", secret_number: 0, created_at: BEGIN, updated_at: BEGIN },
  ...fields,
});

export const makeHook = (id: string, fields: Partial<TriggerRow> = {}): TriggerRow =>
  makeTrigger(id, {
    ...{ kind: "webhook", cron: null, time_zone: null, catch_up_seconds: null },
    ...{ next_fire_at: null, ...fields },
  });

export const sealTrigger = (
  { id, account_id, created_at }: TriggerRow,
  sealed = "sealed",
): SealedSecret => ({
  ...{ kind: "trigger", row_id: id, account_id, sealed, key_id: "k-1", set_at: created_at },
});

/** A fire by its owner, half a minute later; the next instant is the second one. */
export const makeChange = (id: string, fields: Partial<TriggerChange> = {}): TriggerChange => ({
  ...{ id, account_id: "a-1", fields: {}, transition: null, key_id: "k-2" },
  ...{ seen: { cron: "* * * * *", time_zone: "UTC" }, next_fire_at: BEGIN + 120_000 },
  ...{ now: BEGIN + 30_000, ...fields },
});

export function makeFiring(
  id: string,
  trigger_id: string,
  fields: Partial<FireInput> = {},
  trigger: Partial<TriggerRow> = {},
): FireInput {
  const { key_id, input, thread_id, name } = makeTrigger(trigger_id, trigger);
  const run = { trigger_kind: "manual" as const, trigger_id, fire_id: id };
  return {
    ...{ trigger_id, preparedFor: { key_id, input, thread_id, name }, source: "manual" },
    ...{ instant: null, webhook_id: null, fired_by_key_id: "k-2" },
    prepared: { ok: true, start: makePreparedRun(`run of ${id}`, run) },
    ...{ fire_id: id, event_id: `event of ${id}`, now: BEGIN + 1_000 },
    ...fields,
  };
}

/** A fire on time, a minute after `BEGIN`; the next minute follows. */
const makeInstant = (fields: Partial<DueInstant> = {}): DueInstant => ({
  ...{ dueAt: BEGIN + 60_000, scheduledAt: BEGIN + 60_000, nextFireAt: BEGIN + 120_000 },
  ...{ seen: { cron: "* * * * *", time_zone: "UTC" }, missedCount: 0, isMissed: false },
  ...fields,
});

export function makeTimedFiring(
  id: string,
  trigger_id: string,
  instant: Partial<DueInstant> = {},
  fields: Partial<FireInput> = {},
): FireInput {
  const run = { trigger_kind: "cron" as const, trigger_id, fire_id: id };
  return makeFiring(id, trigger_id, {
    ...{ source: "cron", instant: makeInstant(instant), fired_by_key_id: null },
    prepared: { ok: true, start: makePreparedRun(`run of ${id}`, run) },
    now: instant.scheduledAt ?? BEGIN + 60_000,
    ...fields,
  });
}
