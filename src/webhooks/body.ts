// What callers send of endpoints and deliveries, and what of it no schema says.
import { type Static, Type } from "@sinclair/typebox";
import { Instant, requireInstant } from "../http/index.ts";
import { type GuardedEgress, URL_CHARACTERS_MAX } from "../platform/egress/index.ts";
import { refuse } from "../platform/refusal.ts";
import { maybe, oneOf, TEXT_PATTERN, withRules } from "../platform/shape.ts";
import { ENDPOINT_STATUSES, EVENT_TYPES, type WebhookEventType } from "./endpoint.ts";
import type { Span } from "./store/deliveries.ts";

const DESCRIPTION_CHARACTERS_MAX = 500;

const strict = { additionalProperties: false };

const url = Type.String({
  description:
    "Receives events by POST: an https URL of a public DNS name, or a place that the operator " +
    "has opened.",
  minLength: 1,
  maxLength: URL_CHARACTERS_MAX,
  examples: ["https://hooks.example.com/wadi"],
});
const events = Type.Array(oneOf(EVENT_TYPES, "A kind of event."), {
  description: "The kinds of events that are sent, each once.",
  minItems: 1,
  maxItems: EVENT_TYPES.length,
});
const description = Type.Optional(
  maybe(
    Type.String({
      description: "For people, at most 500 characters; null: none.",
      maxLength: DESCRIPTION_CHARACTERS_MAX,
      pattern: TEXT_PATTERN,
    }),
  ),
);

const judgeEvents = ({ events = [] }: { events?: readonly WebhookEventType[] }) =>
  new Set(events).size === events.length ? null : "must name each kind once";

/** agents.resources.webhook_endpoint */
export const NewWebhook = withRules(
  Type.Object(
    { url, events, description },
    {
      ...strict,
      $id: "NewWebhook",
      description: "An endpoint; what happens from then on is sent to it.",
      examples: [
        {
          url: "https://hooks.example.com/wadi",
          events: ["run.completed", "run.failed"],
          description: "The order desk.",
        },
      ],
    },
  ),
  { events: judgeEvents },
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
          "`disabled`: nothing is sent, and what waits is cancelled; `enabled`: what happens " +
            "from then on is sent.",
        ),
      ),
    },
    {
      ...strict,
      $id: "WebhookPatch",
      description: "What is left out stays as it is.",
      examples: [{ events: ["run.failed"] }],
    },
  ),
  { events: judgeEvents },
);
export type WebhookPatch = Static<typeof WebhookPatch>;

export const RecoverDeliveries = Type.Object(
  {
    since: Instant("Only deliveries made then or later."),
    until: Type.Optional(maybe(Instant("Only deliveries made by then; null: until now."))),
  },
  {
    ...strict,
    $id: "RecoverDeliveries",
    description:
      "Which deliveries are to be sent again, of those that failed or were cancelled, save tests.",
    examples: [{ since: "2026-11-20T00:00:00.000Z" }],
  },
);
type RecoverDeliveries = Static<typeof RecoverDeliveries>;

/** agents.errors.url_refused agents.endpoints.webhooks.p3 */
export function requireUrl(text: string, judge: GuardedEgress["judge"]): void {
  const verdict = judge(text);
  if (!verdict.ok) throw refuse("url_refused", { param: "url", message: verdict.why });
}

/** agents.errors.invalid_request */
export function readSpan({ since: from, until: to }: RecoverDeliveries, now: number): Span {
  const since = requireInstant("since", from);
  if (to === undefined || to === null) return { since, until: Math.max(since, now) };
  const until = requireInstant("until", to);
  if (since <= until) return { since, until };
  const message = "`until` must not be before `since`.";
  throw refuse("invalid_request", { param: "until", message });
}
