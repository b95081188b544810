// A trigger: what starts an agent's runs by itself, as its owner sees it and as it is stored.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../platform/schema.ts";

export const TRIGGER_KINDS = ["cron", "webhook"] as const;
export type TriggerType = (typeof TRIGGER_KINDS)[number];
export const OVERLAPS = ["skip", "allow"] as const;
export const TRIGGER_STATUSES = ["active", "paused"] as const;
const PAUSES = ["manual", "key", "agent", "model"] as const;

export const PausedReason = Type.Object(
  {
    type: oneOf(
      PAUSES,
      "`manual`: its owner or the operator paused it; else what refused its last fire.",
    ),
    code: Type.Optional(
      maybe(Type.String({ description: "The error code of the refusal; null: none." })),
    ),
    message: Type.String({ description: "A sentence for people." }),
    at: Type.String({ format: "date-time", description: "When. ISO 8601 in UTC." }),
  },
  { description: "Why it is paused." },
);
export type PausedReason = Static<typeof PausedReason>;

/** Its agent was archived then: it fires no more, and does not go on by itself. */
export function explainArchived(archived_at: number): PausedReason {
  const at = new Date(archived_at).toISOString();
  return { type: "agent", code: "agent_archived", message: "The agent is archived.", at };
}

/** agents.does.trigger, agents.resources.trigger */
export const Trigger = Resource(
  "Trigger",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    name: Type.String({ description: "Unique per owner, 1 to 200 characters." }),
    agent_id: Type.String({ format: "uuid", description: "The agent whose runs it starts." }),
    kind: oneOf(
      TRIGGER_KINDS,
      "`cron`: fires on a schedule; `webhook`: on a signed request to `hook_path`.",
    ),
    status: oneOf(TRIGGER_STATUSES, "A paused one does not fire."),
    paused_reason: maybe(PausedReason),
    cron: maybe(
      Type.String({
        description:
          "Five fields: minute, hour, day of month, month, day of week; null: of kind webhook.",
      }),
    ),
    time_zone: maybe(
      Type.String({ description: "The IANA zone of `cron`; null: of kind webhook." }),
    ),
    overlap: oneOf(
      OVERLAPS,
      "`skip`: while a run of it is not final, a fire starts none; `allow`: it starts another.",
    ),
    catch_up_seconds: maybe(
      Type.Integer({
        description:
          "How late the latest missed instant of `cron` may still fire, 0 to 86400 seconds, but " +
          "a minute in any case; null: of kind webhook.",
      }),
    ),
    input: maybe(
      Type.Object(
        { message: Type.String({ description: "What each run is asked." }) },
        { description: "null: a sentence that names the trigger and the instant." },
      ),
    ),
    thread_id: maybe(
      Type.String({
        format: "uuid",
        description: "The thread that its runs add to; null: each begins one of its own.",
      }),
    ),
    hook_path: maybe(
      Type.String({
        description: "Where signed requests are sent, without the host; null: of kind cron.",
      }),
    ),
    key_id: Type.String({
      description:
        "The key that its runs act for: that made or resumed it, changed what they are asked, or " +
        "rotated its secret, whichever was last.",
    }),
    next_fire_at: maybe(
      Timestamp("When it fires next; null: it is paused, or waits for requests."),
    ),
    upcoming: Type.Array(Type.String({ format: "date-time", description: "ISO 8601 in UTC." }), {
      description: "The next fires, at most three, the first of which is `next_fire_at`.",
    }),
    last_fire_at: maybe(Timestamp("When its last fire was recorded; null: it has had none.")),
    previous_secret_expires_at: maybe(
      Timestamp("Until when the secret before the last rotation also verifies; null: it does not."),
    ),
    created_at: Timestamp("When it was created."),
    updated_at: Timestamp("When it was last changed, or paused by a fire."),
  },
  "Starts an agent's runs on a schedule or on a signed request.",
);
export type Trigger = Static<typeof Trigger>;

const { hook_path: _path, upcoming: _upcoming, ...stored } = Trigger.properties;

/** As it is stored: what is made of other fields is added where it is shown. */
export const TriggerRow = Type.Object({
  ...stored,
  account_id: Type.String(),
  /** Rises with each rotation: of two at once the second sees that it came too late. */
  secret_number: Type.Integer(),
  /** The key that was shown its secret last, and could send requests itself. */
  secret_key_id: Type.String(),
});
export type TriggerRow = Static<typeof TriggerRow>;

/** What an event says of the trigger that fired. */
export const TriggerName = Resource(
  "TriggerName",
  {
    id: Trigger.properties.id,
    name: Trigger.properties.name,
    kind: Trigger.properties.kind,
    agent_id: Trigger.properties.agent_id,
  },
  "The trigger that fired.",
);

/** With the agent's own state, which pauses it too. */
export const FoundTrigger = Row(TriggerRow, {
  agent_archived_at: maybe(Timestamp("null: the agent is active.")),
});
export type FoundTrigger = Static<typeof FoundTrigger>;
