// A webhook endpoint: as its owner sees it, as it is stored, and as callers create and change it.
import { type Static, Type } from "@sinclair/typebox";
import {
  maybe,
  oneOf,
  Resource,
  Row,
  StoredText,
  Timestamp,
  withRules,
} from "../platform/schema.ts";
import { URL_CHARACTERS_MAX } from "../platform/text.ts";

const DESCRIPTION_CHARACTERS_MAX = 500;

/** agents.events.webhook.1: the last kind only tests an endpoint. */
export const EVENT_TYPES = [
  "run.completed",
  "run.failed",
  "approval.requested",
  "approval.decided",
  "trigger.fired",
  "limit.reached",
  "webhook.test",
] as const;
export type WebhookEventType = (typeof EVENT_TYPES)[number];
const ENDPOINT_STATUSES = ["enabled", "disabled"] as const;
const DISABLED_REASONS = ["manual", "failing", "gone"] as const;

/** agents.does.webhook, agents.resources.webhook_endpoint */
export const WebhookEndpoint = Resource(
  "WebhookEndpoint",
  {
    id: Type.String({ format: "uuid", description: "Identifier." }),
    url: Type.String({ description: "Receives events by POST." }),
    events: Type.Array(oneOf(EVENT_TYPES, "Type of event."), {
      description: "Types of events that are sent; tests are always sent.",
    }),
    description: maybe(Type.String({ description: "For people." })),
    status: oneOf(ENDPOINT_STATUSES, "Nothing is sent to a disabled one."),
    disabled_reason: maybe(
      oneOf(
        DISABLED_REASONS,
        "`manual`: by its owner; `failing`: nothing arrived for 120 hours; `gone`: it answered " +
          "410; null while enabled.",
      ),
    ),
    disabled_at: maybe(Timestamp("When it was disabled; null while enabled.")),
    failing_since: maybe(
      Timestamp(
        "First failure since its last success, or since it was enabled or its url changed; null " +
          "if there is none.",
      ),
    ),
    last_success_at: maybe(Timestamp("Last time it answered 2xx; null if never.")),
    last_failure_at: maybe(Timestamp("Last time an attempt failed; null if never.")),
    previous_secret_expires_at: maybe(
      Timestamp("End of the overlap in which the former secret signs, too; null outside one."),
    ),
    pending_deliveries: Type.Integer({ description: "Number of pending deliveries." }),
    created_at: Timestamp("Time of creation."),
    updated_at: Timestamp("Time of the last change."),
  },
  "Receives the selected events of its owner, signed with its secret.",
);
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;

export const WebhookEndpointList = Resource(
  "WebhookEndpointList",
  { data: Type.Array(WebhookEndpoint, { description: "Newest first." }) },
  "Webhook endpoints of the account.",
);

/** agents.resources.webhook_endpoint */
export const WebhookEndpointSecret = Resource(
  "WebhookEndpointSecret",
  {
    ...WebhookEndpoint.properties,
    secret: Type.String({
      description: "Signs every event: `whsec_` and base64. Shown only in this response.",
    }),
  },
  "An endpoint with its new secret.",
);

export const EndpointRow = Row(WebhookEndpoint, {
  account_id: Type.String(),
  failures: Type.Integer(),
  /** Rises with each rotation, so that the second of two at once sees that it is stale. */
  secret_number: Type.Integer(),
  /** End of the last attempt at its address; null before the first. */
  last_answer_at: maybe(Timestamp("End of the last attempt.")),
  last_answer_status: maybe(Type.Integer()),
  last_answer_error: maybe(Type.String()),
});
export type EndpointRow = Static<typeof EndpointRow>;
/** An endpoint named with its owner: another account's is not found. */
export type OwnEndpoint = Pick<EndpointRow, "id" | "account_id">;

const url = Type.String({
  description:
    "Receives events by POST: an https URL with a public DNS name, or one that the operator " +
    "allows.",
  minLength: 1,
  maxLength: URL_CHARACTERS_MAX,
  examples: ["https://hooks.example.com/wadi"],
});
const events = Type.Array(oneOf(EVENT_TYPES, "Type of event."), {
  description: "Types of events that are sent, each once.",
  minItems: 1,
  maxItems: EVENT_TYPES.length,
});
const description = Type.Optional(
  maybe(StoredText("For people, at most 500 characters.", DESCRIPTION_CHARACTERS_MAX)),
);

const validateEvents = ({ events = [] }: { events?: readonly WebhookEventType[] }) =>
  new Set(events).size === events.length ? null : "must name each kind once";

/** agents.resources.webhook_endpoint */
export const NewWebhook = withRules(
  Type.Object(
    { url, events, description },
    {
      additionalProperties: false,
      $id: "NewWebhook",
      description: "A new endpoint, which receives events from now on.",
      examples: [
        {
          url: "https://hooks.example.com/wadi",
          events: ["run.completed", "run.failed"],
          description: "The order desk.",
        },
      ],
    },
  ),
  { events: validateEvents },
);
export type NewWebhook = Static<typeof NewWebhook>;

export const WebhookPatch = withRules(
  Type.Object(
    {
      url: Type.Optional(url),
      events: Type.Optional(events),
      description,
      status: Type.Optional(
        oneOf(
          ENDPOINT_STATUSES,
          "`disabled` cancels pending deliveries; `enabled` sends events from now on.",
        ),
      ),
    },
    {
      additionalProperties: false,
      $id: "WebhookPatch",
      description: "Fields to change.",
      examples: [{ events: ["run.failed"] }],
    },
  ),
  { events: validateEvents },
);
export type WebhookPatch = Static<typeof WebhookPatch>;
