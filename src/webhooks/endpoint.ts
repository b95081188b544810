// A webhook endpoint: where an account's events are sent, as its owner sees it and as it is stored.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, oneOf, Resource, Row, Timestamp } from "../platform/shape.ts";

/** agents.events.webhook.1: the kinds of events, the last of which only tests an endpoint. */
export const EVENT_TYPES = [
  ...(["run.completed", "run.failed", "approval.requested", "approval.decided"] as const),
  ...(["trigger.fired", "webhook.test"] as const),
] as const;
export type WebhookEventType = (typeof EVENT_TYPES)[number];
export const ENDPOINT_STATUSES = ["enabled", "disabled"] as const;
const DISABLED_REASONS = ["manual", "failing", "gone"] as const;

/** agents.does.webhook, agents.resources.webhook_endpoint */
export const WebhookEndpoint = Resource(
  "WebhookEndpoint",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    url: Type.String({ description: "Where events are sent, by POST." }),
    events: Type.Array(oneOf(EVENT_TYPES, "A kind of event."), {
      description: "The kinds of events that are sent; tests are sent whatever stands here.",
    }),
    description: maybe(Type.String({ description: "For people; null: none." })),
    status: oneOf(ENDPOINT_STATUSES, "Nothing is sent to a disabled one."),
    disabled_reason: maybe(
      oneOf(
        DISABLED_REASONS,
        "`manual`: its owner disabled it; `failing`: nothing arrived for 120 hours; `gone`: it " +
          "answered 410; null: it is enabled.",
      ),
    ),
    disabled_at: maybe(Timestamp("When it was disabled; null: it is enabled.")),
    failing_since: maybe(
      Timestamp(
        "The first failure since its last success, or since it was enabled or got another url; " +
          "null: none since then.",
      ),
    ),
    last_success_at: maybe(Timestamp("When it last took an event; null: never.")),
    last_failure_at: maybe(Timestamp("When an attempt last failed; null: never.")),
    previous_secret_expires_at: maybe(
      Timestamp("Until when the secret before the last rotation also signs; null: it does not."),
    ),
    pending_deliveries: Type.Integer({ description: "Deliveries that wait to be sent." }),
    created_at: Timestamp("When it was created."),
    updated_at: Timestamp("When it was last changed, enabled or disabled."),
  },
  "Receives the events that its owner selects, signed with its secret.",
);
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;

export const EndpointRow = Row(WebhookEndpoint, {
  account_id: Type.String(),
  /** Failed attempts since the last success. */
  failures: Type.Integer(),
  /** Rises with each rotation: of two at once the second sees that it came too late. */
  secret_number: Type.Integer(),
});
export type EndpointRow = Static<typeof EndpointRow>;
/** One of an account's own: whoever names another's finds none. */
export type OwnEndpoint = Pick<EndpointRow, "id" | "account_id">;
