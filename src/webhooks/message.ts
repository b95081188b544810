// What a receiver is sent of an event, and what its owner is shown of it.
import { type Static, Type } from "@sinclair/typebox";
import type { OutboxRow } from "../platform/outbox/store.ts";
import { oneOf, Timestamp } from "../platform/shape.ts";
import { EVENT_TYPES } from "./endpoint.ts";

/** agents.resources.webhook_event_body agents.events.webhook.2 */
export const WebhookEvent = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "The `webhook-id` of every attempt." }),
    type: oneOf(EVENT_TYPES, "What happened."),
    created_at: Timestamp("When it happened."),
    data: Type.Unsafe<Record<string, unknown>>(
      Type.Object(
        {},
        {
          description:
            "By type: `{run}`, `{approval}`, `{trigger, fire}`, `{webhook}`. Of more than 64 KiB " +
            "the longest texts are null, and `truncated` names them.",
        },
      ),
    ),
  },
  { $id: "WebhookEvent", description: "An event, as it is sent." },
);
export type WebhookEvent = Static<typeof WebhookEvent>;

/** JSON of the same bytes each time: its data is a text already. */
export function writeMessage(event: Pick<OutboxRow, "id" | "type" | "created_at" | "data">) {
  const { id, type, created_at, data } = event;
  const head = JSON.stringify({ id, type, created_at: new Date(created_at).toISOString() });
  return `${head.slice(0, -1)},"data":${data}}`;
}

/** The same as its owner reads it. */
export function showMessage(event: OutboxRow): object {
  return JSON.parse(writeMessage(event)) as object;
}
