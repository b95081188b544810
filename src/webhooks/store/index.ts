// Webhook endpoints and their deliveries in the database: each write one transaction.
import { sql, store } from "../../platform/database/index.ts";
import { DeliveryRow } from "../delivery.ts";
import { EndpointRow } from "../endpoint.ts";
import { type FanOut, fanOutAccount } from "./fan-out.ts";

export const webhookStore = store(
  "webhooks",
  {
    /** Of whichever account; undefined: there is none of this id. */
    find: (db, id: string) =>
      db.one(EndpointRow, sql`SELECT * FROM webhook_endpoints WHERE id = ${id}`),
    findDelivery: (db, id: string) =>
      db.one(DeliveryRow, sql`SELECT * FROM deliveries WHERE id = ${id}`),
  },
  {
    /** Events of an account that wait, to its endpoints; the caller goes on until it is done. */
    fanOut: (tx, account_id: string, given: FanOut) => fanOutAccount(tx, account_id, given),
  },
);
