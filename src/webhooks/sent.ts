// An attempt with what it sent: the address, the headers, and the text that was signed.
import { type Static, Type } from "@sinclair/typebox";
import { maybe, show } from "../platform/schema.ts";
import { writeSignedHead } from "./attempt.ts";
import { type AttemptRow, DeliveryAttempt, type DeliveryRow } from "./delivery.ts";

export const SentAttempt = Type.Object(
  {
    ...DeliveryAttempt.properties,
    url: maybe(
      Type.String({ description: "Address that it was sent to; null for an older attempt." }),
    ),
    headers: maybe(
      Type.Record(Type.String(), Type.String(), {
        description: "Headers that were sent, without the signature; null for an older attempt.",
      }),
    ),
    signatures: maybe(
      Type.Integer({
        description: "Signatures in `webhook-signature`, one a secret; null: an older attempt.",
      }),
    ),
    signed_head: maybe(
      Type.String({
        description: "Id and time with their dots, signed in front of the body; null: older.",
      }),
    ),
  },
  { description: "One attempt at a delivery with what it sent." },
);

export function showSent(
  { event_id }: Pick<DeliveryRow, "event_id">,
  attempt: AttemptRow,
): Static<typeof SentAttempt> {
  const { url, signatures, started_at } = attempt;
  const shown = show(DeliveryAttempt, attempt) as Static<typeof DeliveryAttempt>;
  if (url === null) return { ...shown, url, signatures, headers: null, signed_head: null };
  const head = writeSignedHead(event_id, started_at);
  return {
    ...shown,
    ...{ url, signatures },
    headers: { accept: "*/*", "user-agent": "wadi", ...head },
    signed_head: `${event_id}.${head["webhook-timestamp"]}.`,
  };
}
