// Endpoints and deliveries as the operator finds them and has them sent again, of whichever
// account.
import { refuse } from "../platform/refusal.ts";
import type { Around } from "./around.ts";
import { createDeliveries } from "./deliveries.ts";
import type { DeliveryRow } from "./delivery.ts";
import { showEndpoint } from "./endpoints.ts";
import type { DeliveryFilter, Span } from "./store/deliveries.ts";
import { webhookStore } from "./store/index.ts";

/** null: in whatever status. */
export type DeliveryBookFilter = Pick<DeliveryFilter, "webhook_id" | "status" | "limit">;

export function createWebhookBook(around: Pick<Around, "database" | "clock" | "ids" | "settings">) {
  const store = around.database.bind(webhookStore);
  const deliveries = createDeliveries(around);

  const require = async (id: string) => {
    const found = await store.find(id);
    if (!found) throw refuse("webhook_not_found");
    return found;
  };
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
    async replay(id: string): Promise<DeliveryRow> {
      const found = await store.findDelivery(id);
      if (!found) throw refuse("delivery_not_found");
      return deliveries.replay({ id: found.webhook_id, account_id: found.account_id }, id);
    },
    /** How many are sent again, of those that failed or were cancelled within. */
    async recover(id: string, span: Span): Promise<number> {
      return deliveries.recover(await require(id), span);
    },
  };
}
export type WebhookBook = ReturnType<typeof createWebhookBook>;
