// Webhook endpoints of every account: list, deliveries, replay, recover.
import { createWebhookQueries, type Delivery, type DeliveryStatus } from "../webhooks/index.ts";
import type { AccountDirectory } from "./accounts.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, explainApiError, requireById } from "./errors.ts";

export interface DeliveryListOptions {
  status: DeliveryStatus | null;
  limit: number;
}

/** Range of creation times; null ends it now. */
export interface RecoveryRange {
  since: number;
  until: number | null;
}

export function createWebhookAdmin(
  { database, clock, ids, settings }: AdminDeps,
  directory: AccountDirectory,
) {
  const webhooks = createWebhookQueries({ database, clock, ids, settings: () => settings });
  const require = (typed: string) => requireById("endpoint", typed, webhooks.find);
  return {
    async list(account: string | null) {
      const found = await directory.list(account, webhooks.list);
      const now = clock.now();
      return found.map((row) => ({ account: row.account, ...webhooks.show(row, now) }));
    },
    async listDeliveries(
      typed: string,
      { status, limit }: DeliveryListOptions,
    ): Promise<Delivery[]> {
      const { id: webhookId } = await require(typed);
      return webhooks.listDeliveries({ webhookId, status: status ?? undefined, limit });
    },
    find: webhooks.find,
    findDelivery: (id: string): Promise<Delivery | undefined> => webhooks.findDelivery(id),
    /** Makes a delivery due at once with the same `webhook-id`, where its state allows it. */
    async replay(typed: string): Promise<Delivery> {
      const found = await requireById("delivery", typed, webhooks.findDelivery);
      return explainApiError(() => webhooks.replay(found));
    },
    /** Makes failed and cancelled deliveries due again; returns their number. */
    async recover(typed: string, { since, until }: RecoveryRange): Promise<number> {
      const found = await require(typed);
      const range = { since, until: until ?? Math.max(since, clock.now()) };
      if (range.since > range.until) throw new AdminError("the span ends before it begins");
      return explainApiError(() => webhooks.recover(found, range));
    },
  };
}
