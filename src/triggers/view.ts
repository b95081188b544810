// Triggers and fires as callers see them, with computed fields.
import { Type } from "@sinclair/typebox";
import { NEXT_BEFORE, PageQuery } from "../http/index.ts";
import { oneOf, Resource, show } from "../platform/schema.ts";
import { listUpcoming } from "./due.ts";
import { Fire, OUTCOMES } from "./fire.ts";
import { type FoundTrigger, pausedByArchival, Trigger } from "./trigger.ts";

export const TriggerList = Resource(
  "TriggerList",
  { data: Type.Array(Trigger, { description: "Newest first." }) },
  "The triggers of the account.",
);

/** agents.resources.trigger: the secret is shown once, at creation or rotation. */
export const TriggerWithSecret = Resource(
  "TriggerWithSecret",
  {
    ...Trigger.properties,
    secret: Type.Optional(
      Type.String({
        description:
          "Secret that signs its requests, for kind webhook only. It is not shown again.",
      }),
    ),
  },
  "A trigger with its secret, if it has one.",
);

export const FiresQuery = Type.Object({
  outcome: Type.Optional(oneOf(OUTCOMES, "Only fires with this outcome.")),
  ...PageQuery("Fires per page, 1 to 200; default 50."),
});

export const FirePage = Resource(
  "FirePage",
  { data: Type.Array(Fire, { description: "Newest first." }), next_before: NEXT_BEFORE },
  "A page of a trigger's fires.",
);

export const FiredByHand = Resource("FiredByHand", { fire: Fire }, "A fire by hand.");

export interface DescribedTrigger extends Trigger {
  account_id: string;
}

export function describeTrigger(found: FoundTrigger, now: number): DescribedTrigger {
  const {
    agent_archived_at: _,
    secret_number: __,
    secret_key_id: ___,
    ...row
  } = resolveStatus(found);
  const { previous_secret_expires_at: expires_at } = row;
  return {
    ...row,
    // The host is left out, since only the operator's proxy knows it.
    hook_path: row.kind === "webhook" ? `/v1/hooks/${row.id}` : null,
    upcoming: listUpcoming(row).map((at) => new Date(at).toISOString()),
    previous_secret_expires_at: expires_at !== null && expires_at > now ? expires_at : null,
  };
}

export function showTrigger(found: FoundTrigger, now: number) {
  return show(Trigger, describeTrigger(found, now));
}

/** agents.states.p12: an archived agent pauses its triggers even before that is written. */
export function resolveStatus(found: FoundTrigger): FoundTrigger {
  const { agent_archived_at, status } = found;
  if (status === "paused" || agent_archived_at === null) return found;
  const paused_reason = pausedByArchival(agent_archived_at);
  return { ...found, status: "paused", paused_reason, next_fire_at: null };
}
