// Acts shared by the cases of sending: claims and results of deliveries.
import type { QueueNumber } from "../../src/webhooks/delivery.ts";
import type { ClaimedDelivery } from "../../src/webhooks/store/claim.ts";
import type { AttemptResult, NewAttempt } from "../../src/webhooks/store/results.ts";
import { BEGIN } from "../support/runs.ts";
import { makeEndpoint } from "../support/webhooks.ts";
import type { Stores } from "./cases.ts";
import { deliveriesOf, LATER } from "./webhook-acts.ts";

export const turn = (count: number, webhookId = "w-1", queue: QueueNumber = 0) => ({
  ...{ webhookId, queue, count },
});
/** Registers process 1, which claims `count` deliveries. */
export const take = async (
  { processes, webhooks }: Stores,
  count = 9,
  at = LATER + 9,
): Promise<ClaimedDelivery[]> => {
  if ((await processes.list()).length === 0) await processes.register(BEGIN);
  const [taken] = await webhooks.claim(1, [turn(count)], at);
  return taken?.rows ?? [];
};
export const makeAttempt = (fields: Partial<NewAttempt> = {}): NewAttempt => ({
  ...{ kind: "scheduled", started_at: LATER, duration_ms: 7, response_status: 500 },
  ...{ response_body: "no", error: "The endpoint answered 500." },
  ...{ url: "https://w-1.example.com/hooks", signatures: 1 },
  ...fields,
});
export const TAKEN = makeAttempt({ response_status: 204, response_body: null, error: null });
export type ResultKind = AttemptResult["kind"];
/** The result of a claimed delivery. */
export const came = (
  claimed: Pick<ClaimedDelivery, "id" | "webhook_id" | "epoch">,
  kind: ResultKind,
  fields: object = {},
): AttemptResult => {
  const isTried = !["expired", "released"].includes(kind);
  const isPutOff = ["retry", "gone"].includes(kind);
  const { url, updated_at: updatedAt } = makeEndpoint(claimed.webhook_id);
  return {
    ...{ deliveryId: claimed.id, webhookId: claimed.webhook_id, epoch: claimed.epoch, kind },
    ...(isTried && { attempt: kind === "delivered" ? TAKEN : makeAttempt(), url, updatedAt }),
    ...(isPutOff && { nextAttemptAt: LATER + 5_000 }),
    ...fields,
  } as AttemptResult;
};
export const settleNext = async (stores: Stores, kind: ResultKind, fields: object = {}) => {
  const [claimed] = await take(stores, 1);
  return stores.webhooks.settle([came(claimed!, kind, fields)], LATER + 7);
};
export const first = async (stores: Stores) => (await deliveriesOf(stores, "w-1"))[0]!;
