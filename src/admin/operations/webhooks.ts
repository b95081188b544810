// Operations on webhook endpoints and their deliveries.
import { Type } from "@sinclair/typebox";
import { readDay, readInstant } from "../../platform/calendar.ts";
import { oneOf, show } from "../../platform/schema.ts";
import { DELIVERY_STATUSES, Delivery, NewWebhook } from "../../webhooks/index.ts";
import type { Admin } from "../admin.ts";
import { AdminError } from "../errors.ts";
import { defineOperation } from "../operation.ts";
import { DeliveryHistory, OwnedEndpoint } from "../webhooks.ts";
import { account, idOf, input, LIMIT, limit, maybeText, text } from "./fields.ts";

const NamedEndpoint = input({ id: idOf("endpoint") });
const Range = input({
  id: idOf("endpoint"),
  since: text("Time of the first delivery, such as 2027-01-05T09:30:00Z."),
  until: maybeText("Time of the last delivery; now without it."),
});

const audit = {
  target: (asked: { id: string }) => asked.id,
  async read({ webhooks }: Admin, found: string) {
    const row = await webhooks.findDelivery(found);
    return row && show(Delivery, row);
  },
};

const endpointAudit = {
  target: audit.target,
  async read({ webhooks }: Admin, found: string) {
    const endpoint = await webhooks.find(found);
    return endpoint && { id: endpoint.id, status: endpoint.status };
  },
};

function readTime(name: string, typed: string): number {
  const timeMs = readDay(typed) ?? readInstant(typed);
  if (timeMs !== null) return timeMs;
  const rule = `${name} takes a time such as 2027-01-05 or 2027-01-05T09:30:00Z`;
  throw new AdminError(`${rule}, but is "${typed}"`, "invalid", rule);
}

function readRange({ since, until }: { since: string; until?: string }) {
  return {
    since: readTime("since", since),
    until: until === undefined ? null : readTime("until", until),
  };
}

const reads = {
  list: defineOperation({
    name: "webhooks list",
    method: "GET",
    path: "/webhooks",
    summary: "List endpoints and their health.",
    input: input({ account }),
    reply: Type.Array(OwnedEndpoint),
    run: ({ webhooks }, asked): Promise<Record<string, unknown>[]> =>
      webhooks.list(asked.account ?? null),
  }),
  show: defineOperation({
    name: "webhooks show",
    method: "GET",
    path: "/webhooks/:id",
    summary: "Show an endpoint and its health.",
    input: NamedEndpoint,
    reply: OwnedEndpoint,
    run: ({ webhooks }, asked): Promise<Record<string, unknown>> => webhooks.show(asked.id),
  }),
  listDeliveries: defineOperation({
    name: "webhooks deliveries",
    method: "GET",
    path: "/webhooks/:id/deliveries",
    summary: "List an endpoint's newest deliveries.",
    input: input({
      id: idOf("endpoint"),
      status: Type.Optional(oneOf(DELIVERY_STATUSES, "Status of the deliveries.")),
      before: Type.Optional(idOf("delivery")),
      limit,
    }),
    reply: Type.Array(Delivery),
    async run({ webhooks }, asked) {
      const { id, status, before, limit: rowsMax = LIMIT } = asked;
      const found = await webhooks.listDeliveries(id, { status, before, limit: rowsMax });
      return found.map((row) => show(Delivery, row));
    },
  }),
  listAttempts: defineOperation({
    name: "webhooks attempts",
    method: "GET",
    path: "/deliveries/:id",
    summary: "Show a delivery with its attempts: what was sent, and what was answered.",
    input: input({ id: idOf("delivery") }),
    reply: DeliveryHistory,
    run: ({ webhooks }, asked) => webhooks.showDelivery(asked.id),
  }),
  countLost: defineOperation({
    name: "webhooks recover --count",
    method: "GET",
    path: "/webhooks/:id/lost",
    summary: "Count the deliveries that a recovery would send again.",
    input: Range,
    reply: Type.Object({
      lost: Type.Integer({
        description:
          "Failed and cancelled ones without tests; above 10000 of a type a lower bound.",
      }),
    }),
    run: async ({ webhooks }, asked) => ({
      lost: await webhooks.countLost(asked.id, readRange(asked)),
    }),
  }),
};

export const webhookOperations = {
  create: defineOperation({
    name: "webhooks create",
    method: "POST",
    path: "/webhooks",
    summary: "Create an endpoint; the reply shows its secret once.",
    input: input({ account: text("Name of the owner."), ...NewWebhook.properties }),
    reply: Type.Object({
      ...OwnedEndpoint.properties,
      secret: Type.String({ description: "Signs every event; shown only now." }),
    }),
    audit: {
      ...endpointAudit,
      target: (_: unknown, reply?: { id: string }) => reply?.id,
    },
    run: ({ webhooks }, { account: owner, ...body }) => webhooks.create(owner, body),
  }),
  ...reads,
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
    input: Range,
    reply: Type.Object({ queued: Type.Integer({ description: "Deliveries to be sent again." }) }),
    audit: endpointAudit,
    run: async ({ webhooks }, asked) => ({
      queued: await webhooks.recover(asked.id, readRange(asked)),
    }),
  }),
  test: defineOperation({
    name: "webhooks test",
    method: "POST",
    path: "/webhooks/:id/test",
    summary: "Send a test event to an endpoint, once.",
    input: NamedEndpoint,
    reply: Delivery,
    audit: endpointAudit,
    run: async ({ webhooks }, asked) => show(Delivery, await webhooks.test(asked.id)),
  }),
  enable: defineOperation({
    name: "webhooks enable",
    method: "POST",
    path: "/webhooks/:id/enable",
    summary: "Enable a disabled endpoint: it gets events from now on.",
    input: NamedEndpoint,
    reply: Type.Object({
      ...OwnedEndpoint.properties,
      is_changed: Type.Boolean({ description: "False: it was enabled already." }),
    }),
    audit: endpointAudit,
    async run({ webhooks }, asked): Promise<Record<string, unknown>> {
      const { endpoint, isChanged } = await webhooks.enable(asked.id);
      return { ...endpoint, is_changed: isChanged };
    },
  }),
};
