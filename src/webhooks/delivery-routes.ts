// The routes of deliveries: pages of them, one with its attempts, and what sends again.
import { Type } from "@sinclair/typebox";
import { type Door, IdParams, Uuid } from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";
import { Resource, show } from "../platform/shape.ts";
import type { DiskSpace } from "../platform/storage/disk-space.ts";
import { RecoverDeliveries, readSpan } from "./body.ts";
import { type Deliveries, DeliveriesQuery, DeliveryDetail, DeliveryList } from "./deliveries.ts";
import { Delivery } from "./delivery.ts";
import type { Endpoints } from "./endpoints.ts";

const ONE = "/v1/webhooks/:id";
const DELIVERIES = `${ONE}/deliveries` as const;
const DELIVERY = `${DELIVERIES}/:delivery_id` as const;
const DeliveryParams = Type.Object({
  ...IdParams.properties,
  delivery_id: Uuid("The id of the delivery."),
});

/** agents.authentication.3 */
const route = { scope: "agents", is_scope_certain: true } as const;
/** agents.errors.not_enabled: nothing would be sent. */
const sending = { ...route, feature: "webhooks" } as const;
const queued = { 202: { description: "It is due at once.", schema: Delivery } };

const RecoveredDeliveries = Resource(
  "RecoveredDeliveries",
  { queued: Type.Integer({ description: "How many deliveries are sent again." }) },
  "What a recovery came to.",
);

interface DeliveryRoutes {
  endpoints: Endpoints;
  deliveries: Deliveries;
  clock: Clock;
  disk: Pick<DiskSpace, "require">;
}

/** agents.endpoints.webhooks.p1, agents.endpoints.webhooks.p4 */
export function openDeliveryRoutes(door: Door, routes: DeliveryRoutes): void {
  openTest(door, routes);
  openReads(door, routes);
  openReplay(door, routes);
  openRecovery(door, routes);
}

/** agents.events.webhook.1 */
function openTest(door: Door, { endpoints, deliveries, disk }: DeliveryRoutes): void {
  door.post(
    `${ONE}/test`,
    {
      ...sending,
      summary: "Test a webhook endpoint",
      description:
        "Sends an event `webhook.test`, whatever kinds of events are selected, and tries it once.",
      params: IdParams,
      replies: queued,
      refusals: [
        ...(["webhook_not_found", "endpoint_disabled"] as const),
        ...(["deliveries_limit", "storage_limit_reached"] as const),
      ],
    },
    async ({ params, caller: { account_id } }) => {
      const own = await endpoints.require(params.id, account_id);
      disk.require();
      return [202, show(Delivery, await deliveries.test(own))];
    },
  );
}

function openReads(door: Door, { endpoints, deliveries }: DeliveryRoutes): void {
  door.get(
    DELIVERIES,
    {
      ...route,
      summary: "List an endpoint's deliveries",
      params: IdParams,
      query: DeliveriesQuery,
      replies: {
        200: { description: "A page of deliveries, newest first.", schema: DeliveryList },
      },
      refusals: ["webhook_not_found"],
    },
    async ({ params, query, caller: { account_id } }) => {
      const { id } = await endpoints.require(params.id, account_id);
      return [200, await deliveries.page(id, query)];
    },
  );
  door.get(
    DELIVERY,
    {
      ...route,
      summary: "Read a delivery",
      params: DeliveryParams,
      replies: { 200: { description: "With its attempts and its event.", schema: DeliveryDetail } },
      refusals: ["webhook_not_found", "delivery_not_found"],
    },
    async ({ params, caller: { account_id } }) => {
      const { id } = await endpoints.require(params.id, account_id);
      return [200, await deliveries.detail(id, params.delivery_id)];
    },
  );
}

/** agents.events.webhook.3 */
function openReplay(door: Door, { endpoints, deliveries }: DeliveryRoutes): void {
  door.post(
    `${DELIVERY}/replay`,
    {
      ...sending,
      summary: "Send a delivery again",
      description:
        "Whatever became of it: the same event under the same `webhook-id`, with attempts as at " +
        "first. One that waits is due at once.",
      params: DeliveryParams,
      replies: queued,
      refusals: [
        ...(["webhook_not_found", "delivery_not_found"] as const),
        ...(["endpoint_disabled", "event_expired", "deliveries_limit"] as const),
      ],
    },
    async ({ params, caller: { account_id } }) => {
      const own = await endpoints.require(params.id, account_id);
      return [202, show(Delivery, await deliveries.replay(own, params.delivery_id))];
    },
  );
}

function openRecovery(door: Door, { endpoints, deliveries, clock }: DeliveryRoutes): void {
  door.post(
    DELIVERIES,
    {
      ...sending,
      summary: "Send lost deliveries again",
      description:
        "Those that failed or were cancelled, save tests, the oldest first, for as many as may " +
        "wait: ask again for others when some of them were sent.",
      params: IdParams,
      body: RecoverDeliveries,
      replies: { 202: { description: "They are due at once.", schema: RecoveredDeliveries } },
      refusals: [
        ...(["invalid_request", "webhook_not_found"] as const),
        ...(["endpoint_disabled", "deliveries_limit"] as const),
      ],
    },
    async ({ params, body, caller: { account_id } }) => {
      const own = await endpoints.require(params.id, account_id);
      const span = readSpan(body, clock.now());
      return [202, { queued: await deliveries.recover(own, span) }];
    },
  );
}
