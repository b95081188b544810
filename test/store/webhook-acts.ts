// Acts shared by the cases of the store of webhooks.
import type { OutboxEvent } from "../../src/outbox/store.ts";
import type { EndpointRow } from "../../src/webhooks/endpoint.ts";
import { BEGIN } from "../support/runs.ts";
import { MANY, makeEndpoint, makeFan, makeHappened, sealOf } from "../support/webhooks.ts";
import type { Stores } from "./cases.ts";

export const addEndpoint = (
  { webhooks }: Stores,
  id: string,
  fields: Partial<EndpointRow> = {},
  options: Partial<Parameters<Stores["webhooks"]["create"]>[2]> = {},
) => {
  const row = makeEndpoint(id, fields);
  return webhooks.create(row, sealOf(row), { ...makeFan(9), endpointsMax: MANY, ...options });
};

/** Endpoints w-1 and w-2 of one account, the second for more kinds of events, and w-3 of another. */
export const fill = async (stores: Stores) => {
  await stores.secrets.claim("k-1");
  await addEndpoint(stores, "w-1");
  await addEndpoint(stores, "w-2", { events: ["run.completed", "run.failed"] });
  await addEndpoint(stores, "w-3", { account_id: "a-2" });
};

export const recordEvent = ({ sent }: Stores, id: string, fields: Partial<OutboxEvent> = {}) =>
  sent.tell(makeHappened(id, fields));

/** Writes events e-1 to e-`count`, each a millisecond later, and fans them out. */
export const deliver = async (stores: Stores, count: number, fan = {}, account_id = "a-1") => {
  for (let n = 1; n <= count; n++) {
    await recordEvent(stores, `e-${n}${account_id === "a-1" ? "" : account_id}`, {
      account_id,
      at: n,
    });
  }
  await stores.webhooks.fanOut(account_id, makeFan(account_id === "a-1" ? 1 : 2, fan));
};

export const own = (id: string, account_id = "a-1") => ({ id, account_id });

/** Describes each delivery by event, endpoint and status. */
export const showDeliveries = async ({ sent }: Stores) =>
  (await sent.deliveries()).map(
    ({ event_id, webhook_id, status }) => `${event_id} to ${webhook_id}: ${status}`,
  );

/** The endpoint's deliveries in the order of their events, with all their columns. */
export const deliveriesOf = async ({ sent }: Stores, webhook_id: string) =>
  (await sent.deliveries()).filter((one) => one.webhook_id === webhook_id);

/** Endpoints whose counter differs from their deliveries. */
export const miscounted = async ({ sent }: Stores) =>
  (await sent.count()).filter((one) => one.counted !== one.pending_deliveries);

export const FANNED = BEGIN + 100;
export const LATER = BEGIN + 500;

/** Adds one endpoint with five deliveries, of e-1 to e-5. */
export const fillOne = async (stores: Stores) => {
  await stores.secrets.claim("k-1");
  await addEndpoint(stores, "w-1");
  await deliver(stores, 5);
};

/** Settles the endpoint's delivery at `index`; returns its id. */
export const settle = async (stores: Stores, index: number, status: "delivered" | "failed") => {
  const { id } = (await deliveriesOf(stores, "w-1"))[index]!;
  await stores.sent.settle(id, status, FANNED + 1);
  return id;
};

export const disable = ({ webhooks }: Stores) =>
  webhooks.update(own("w-1"), { status: "disabled" }, makeFan(7));
export const enable = ({ webhooks }: Stores) =>
  webhooks.update(own("w-1"), { status: "enabled" }, makeFan(8));
