// Opens the webhook house on the agent service's door: endpoints, deliveries, and what sweeps.
import type { Door } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import type { Around } from "./around.ts";
import { createDeliveries } from "./deliveries.ts";
import { openDeliveryRoutes } from "./delivery-routes.ts";
import { createEndpoints } from "./endpoints.ts";
import { createRetention } from "./retention.ts";
import { openEndpointRoutes } from "./routes.ts";

export interface Webhooks {
  /** In the order of their start. */
  services: readonly Service[];
}

/** agents.endpoints.webhooks.p1 */
export function openWebhooks(door: Door, around: Around): Webhooks {
  const endpoints = createEndpoints(around);
  openEndpointRoutes(door, endpoints);
  openDeliveryRoutes(door, {
    endpoints,
    deliveries: createDeliveries(around),
    clock: around.clock,
  });
  return { services: [createRetention(around)] };
}
