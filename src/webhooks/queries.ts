// Endpoints and deliveries of every account, for operators.
import { Deliveries } from "./deliveries.ts";
import type { DeliveryRow } from "./delivery.ts";
import type { WebhookDeps } from "./deps.ts";
import { showEndpoint } from "./endpoints.ts";
import { webhookStore } from "./store/index.ts";

export function createWebhookQueries(
  deps: Pick<WebhookDeps, "database" | "clock" | "ids" | "settings">,
) {
  const store = deps.database.bind(webhookStore);
  const deliveries = new Deliveries(deps);
  return {
    list: store.list,
    find: store.find,
    show: showEndpoint,
    listDeliveries: store.listDeliveries,
    findDelivery: store.findDelivery,
    replay: ({ id, webhook_id, account_id }: DeliveryRow) =>
      deliveries.replay({ id: webhook_id, account_id }, id),
    recover: deliveries.recover.bind(deliveries),
  };
}
