// Opens the webhook house on the agent service's door: endpoints and deliveries.
import type { Door } from "../http/index.ts";
import type { Service } from "../platform/service.ts";
import type { Around } from "./around.ts";
import { createDeliveries } from "./deliveries.ts";
import { openDeliveryRoutes } from "./delivery-routes.ts";
import { createDispatcher, type Dispatcher } from "./dispatcher.ts";
import { createEndpoints } from "./endpoints.ts";
import { openEndpointRoutes } from "./routes.ts";
import { webhookStore } from "./store/index.ts";

export interface Webhooks {
  /** In the order of their start. */
  services: readonly Service[];
  /** Other settings hold from now on. */
  change: Dispatcher["change"];
  look: Dispatcher["look"];
}

/** agents.endpoints.webhooks.p1 */
export function openWebhooks(door: Door, around: Around): Webhooks {
  const endpoints = createEndpoints(around);
  openEndpointRoutes(door, endpoints, around.disk);
  openDeliveryRoutes(door, {
    endpoints,
    deliveries: createDeliveries(around),
    clock: around.clock,
    disk: around.disk,
  });
  const dispatcher = createDispatcher({ around, store: around.database.bind(webhookStore) });
  const { change, look } = dispatcher;
  return { services: [dispatcher], change, look };
}
