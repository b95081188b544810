// A delivery: one event to one endpoint, with every attempt at it.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../platform/shape.ts";
import { EVENT_TYPES } from "./endpoint.ts";

export const DELIVERY_STATUSES = ["pending", "delivered", "failed", "cancelled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];
export const ATTEMPT_KINDS = ["scheduled", "replay", "test"] as const;

/** `last_error` of a delivery that failed without an attempt at it. */
export const LOST = {
  deliveries_limit: "deliveries_limit: too many deliveries of the account were waiting.",
  event_expired: "event_expired: the event is no longer kept.",
} as const;

/** agents.resources.delivery */
export const Delivery = Resource(
  "Delivery",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    webhook_id: Type.String({ format: "uuid", description: "The endpoint." }),
    event_id: Type.String({
      format: "uuid",
      description: "The event: the `webhook-id` of every attempt and replay.",
    }),
    event_type: oneOf(EVENT_TYPES, "The kind of the event."),
    status: oneOf(
      DELIVERY_STATUSES,
      "`pending`: it waits for its next attempt; `delivered`: the endpoint took it; `failed`: no " +
        "attempt is left; `cancelled`: the endpoint was disabled.",
    ),
    attempt_count: Type.Integer({ description: "Attempts so far, replays with them." }),
    next_attempt_at: maybe(Timestamp("When it is tried next; null: it is not pending.")),
    last_response_status: maybe(
      Type.Integer({
        description: "HTTP status of the last attempt; null: no answer to it, or no attempt yet.",
      }),
    ),
    last_error: maybe(
      Type.String({
        description:
          "What went wrong last, for people; null: its last attempt arrived, or none was made.",
      }),
    ),
    created_at: Timestamp("When it was made."),
    completed_at: maybe(Timestamp("When it was delivered, failed or cancelled; null: pending.")),
  },
  "One event to one endpoint.",
);
export type Delivery = Static<typeof Delivery>;

export const DeliveryRow = Row(Delivery, {
  account_id: Type.String(),
  /** What its next attempt is. */
  kind: oneOf(ATTEMPT_KINDS, ""),
  /**
   * Attempts since it was made, or asked for again: its place in the schedule. -1: it was asked for
   * again while a process has it; whatever that attempt comes to, it is due once more after it.
   */
  tries: Type.Integer(),
  /** 0: it has not been tried since then; 1: it is a retry. */
  lane: Type.Integer(),
  /** The process that has it; 0: none. */
  epoch: Type.Integer(),
});
export type DeliveryRow = Static<typeof DeliveryRow>;

export const DeliveryAttempt = Resource(
  "DeliveryAttempt",
  {
    number: Type.Integer({ description: "From 1 on, in the order in which they were made." }),
    kind: oneOf(
      ATTEMPT_KINDS,
      "`scheduled`: by itself; `replay`: asked for again; `test`: of a test event.",
    ),
    started_at: Timestamp("When it began."),
    duration_ms: Type.Integer({ description: "How long it took, in milliseconds." }),
    response_status: maybe(
      Type.Integer({ description: "HTTP status of the answer; null: there was none." }),
    ),
    response_body: maybe(
      Type.String({
        description: "The beginning of the answer, at most 4 KiB; null: there was none.",
      }),
    ),
    error: maybe(Type.String({ description: "Why it failed, for people; null: it did not." })),
  },
  "One attempt at a delivery.",
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

/** Whoever replays without end keeps the latest, of which each may be 4 KiB long. */
export const ATTEMPTS_MAX = 100;

export const AttemptRow = Row(DeliveryAttempt, { delivery_id: Type.String() });
export type AttemptRow = Static<typeof AttemptRow>;
