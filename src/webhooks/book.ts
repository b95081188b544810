// Endpoints and deliveries as the operator finds them and has them sent again, of whichever
// account.
import type { Around } from "./around.ts";
import { createDeliveries } from "./deliveries.ts";
import type { DeliveryRow } from "./delivery.ts";
import { showEndpoint } from "./endpoints.ts";
import type { DeliveryFilter } from "./store/deliveries.ts";
import { webhookStore } from "./store/index.ts";

/** null: in whatever status. */
export type DeliveryBookFilter = Pick<DeliveryFilter, "webhook_id" | "status" | "limit">;

export function createWebhookBook(around: Pick<Around, "database" | "clock" | "ids" | "settings">) {
  const store = around.database.bind(webhookStore);
  const deliveries = createDeliveries(around);
  return {
    /** Newest first; of one account, or of all where it is null. */
    list: store.list,
    /** undefined: there is none of this id. */
    find: store.find,
    /** As their owners see them now. */
    show: showEndpoint,
    /** Newest first. */
    listDeliveries: (filter: DeliveryBookFilter): Promise<DeliveryRow[]> =>
      store.listDeliveries({ ...filter, type: null, before: null }),
    findDelivery: store.findDelivery,
    /** As for its owner; what its state does not allow is refused. */
    replay: ({ id, webhook_id, account_id }: DeliveryRow): Promise<DeliveryRow> =>
      deliveries.replay({ id: webhook_id, account_id }, id),
    /** Of an endpoint, how many are sent again that failed or were cancelled within. */
    recover: deliveries.recover,
  };
}
export type WebhookBook = ReturnType<typeof createWebhookBook>;
