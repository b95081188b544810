// The routes of endpoints: made, listed, read, changed, deleted, and given another secret.
import { Type } from "@sinclair/typebox";
import { type Door, IdParams } from "../http/index.ts";
import { refuse } from "../platform/refusal.ts";
import { Resource } from "../platform/shape.ts";
import { RotateSecret, readOverlap } from "../platform/signing/rotation.ts";
import type { DiskSpace } from "../platform/storage/disk-space.ts";
import { NewWebhook, WebhookPatch } from "./body.ts";
import { WebhookEndpoint } from "./endpoint.ts";
import type { Endpoints, WithSecret } from "./endpoints.ts";

const PATH = "/v1/webhooks";
const ONE = `${PATH}/:id` as const;
/** agents.authentication.3: a key without the scope is always refused here. */
const route = { scope: "agents", is_scope_certain: true } as const;
/** agents.errors.not_enabled: what creates or changes needs webhooks to be on. */
const changing = { ...route, feature: "webhooks" } as const;
const shown = { 200: { description: "Without its secret.", schema: WebhookEndpoint } };

const WebhookEndpointList = Resource(
  "WebhookEndpointList",
  { data: Type.Array(WebhookEndpoint, { description: "Newest first." }) },
  "The webhook endpoints of the account.",
);

/** agents.resources.webhook_endpoint */
const WebhookEndpointSecret = Resource(
  "WebhookEndpointSecret",
  {
    ...WebhookEndpoint.properties,
    secret: Type.String({
      description: "`whsec_` and base64: what every event is signed with. It is shown only here.",
    }),
  },
  "An endpoint with the secret that was just made.",
);

/** agents.endpoints.webhooks.p1 */
export function openEndpointRoutes(
  door: Door,
  endpoints: Endpoints,
  disk: Pick<DiskSpace, "require">,
): void {
  openCreation(door, endpoints, disk);
  openReads(door, endpoints);
  openChanges(door, endpoints);
  openRotation(door, endpoints);
}

/** agents.does.webhook */
function openCreation(door: Door, endpoints: Endpoints, disk: Pick<DiskSpace, "require">): void {
  door.post(
    PATH,
    {
      ...changing,
      summary: "Create a webhook endpoint",
      description:
        "It is sent the events that you select, by POST and signed as Standard Webhooks has it, " +
        "from then on. Only a 2xx within 15 seconds takes an event; else it is tried again, ten " +
        "times in some three days. Its secret is shown in this answer only.",
      body: NewWebhook,
      replies: { 201: { description: "With its secret.", schema: WebhookEndpointSecret } },
      refusals: ["url_refused", "endpoints_limit", "webhooks_unavailable"],
    },
    async ({ body, caller: { account_id } }) => {
      // agents.errors.permission_denied: nobody would own the endpoint.
      if (account_id === null) throw refuse("permission_denied");
      disk.require();
      return [201, showWithSecret(endpoints, await endpoints.create(account_id, body))];
    },
  );
}

function openReads(door: Door, endpoints: Endpoints): void {
  door.get(
    PATH,
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
      return [200, { data: found.map(endpoints.show) }];
    },
  );
  door.get(
    ONE,
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

function openChanges(door: Door, endpoints: Endpoints): void {
  door.patch(
    ONE,
    {
      ...changing,
      summary: "Change a webhook endpoint",
      description:
        "Disabling it cancels what waits for it; enabled again it is sent what happens from then " +
        "on, and what was cancelled can be recovered. Other kinds of events are sent of what " +
        "happens from the change on.",
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
  door.delete(
    ONE,
    {
      ...route,
      summary: "Delete a webhook endpoint",
      description: "Its secret and its deliveries go with it; what waits is not sent.",
      params: IdParams,
      replies: { 204: { description: "It is gone." } },
      refusals: ["webhook_not_found"],
    },
    async ({ params, caller: { account_id } }) => {
      await endpoints.remove(params.id, account_id);
      return [204, null];
    },
  );
}

function openRotation(door: Door, endpoints: Endpoints): void {
  door.post(
    `${ONE}/rotate-secret`,
    {
      ...changing,
      summary: "Rotate a webhook endpoint's secret",
      description:
        "For a while every event carries two signatures, one of each secret, so that a receiver " +
        "can change over at any moment of it.",
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

function showWithSecret(endpoints: Endpoints, { row, secret }: WithSecret) {
  return { ...endpoints.show(row), secret };
}
