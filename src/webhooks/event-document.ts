// The events that endpoints are sent, for the document: a schema of the body for each kind.
import { type TProperties, Type } from "@sinclair/typebox";
import type { DocumentedEvent } from "../http/index.ts";
import type { WebhookEventType } from "./endpoint.ts";
import { WebhookEvent } from "./message.ts";

const DESCRIPTIONS: Readonly<Record<WebhookEventType, string>> = {
  "run.completed": "A run ended with `succeeded`.",
  "run.failed": "A run ended with any other status.",
  "approval.requested": "A call waits for a person's decision.",
  "approval.decided": "A call was decided, has expired, or was closed with its run.",
  "trigger.fired": "A trigger fired, whatever came of it.",
  "webhook.test": "Its owner tests the endpoint.",
};

/** `webhook.test` is this module's own. */
const TEST: TProperties = {
  webhook: Type.Object(
    {
      id: Type.String({ format: "uuid", description: "The endpoint." }),
      url: Type.String({ description: "Where it is sent." }),
    },
    { description: "The endpoint that is tested." },
  ),
};

/** agents.events.webhook.1, agents.events.webhook.2: `data` by the kinds that others report. */
export function documentEvents(
  data: Record<Exclude<WebhookEventType, "webhook.test">, TProperties>,
): DocumentedEvent[] {
  const all: [string, TProperties][] = Object.entries({ ...data, "webhook.test": TEST });
  return all.map(([type, fields]) => {
    const description = DESCRIPTIONS[type as WebhookEventType];
    return { type, description, schema: describeBody(type, fields, description) };
  });
}

function describeBody(type: string, fields: TProperties, description: string) {
  const truncated = Type.Optional(
    Type.Array(Type.String({ description: "The path of a text." }), {
      description: "Of data over 64 KiB: its longest texts, which are null here. Absent: none.",
    }),
  );
  const data = Type.Object({ ...fields, truncated }, { description: "What it is about." });
  const words = type.split(".").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return Type.Object(
    {
      ...WebhookEvent.properties,
      type: Type.Literal(type, { description: `Always \`${type}\`.` }),
      data,
    },
    { $id: `${words.join("")}Event`, description },
  );
}
