// A trigger as its owner sees it: with what is made of other fields, and of its agent's state.
import { Type } from "@sinclair/typebox";
import { NEXT_BEFORE } from "../http/index.ts";
import { Resource, show } from "../platform/schema.ts";
import { Fire } from "./fire.ts";
import { listUpcoming } from "./next-fire.ts";
import { explainArchived, type FoundTrigger, Trigger } from "./trigger.ts";

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
          "Of kind webhook: what its requests are signed with. It is not shown again; of kind " +
          "cron it is left out.",
      }),
    ),
  },
  "A trigger, and its secret where it has one.",
);

export const FirePage = Resource(
  "FirePage",
  { data: Type.Array(Fire, { description: "Newest first." }), next_before: NEXT_BEFORE },
  "A page of a trigger's fires.",
);

export const FiredByHand = Resource("FiredByHand", { fire: Fire }, "A fire by hand.");

/** Where signed requests are sent: never a host, which only the operator's proxy knows. */
function pathOf({ id }: Pick<FoundTrigger, "id">): string {
  return `/v1/hooks/${id}`;
}

/** A trigger with all its fields, and whose it is. */
export interface DescribedTrigger extends Trigger {
  account_id: string;
}

export function describeTrigger(found: FoundTrigger, now: number): DescribedTrigger {
  const { agent_archived_at: _, secret_number: __, secret_key_id: ___, ...row } = judgePause(found);
  const { previous_secret_expires_at: expires_at } = row;
  return {
    ...row,
    hook_path: row.kind === "webhook" ? pathOf(row) : null,
    upcoming: listUpcoming(row).map((at) => new Date(at).toISOString()),
    previous_secret_expires_at: expires_at !== null && expires_at > now ? expires_at : null,
  };
}

export function showTrigger(found: FoundTrigger, now: number) {
  return show(Trigger, describeTrigger(found, now));
}

/** agents.states.p12: an archived agent has paused it, whether that was written down yet or not. */
export function judgePause(found: FoundTrigger): FoundTrigger {
  const { agent_archived_at, status } = found;
  if (status === "paused" || agent_archived_at === null) return found;
  const paused_reason = explainArchived(agent_archived_at);
  return { ...found, status: "paused", paused_reason, next_fire_at: null };
}
