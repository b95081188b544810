// A delivery: one event to one endpoint, with every attempt at it.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../platform/schema.ts";
import { EVENT_TYPES } from "./endpoint.ts";

export const DELIVERY_STATUSES = ["pending", "delivered", "failed", "cancelled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];
const ATTEMPT_KINDS = ["scheduled", "replay", "test"] as const;

/** An endpoint's two queues, as numbers in column `lane`. */
export const FIRST_ATTEMPTS = 0;
export const RETRIES = 1;
export type QueueNumber = typeof FIRST_ATTEMPTS | typeof RETRIES;

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
      description: "The event; `webhook-id` of every attempt and replay.",
    }),
    event_type: oneOf(EVENT_TYPES, "Type of the event."),
    status: oneOf(
      DELIVERY_STATUSES,
      "`pending`: waits for its next attempt; `delivered`: the endpoint answered 2xx; `failed`: " +
        "no attempt is left; `cancelled`: the endpoint was disabled.",
    ),
    attempt_count: Type.Integer({ description: "Attempts so far, including replays." }),
    next_attempt_at: maybe(Timestamp("Time of the next attempt; null unless pending.")),
    last_response_status: maybe(
      Type.Integer({
        description: "HTTP status of the last attempt; null without a response.",
      }),
    ),
    last_error: maybe(
      Type.String({
        description: "Error of the last attempt, for people; null after a success.",
      }),
    ),
    created_at: Timestamp("Time of creation."),
    completed_at: maybe(
      Timestamp("When it was delivered, failed or cancelled; null while pending."),
    ),
  },
  "Delivery of one event to one endpoint.",
);
export type Delivery = Static<typeof Delivery>;

export const DeliveryRow = Row(Delivery, {
  account_id: Type.String(),
  kind: oneOf(ATTEMPT_KINDS, ""),
  /** Position in the retry schedule; -1: replayed while it is claimed, so it is sent once more. */
  tries: Type.Integer(),
  lane: Type.Unsafe<QueueNumber>({ type: "integer" }),
  epoch: Type.Integer(),
});
export type DeliveryRow = Static<typeof DeliveryRow>;

export const DeliveryAttempt = Resource(
  "DeliveryAttempt",
  {
    number: Type.Integer({ description: "Number of the attempt, from 1." }),
    kind: oneOf(
      ATTEMPT_KINDS,
      "`scheduled`: first attempt or retry; `replay`: after a replay; `test`: of a test event.",
    ),
    started_at: Timestamp("Time of its start."),
    duration_ms: Type.Integer({ description: "Duration in milliseconds." }),
    response_status: maybe(Type.Integer({ description: "HTTP status; null without a response." })),
    response_body: maybe(
      Type.String({
        description: "First 4 KiB of the response body; null if there is none.",
      }),
    ),
    error: maybe(Type.String({ description: "Error, for people; null after a success." })),
  },
  "One attempt at a delivery.",
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

/** Maximum attempts of a delivery that are kept, each up to 4 KiB long. */
export const ATTEMPTS_MAX = 100;

/** Attempts older than the two columns have null there. */
export const AttemptRow = Row(DeliveryAttempt, {
  delivery_id: Type.String(),
  /** Address that it was sent to; the endpoint may have another one since. */
  url: maybe(Type.String()),
  /** Number of its signatures: one for each secret in force. */
  signatures: maybe(Type.Integer()),
});
export type AttemptRow = Static<typeof AttemptRow>;
