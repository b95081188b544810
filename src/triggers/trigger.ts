// A trigger starts an agent's runs by itself: its resource, its row, and the reasons of its pauses.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../platform/schema.ts";

export const TRIGGER_KINDS = ["cron", "webhook"] as const;
const OVERLAPS = ["skip", "allow"] as const;
export const TRIGGER_STATUSES = ["active", "paused"] as const;
const PAUSES = ["manual", "key", "agent", "model"] as const;

export const PausedReason = Type.Object(
  {
    type: oneOf(
      PAUSES,
      "`manual`: paused by its owner or the operator; otherwise what refused its last fire.",
    ),
    code: Type.Optional(
      maybe(Type.String({ description: "The error code of the refusal; null: none." })),
    ),
    message: Type.String({ description: "A sentence for people." }),
    at: Type.String({ format: "date-time", description: "Time of the pause. ISO 8601 in UTC." }),
  },
  { description: "Why it is paused." },
);
export type PausedReason = Static<typeof PausedReason>;

/** agents.states.p12: the owner or the operator ends such a pause. */
export function pausedManually(
  message: string,
  now: number,
  code: string | null = null,
): PausedReason {
  return { type: "manual", code, message, at: new Date(now).toISOString() };
}

export function pausedByArchival(archivedAt: number): PausedReason {
  const at = new Date(archivedAt).toISOString();
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
    status: oneOf(TRIGGER_STATUSES, "A paused trigger does not fire."),
    paused_reason: maybe(PausedReason),
    cron: maybe(
      Type.String({
        description:
          "Five fields: minute, hour, day of month, month, day of week; null for kind webhook.",
      }),
    ),
    time_zone: maybe(
      Type.String({ description: "The IANA time zone of `cron`; null for kind webhook." }),
    ),
    overlap: oneOf(
      OVERLAPS,
      "`skip`: a fire starts no run while an earlier one is not final; `allow`: it does.",
    ),
    catch_up_seconds: maybe(
      Type.Integer({
        description:
          "How late the latest missed instant may still fire, 0 to 86400 seconds; at least a " +
          "minute in any case; null for kind webhook.",
      }),
    ),
    input: maybe(
      Type.Object(
        { message: Type.String({ description: "Message of each run." }) },
        { description: "null for a sentence that names trigger and time." },
      ),
    ),
    thread_id: maybe(
      Type.String({
        format: "uuid",
        description: "Thread of its runs; null for a new thread each.",
      }),
    ),
    hook_path: maybe(
      Type.String({
        description: "Path for signed requests, without the host; null for kind cron.",
      }),
    ),
    key_id: Type.String({
      description:
        "Key that its runs act for: the last one that created or resumed it, changed its message " +
        "or rotated its secret.",
    }),
    next_fire_at: maybe(Timestamp("Next fire; null while paused, and for kind webhook.")),
    upcoming: Type.Array(Type.String({ format: "date-time", description: "ISO 8601 in UTC." }), {
      description: "The next three fires at most, beginning with `next_fire_at`.",
    }),
    last_fire_at: maybe(Timestamp("Last recorded fire; null before the first.")),
    previous_secret_expires_at: maybe(
      Timestamp("End of the secret before the last rotation; null if it is over."),
    ),
    created_at: Timestamp("Time of creation."),
    updated_at: Timestamp("Last change, or pause by a fire."),
  },
  "Starts an agent's runs on a schedule or on a signed request.",
);
export type Trigger = Static<typeof Trigger>;

const { hook_path: _path, upcoming: _upcoming, ...stored } = Trigger.properties;

export const TriggerRow = Type.Object({
  ...stored,
  account_id: Type.String(),
  /** Rises with each rotation, so that the later of two concurrent ones notices. */
  secret_number: Type.Integer(),
  /** Key that was last shown the secret and could sign requests itself. */
  secret_key_id: Type.String(),
});
export type TriggerRow = Static<typeof TriggerRow>;

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

export const FoundTrigger = Row(TriggerRow, {
  agent_archived_at: maybe(Timestamp("Set for an archived agent.")),
});
export type FoundTrigger = Static<typeof FoundTrigger>;
