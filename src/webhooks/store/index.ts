// Webhook endpoints and their deliveries in the database: each write one transaction.
import { type Db, sql, store } from "../../database/index.ts";
import { findEvent } from "../../outbox/store.ts";
import { DeliveryRow } from "../delivery.ts";
import { EndpointRow } from "../endpoint.ts";
import { claim, findSending, findWaiting, listHeld, listWaiting, pull, release } from "./claim.ts";
import {
  listAttempts,
  listDeliveries,
  recoverDeliveries,
  replayDelivery,
  sweepGone,
  sweepOld,
  testEndpoint,
} from "./deliveries.ts";
import {
  createEndpoint,
  disableEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateEndpoint,
  updateEndpoint,
} from "./endpoints.ts";
import { fanOutAccount } from "./fan-out.ts";
import { settle } from "./results.ts";

export const webhookStore = store(
  "webhooks",
  {
    find: (db: Db, id: string) =>
      db.one(EndpointRow, sql`SELECT * FROM webhook_endpoints WHERE id = ${id}`),
    list: listEndpoints,
    findDelivery: (db: Db, id: string) =>
      db.one(DeliveryRow, sql`SELECT * FROM deliveries WHERE id = ${id}`),
    listDeliveries,
    listAttempts,
    findEvent,
    listHeld,
    listWaiting,
    findWaiting,
    findSending,
  },
  {
    create: createEndpoint,
    update: updateEndpoint,
    rotate: rotateEndpoint,
    disable: disableEndpoint,
    remove: removeEndpoint,
    fanOut: fanOutAccount,
    claim,
    release,
    settle,
    pull,
    test: testEndpoint,
    replay: replayDelivery,
    recover: recoverDeliveries,
    sweep: sweepOld,
    sweepGone,
  },
);
