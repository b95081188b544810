// What the cases of sending do again and again: deliveries are taken, and come to something.
import type { Claimed, LaneNumber } from "../../src/webhooks/store/claim.ts";
import type { Attempt, Settlement } from "../../src/webhooks/store/settle.ts";
import { BEGIN } from "../support/runs.ts";
import { makeEndpoint } from "../support/webhooks.ts";
import type { Houses } from "./cases.ts";
import { deliveriesOf, LATER } from "./webhook-acts.ts";

export const turn = (count: number, webhook_id = "w-1", lane: LaneNumber = 0) => ({
  ...{ webhook_id, lane, count },
});
/** The process 1 takes so many; it is entered first. */
export const take = async (
  { processes, webhooks }: Houses,
  count = 9,
  at = LATER + 9,
): Promise<Claimed[]> => {
  if ((await processes.list()).length === 0) await processes.register(BEGIN);
  const [taken] = await webhooks.claim(1, [turn(count)], at);
  return taken?.rows ?? [];
};
export const makeAttempt = (fields: Partial<Attempt> = {}): Attempt => ({
  ...{ kind: "scheduled", started_at: LATER, duration_ms: 7, response_status: 500 },
  ...{ response_body: "no", error: "The endpoint answered 500." },
  ...fields,
});
export const TAKEN = makeAttempt({ response_status: 204, response_body: null, error: null });
export type CameTo = Settlement["came_to"];
/** What a claimed delivery came to, with what belongs to that. */
export const came = (
  claimed: Pick<Claimed, "id" | "webhook_id" | "epoch">,
  came_to: CameTo,
  fields: object = {},
): Settlement => {
  const isTried = !["expired", "released"].includes(came_to);
  const isPutOff = ["retry", "gone"].includes(came_to);
  const { url, updated_at } = makeEndpoint(claimed.webhook_id);
  return {
    ...{ delivery_id: claimed.id, webhook_id: claimed.webhook_id, epoch: claimed.epoch, came_to },
    ...(isTried && { attempt: came_to === "delivered" ? TAKEN : makeAttempt(), url, updated_at }),
    ...(isPutOff && { next_attempt_at: LATER + 5_000 }),
    ...fields,
  } as Settlement;
};
export const settleNext = async (houses: Houses, came_to: CameTo, fields: object = {}) => {
  const [claimed] = await take(houses, 1);
  return houses.webhooks.settle([came(claimed!, came_to, fields)], LATER + 7);
};
export const first = async (houses: Houses) => (await deliveriesOf(houses, "w-1"))[0]!;
