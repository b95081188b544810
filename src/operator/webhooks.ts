// Webhook endpoints and deliveries of whichever account, as the operator sees and sends them again.
import type { Access, Account } from "../access/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Delivery, DeliveryStatus, WebhookBook } from "../webhooks/index.ts";
import { nameAccounts } from "./accounts.ts";
import { readId } from "./ids.ts";
import { explainRefusal, OperatorProblem } from "./problem.ts";

/** null: whatever. */
export interface DeliveriesWish {
  status: DeliveryStatus | null;
  limit: number;
}

/** Of deliveries that were made from then on; `until` null: up to now. */
export interface RecoverWish {
  since: number;
  until: number | null;
}

export interface WebhookVerbsOptions {
  access: Pick<Access, "accounts">;
  webhooks: WebhookBook;
  clock: Clock;
  requireAccount(name: string): Promise<Account>;
}

const VERB = "wadi webhooks list";
const DELIVERIES_VERB = "wadi webhooks deliveries ID";

export function createWebhookVerbs(options: WebhookVerbsOptions) {
  const { access, webhooks, clock, requireAccount } = options;
  const require = async (typed: string) => {
    const id = readId(typed, "endpoint's id", VERB);
    const found = await webhooks.find(id);
    if (found) return found;
    throw new OperatorProblem(`there is no endpoint "${id}": see \`${VERB}\``);
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
    async listDeliveries(typed: string, { status, limit }: DeliveriesWish): Promise<Delivery[]> {
      const { id: webhook_id } = await require(typed);
      return webhooks.listDeliveries({ webhook_id, status, limit });
    },
    /** It is due at once, with the same `webhook-id`; what its state does not allow is refused. */
    async replay(typed: string): Promise<Delivery> {
      const id = readId(typed, "delivery's id", DELIVERIES_VERB);
      const found = await webhooks.findDelivery(id);
      if (found) return explainRefusal(() => webhooks.replay(found));
      throw new OperatorProblem(`there is no delivery "${id}": see \`${DELIVERIES_VERB}\``);
    },
    /** What failed or was cancelled is due again: how many deliveries. */
    async recover(typed: string, { since, until }: RecoverWish): Promise<number> {
      const found = await require(typed);
      const span = { since, until: until ?? Math.max(since, clock.now()) };
      if (span.since > span.until) throw new OperatorProblem("the span ends before it begins");
      return explainRefusal(() => webhooks.recover(found, span));
    },
  };
}
