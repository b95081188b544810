// Events as the document tells of them: what a webhook endpoint is sent.
import type { TSchema } from "@sinclair/typebox";
import { refer } from "./schemas.ts";

/** One kind of event. */
export interface DocumentedEvent {
  type: string;
  description: string;
  /** A named schema of the whole body. */
  schema: TSchema;
}

const SIGNED = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/** agents.events.webhook.1: the section `webhooks`. */
export function describeEvents(events: readonly DocumentedEvent[]): Record<string, unknown> {
  const describe = ({ type, description, schema }: DocumentedEvent) => ({
    post: {
      operationId: `on${type.split(".").map(capitalize).join("")}`,
      summary: `An event \`${type}\``,
      description,
      tags: ["webhooks"],
      // agents.authentication.7: it is signed, and sent without a key.
      security: [],
      parameters: SIGNED.map((name) => ({ $ref: `#/components/parameters/${name}` })),
      requestBody: { required: true, content: { "application/json": { schema: refer(schema) } } },
      responses: { "2XX": { description: "It has arrived; any other answer has it sent again." } },
    },
  });
  return Object.fromEntries(events.map((event) => [event.type, describe(event)]));
}

const capitalize = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
