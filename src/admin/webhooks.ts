// Webhook endpoints of every account: list, deliveries, replay, recover.
import type { Access, Account } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Delivery, DeliveryStatus, WebhookQueries } from "../webhooks/index.ts";
import { nameAccounts } from "./accounts.ts";
import { AdminError, explainRefusal, readId } from "./errors.ts";

export interface DeliveryListOptions {
  status: DeliveryStatus | null;
  limit: number;
}

/** Range of creation times; null ends it now. */
export interface RecoveryRange {
  since: number;
  until: number | null;
}

export interface WebhookAdminOptions {
  access: Pick<Access, "accounts">;
  webhooks: WebhookQueries;
  clock: Clock;
  requireAccount(name: string): Promise<Account>;
}

const VERB = "wadi webhooks list";
const DELIVERIES_VERB = "wadi webhooks deliveries ID";

export function createWebhookAdmin(options: WebhookAdminOptions) {
  const { access, webhooks, clock, requireAccount } = options;
  const require = async (typed: string) => {
    const id = readId(typed, "endpoint's id", VERB);
    const found = await webhooks.find(id);
    if (found) return found;
    throw new AdminError(`there is no endpoint "${id}": see \`${VERB}\``);
  };
  return {
    /** As their owners see them, newest first; of one account, or of all. */
    async list(account: string | null) {
      const owner = account === null ? null : await requireAccount(account);
      const names = await nameAccounts(access);
      const found = await webhooks.list(owner?.id ?? null);
      const now = clock.now();
      return found.map((one) => {
        return { account: names.get(one.account_id)!, ...webhooks.show(one, now) };
      });
    },
    /** Newest first. */
    async listDeliveries(
      typed: string,
      { status, limit }: DeliveryListOptions,
    ): Promise<Delivery[]> {
      const { id: webhookId } = await require(typed);
      return webhooks.listDeliveries({ webhookId, status: status ?? undefined, limit });
    },
    /** It is due at once, with the same `webhook-id`; what its state does not allow is refused. */
    async replay(typed: string): Promise<Delivery> {
      const id = readId(typed, "delivery's id", DELIVERIES_VERB);
      const found = await webhooks.findDelivery(id);
      if (found) return explainRefusal(() => webhooks.replay(found));
      throw new AdminError(`there is no delivery "${id}": see \`${DELIVERIES_VERB}\``);
    },
    /** What failed or was cancelled is due again: how many deliveries. */
    async recover(typed: string, { since, until }: RecoveryRange): Promise<number> {
      const found = await require(typed);
      const span = { since, until: until ?? Math.max(since, clock.now()) };
      if (span.since > span.until) throw new AdminError("the span ends before it begins");
      return explainRefusal(() => webhooks.recover(found, span));
    },
  };
}
