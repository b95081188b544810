// Webhook endpoints and their deliveries in the database: each write one transaction.
import { sql, store } from "../../platform/database/index.ts";
import { DeliveryRow } from "../delivery.ts";
import { EndpointRow } from "../endpoint.ts";

export const webhookStore = store(
  "webhooks",
  {
    /** Of whichever account; undefined: there is none of this id. */
    find: (db, id: string) =>
      db.one(EndpointRow, sql`SELECT * FROM webhook_endpoints WHERE id = ${id}`),
    findDelivery: (db, id: string) =>
      db.one(DeliveryRow, sql`SELECT * FROM deliveries WHERE id = ${id}`),
  },
  {},
);
