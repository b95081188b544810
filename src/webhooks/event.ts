// An event as receivers get it: its JSON, and the schemas that document it.
import { type Static, type TProperties, Type } from "@sinclair/typebox";
import type { DocumentedEvent } from "../http/index.ts";
import type { OutboxRow } from "../outbox/index.ts";
import { always, oneOf, Timestamp } from "../platform/schema.ts";
import { EVENT_TYPES, type WebhookEventType } from "./endpoint.ts";

/** agents.resources.webhook_event_body agents.events.webhook.2 */
export const WebhookEvent = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "The `webhook-id` of every attempt." }),
    type: oneOf(EVENT_TYPES, "Type of event."),
    created_at: Timestamp("Time of the event."),
    data: Type.Unsafe<Record<string, unknown>>(
      Type.Object(
        {},
        {
          description:
            "By type: `{run}`, `{approval}`, `{trigger, fire}`, `{limit, percent, " +
            "used}`, `{webhook}`. Over 64 KiB the longest texts are null, and `truncated` names " +
            "them.",
        },
      ),
    ),
  },
  { $id: "WebhookEvent", description: "An event as it is sent." },
);
export type WebhookEvent = Static<typeof WebhookEvent>;

/** Writes the same bytes each time; `data` is stored as JSON. */
export function writeEvent(event: Pick<OutboxRow, "id" | "type" | "created_at" | "data">): string {
  const { id, type, created_at, data } = event;
  const head = JSON.stringify({ id, type, created_at: new Date(created_at).toISOString() });
  return `${head.slice(0, -1)},"data":${data}}`;
}

const DESCRIPTIONS: Readonly<Record<WebhookEventType, string>> = {
  "run.completed": "A run succeeded.",
  "run.failed": "A run ended with another status.",
  "approval.requested": "A call waits for a person's decision.",
  "approval.decided": "A call was decided, expired, or was closed with its run.",
  "trigger.fired": "A trigger fired, whatever its outcome.",
  "limit.reached": "A limit of the account or of a key is used to 80 or to 100 percent.",
  "webhook.test": "The owner tests the endpoint.",
};

const TEST_DATA: TProperties = {
  webhook: Type.Object(
    {
      id: Type.String({ format: "uuid", description: "The endpoint." }),
      url: Type.String({ description: "Its address." }),
    },
    { description: "Endpoint that is tested." },
  ),
};

/** agents.events.webhook.1, agents.events.webhook.2: `data` is described by its reporters. */
export function documentEvents(
  data: Record<Exclude<WebhookEventType, "webhook.test">, TProperties>,
): DocumentedEvent[] {
  const all: [string, TProperties][] = Object.entries({ ...data, "webhook.test": TEST_DATA });
  return all.map(([type, fields]) => {
    const description = DESCRIPTIONS[type as WebhookEventType];
    return { type, description, schema: describeBody(type, fields, description) };
  });
}

function describeBody(type: string, fields: TProperties, description: string) {
  const truncated = Type.Optional(
    Type.Array(Type.String({ description: "Path of a text." }), {
      description: "Texts that are null here because the data is over 64 KiB.",
    }),
  );
  const data = Type.Object({ ...fields, truncated }, { description: "Data of the event." });
  const words = type.split(".").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return Type.Object(
    {
      ...WebhookEvent.properties,
      type: always(type),
      data,
    },
    { $id: `${words.join("")}Event`, description },
  );
}
