// Webhook endpoints and their deliveries in the database: each write one transaction.
import { sql, store } from "../../platform/database/index.ts";
import { findEvent } from "../../platform/outbox/store.ts";
import type { SealedSecret } from "../../platform/secrets/store.ts";
import { DeliveryRow } from "../delivery.ts";
import { EndpointRow, type OwnEndpoint } from "../endpoint.ts";
import {
  claim,
  type FarLane,
  findSending,
  type Held,
  listHeld,
  listWaiting,
  pull,
  release,
  type Turn,
} from "./claim.ts";
import {
  type Asking,
  type DeliveryFilter,
  listAttempts,
  listDeliveries,
  recoverDeliveries,
  replayDelivery,
  type Span,
  type TestAsking,
  testEndpoint,
} from "./deliveries.ts";
import {
  createEndpoint,
  disableEndpoint,
  type EndpointChange,
  listEndpoints,
  type Rotation,
  removeEndpoint,
  rotateEndpoint,
  updateEndpoint,
} from "./endpoints.ts";
import { type FanOut, fanOutAccount } from "./fan-out.ts";
import { sweepGone, sweepOld } from "./retention.ts";
import { type Hopeless, type Settlement, settle } from "./settle.ts";

export const webhookStore = store(
  "webhooks",
  {
    /** Of whichever account; undefined: there is none of this id. */
    find: (db, id: string) =>
      db.one(EndpointRow, sql`SELECT * FROM webhook_endpoints WHERE id = ${id}`),
    list: (db, account_id: string | null) => listEndpoints(db, account_id),
    findDelivery: (db, id: string) =>
      db.one(DeliveryRow, sql`SELECT * FROM deliveries WHERE id = ${id}`),
    listDeliveries: (db, filter: DeliveryFilter) => listDeliveries(db, filter),
    listAttempts: (db, delivery_id: string) => listAttempts(db, delivery_id),
    /** undefined: it is no longer kept. */
    findEvent: (db, id: string) => findEvent(db, id),
    listHeld: (db) => listHeld(db),
    listWaiting: (db, after: string, limit: number) => listWaiting(db, after, limit),
    findSending: (db, id: string) => findSending(db, id),
  },
  {
    create: (tx, row: EndpointRow, secret: SealedSecret, fan: FanOut & { endpoints_max: number }) =>
      createEndpoint(tx, row, secret, fan),
    update: (tx, own: OwnEndpoint, change: EndpointChange, fan: FanOut) =>
      updateEndpoint(tx, own, change, fan),
    rotate: (tx, own: OwnEndpoint, rotation: Rotation) => rotateEndpoint(tx, own, rotation),
    disable: (tx, hopeless: Hopeless, fan: FanOut) => disableEndpoint(tx, hopeless, fan),
    remove: (tx, id: string, account_id: string) => removeEndpoint(tx, id, account_id),
    /** Events of an account that wait, to its endpoints; false: more may wait. */
    fanOut: (tx, account_id: string, fan: FanOut) => fanOutAccount(tx, account_id, fan),
    claim: (tx, epoch: number, turns: readonly Turn[], now: number) => claim(tx, epoch, turns, now),
    release: (tx, held: readonly Held[]) => release(tx, held),
    settle: (tx, all: readonly Settlement[], now: number) => settle(tx, all, now),
    pull: (tx, lanes: readonly FarLane[], now: number) => pull(tx, lanes, now),
    test: (tx, asking: TestAsking, fresh: { event_id: string; delivery_id: string }) =>
      testEndpoint(tx, asking, fresh),
    replay: (tx, id: string, asking: Asking) => replayDelivery(tx, id, asking),
    recover: (tx, asking: Asking, span: Span, limit: number) =>
      recoverDeliveries(tx, asking, span, limit),
    sweep: (tx, until: number, limit: number) => sweepOld(tx, until, limit),
    sweepGone: (tx, limit: number) => sweepGone(tx, limit),
  },
);
