// The routes of webhooks: endpoints with their secrets, and deliveries.
import { Type } from "@sinclair/typebox";
import { RotateSecret, readOverlap } from "../crypto/index.ts";
import { IdParams, type Router, Uuid } from "../http/index.ts";
import type { Clock } from "../platform/clock.ts";
import { apiError } from "../platform/errors.ts";
import { show } from "../platform/schema.ts";
import type { DiskSpace } from "../storage/index.ts";
import {
  type Deliveries,
  DeliveriesQuery,
  DeliveryDetail,
  DeliveryList,
  RecoverDeliveries,
  RecoveredDeliveries,
  readTimeRange,
} from "./deliveries.ts";
import { Delivery } from "./delivery.ts";
import {
  NewWebhook,
  WebhookEndpoint,
  WebhookEndpointList,
  WebhookEndpointSecret,
  WebhookPatch,
} from "./endpoint.ts";
import type { Endpoints, EndpointWithSecret } from "./endpoints.ts";

const ENDPOINTS = "/v1/webhooks";
const ENDPOINT = `${ENDPOINTS}/:id` as const;
const DELIVERIES = `${ENDPOINT}/deliveries` as const;
const DELIVERY = `${DELIVERIES}/:delivery_id` as const;
const DeliveryParams = Type.Object({
  ...IdParams.properties,
  delivery_id: Uuid("The id of the delivery."),
});

/** agents.authentication.3 */
const route = { scope: "agents", isScopeCertain: true } as const;
/** agents.errors.not_enabled: creating, changing and sending need the feature. */
const changing = { ...route, feature: "webhooks" } as const;
const shown = { 200: { description: "Without its secret.", schema: WebhookEndpoint } };
const queued = { 202: { description: "It is due at once.", schema: Delivery } };

interface WebhookRoutes {
  endpoints: Endpoints;
  deliveries: Deliveries;
  clock: Clock;
  disk: Pick<DiskSpace, "require">;
}

/** agents.endpoints.webhooks.p1, agents.endpoints.webhooks.p4 */
export function openWebhookRoutes(router: Router, routes: WebhookRoutes): void {
  openCreation(router, routes);
  openEndpointReads(router, routes);
  openChanges(router, routes);
  openRotation(router, routes);
  openTest(router, routes);
  openDeliveryReads(router, routes);
  openReplay(router, routes);
  openRecovery(router, routes);
}

/** agents.does.webhook */
function openCreation(router: Router, { endpoints, disk }: WebhookRoutes): void {
  router.post(
    ENDPOINTS,
    {
      ...changing,
      summary: "Create a webhook endpoint",
      description:
        "Sends the selected events from now on by POST, signed by Standard Webhooks. Only a 2xx " +
        "within 15 seconds is a success; ten attempts are made over about three days. The secret " +
        "is shown only in this response.",
      body: NewWebhook,
      replies: { 201: { description: "With its secret.", schema: WebhookEndpointSecret } },
      refusals: ["url_refused", "endpoints_limit", "webhooks_unavailable"],
    },
    async ({ body, caller: { account_id } }) => {
      // agents.errors.permission_denied: the endpoint would have no owner.
      if (account_id === null) throw apiError("permission_denied");
      disk.require();
      return [201, showWithSecret(endpoints, await endpoints.create(account_id, body))];
    },
  );
}

function openEndpointReads(router: Router, { endpoints }: WebhookRoutes): void {
  router.get(
    ENDPOINTS,
    {
      ...route,
      summary: "List webhook endpoints",
      replies: {
        200: { description: "Every endpoint, newest first.", schema: WebhookEndpointList },
      },
      refusals: [],
    },
    async ({ caller: { account_id } }) => {
      const found = account_id === null ? [] : await endpoints.list(account_id);
      return [200, { data: found.map((row) => endpoints.show(row)) }];
    },
  );
  router.get(
    ENDPOINT,
    {
      ...route,
      summary: "Read a webhook endpoint",
      params: IdParams,
      replies: shown,
      refusals: ["webhook_not_found"],
    },
    async ({ params, caller: { account_id } }) => [
      200,
      endpoints.show(await endpoints.require(params.id, account_id)),
    ],
  );
}

