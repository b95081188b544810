// Operations on webhook endpoints and their deliveries.
import { Type } from "@sinclair/typebox";
import { readDay, readInstant } from "../../platform/calendar.ts";
import { oneOf, show } from "../../platform/schema.ts";
import { DELIVERY_STATUSES, Delivery, WebhookEndpoint } from "../../webhooks/index.ts";
import type { Admin } from "../admin.ts";
import { AdminError } from "../errors.ts";
import { defineOperation } from "../operation.ts";
import { account, idOf, input, LIMIT, limit, maybeText, text, withAccount } from "./fields.ts";

const audit = {
  target: (asked: { id: string }) => asked.id,
  async read({ webhooks }: Admin, found: string) {
    const row = await webhooks.findDelivery(found.toLowerCase());
    return row && show(Delivery, row);
  },
};

function readTime(name: string, typed: string): number {
  const timeMs = readDay(typed) ?? readInstant(typed);
  if (timeMs !== null) return timeMs;
  const rule = `${name} takes a time such as 2027-01-05 or 2027-01-05T09:30:00Z`;
  throw new AdminError(`${rule}, but is "${typed}"`, "invalid", rule);
}

export const webhookOperations = {
  list: defineOperation({
    name: "webhooks list",
    method: "GET",
    path: "/webhooks",
    summary: "List endpoints and their health.",
    input: input({ account }),
    reply: Type.Array(Type.Object(withAccount(WebhookEndpoint.properties))),
    run: ({ webhooks }, asked): Promise<Record<string, unknown>[]> =>
      webhooks.list(asked.account ?? null),
  }),
  listDeliveries: defineOperation({
    name: "webhooks deliveries",
    method: "GET",
    path: "/webhooks/:id/deliveries",
    summary: "List an endpoint's newest deliveries.",
    input: input({
      id: idOf("endpoint"),
      status: Type.Optional(oneOf(DELIVERY_STATUSES, "Status of the deliveries.")),
      limit,
    }),
    reply: Type.Array(Delivery),
    async run({ webhooks }, asked) {
      const filter = { status: asked.status ?? null, limit: asked.limit ?? LIMIT };
      const found = await webhooks.listDeliveries(asked.id, filter);
      return found.map((row) => show(Delivery, row));
    },
  }),
  replay: defineOperation({
    name: "webhooks replay",
    method: "POST",
    path: "/deliveries/:id/replay",
    summary: "Send a delivery again with its webhook-id.",
    input: input({ id: idOf("delivery") }),
    reply: Delivery,
    audit,
    run: async ({ webhooks }, asked) => show(Delivery, await webhooks.replay(asked.id)),
  }),
  recover: defineOperation({
    name: "webhooks recover",
    method: "POST",
    path: "/webhooks/:id/recover",
    summary: "Send the failed deliveries of an endpoint again.",
    input: input({
      id: idOf("endpoint"),
      since: text("Time of the first delivery, such as 2027-01-05T09:30:00Z."),
      until: maybeText("Time of the last delivery; now without it."),
    }),
    reply: Type.Object({ queued: Type.Integer({ description: "Deliveries to be sent again." }) }),
    audit: {
      target: audit.target,
      async read({ webhooks }: Admin, found: string) {
        const endpoint = await webhooks.find(found.toLowerCase());
        return endpoint && { id: endpoint.id, status: endpoint.status };
      },
    },
    async run({ webhooks }, asked) {
      const since = readTime("since", asked.since);
      const until = asked.until === undefined ? null : readTime("until", asked.until);
      return { queued: await webhooks.recover(asked.id, { since, until }) };
    },
  }),
};
