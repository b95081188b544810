// Webhook endpoints and their deliveries in the database: each write one transaction.
import { store } from "../../database/index.ts";
import { findEvent } from "../../outbox/store.ts";
import { claim, findSending, findWaiting, listHeld, listWaiting, pull, release } from "./claim.ts";
import {
  countDeliveries,
  countLost,
  findDelivery,
  listAttempts,
  listDeliveries,
  recoverDeliveries,
  replayDelivery,
  sweepGone,
  sweepOld,
  testEndpoint,
} from "./deliveries.ts";
import {
  countWaiting,
  createEndpoint,
  disableEndpoint,
  findEndpoint,
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
    countWaiting,
    countDeliveries,
    countLost,
    find: findEndpoint,
    list: listEndpoints,
    findDelivery,
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