function openChanges(router: Router, { endpoints }: WebhookRoutes): void {
  router.patch(
    ENDPOINT,
    {
      ...changing,
      summary: "Change a webhook endpoint",
      description:
        "Disabling cancels pending deliveries, which can be recovered later. Newly selected " +
        "types apply to events from the change on.",
      params: IdParams,
      body: WebhookPatch,
      replies: shown,
      refusals: ["url_refused", "webhook_not_found"],
    },
    async ({ params, body, caller: { account_id } }) => [
      200,
      endpoints.show(await endpoints.change(params.id, account_id, body)),
    ],
  );
  router.delete(
    ENDPOINT,
    {
      ...route,
      summary: "Delete a webhook endpoint",
      description: "Deletes its secret and its deliveries, too; pending ones are not sent.",
      params: IdParams,
      replies: { 204: { description: "Deleted." } },
      refusals: ["webhook_not_found"],
    },
    async ({ params, caller: { account_id } }) => {
      await endpoints.remove(params.id, account_id);
      return [204, null];
    },
  );
}

function openRotation(router: Router, { endpoints }: WebhookRoutes): void {
  router.post(
    `${ENDPOINT}/rotate-secret`,
    {
      ...changing,
      summary: "Rotate a webhook endpoint's secret",
      description:
        "During the overlap every event carries two signatures, one of each secret, so that the " +
        "receiver can switch at any time.",
      params: IdParams,
      body: RotateSecret,
      replies: { 200: { description: "With its new secret.", schema: WebhookEndpointSecret } },
      refusals: ["webhook_not_found", "webhooks_unavailable"],
    },
    async ({ params, body, caller: { account_id } }) => {
      const rotated = await endpoints.rotate(params.id, account_id, readOverlap(body));
      return [200, showWithSecret(endpoints, rotated)];
    },
  );
}

/** agents.events.webhook.1 */
function openTest(router: Router, { endpoints, deliveries, disk }: WebhookRoutes): void {
  router.post(
    `${ENDPOINT}/test`,
    {
      ...changing,
      summary: "Test a webhook endpoint",
      description: "Sends a `webhook.test` event once, whatever types are selected.",
      params: IdParams,
      replies: queued,
      refusals: [
        "webhook_not_found",
        "endpoint_disabled",
        "deliveries_limit",
        "storage_limit_reached",
      ],
    },
    async ({ params, caller: { account_id } }) => {
      const own = await endpoints.require(params.id, account_id);
      disk.require();
      return [202, show(Delivery, await deliveries.test(own))];
    },
  );
}

function openDeliveryReads(router: Router, { endpoints, deliveries }: WebhookRoutes): void {
  router.get(
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
      return [200, await deliveries.list(id, query)];
    },
  );
  router.get(
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
      return [200, await deliveries.get(id, params.delivery_id)];
    },
  );
}

/** agents.events.webhook.3 */
function openReplay(router: Router, { endpoints, deliveries }: WebhookRoutes): void {
  router.post(
    `${DELIVERY}/replay`,
    {
      ...changing,
      summary: "Send a delivery again",
      description:
        "Sends the same event with the same `webhook-id`, and retries it like a new delivery. A " +
        "pending one becomes due at once.",
      params: DeliveryParams,
      replies: queued,
      refusals: [
        "webhook_not_found",
        "delivery_not_found",
        "endpoint_disabled",
        "event_expired",
        "deliveries_limit",
      ],
    },
    async ({ params, caller: { account_id } }) => {
      const own = await endpoints.require(params.id, account_id);
      return [202, show(Delivery, await deliveries.replay(own, params.delivery_id))];
    },
  );
}

function openRecovery(router: Router, { endpoints, deliveries, clock }: WebhookRoutes): void {
  router.post(
    DELIVERIES,
    {
      ...changing,
      summary: "Send lost deliveries again",
      description:
        "Sends failed and cancelled deliveries again, the oldest first, up to the limit of " +
        "pending ones; repeat the call for the rest. Tests are left out.",
      params: IdParams,
      body: RecoverDeliveries,
      replies: { 202: { description: "They are due at once.", schema: RecoveredDeliveries } },
      refusals: ["invalid_request", "webhook_not_found", "endpoint_disabled", "deliveries_limit"],
    },
    async ({ params, body, caller: { account_id } }) => {
      const own = await endpoints.require(params.id, account_id);
      const range = readTimeRange(body, clock.now());
      return [202, { queued: await deliveries.recover(own, range) }];
    },
  );
}

function showWithSecret(endpoints: Endpoints, { row, secret }: EndpointWithSecret) {
  return { ...endpoints.show(row), secret };
}
