// Cases of creating, reading and sweeping deliveries in the store of webhooks.
import { expect } from "bun:test";
import { type DeliveryRow, LOST } from "../../src/webhooks/delivery.ts";
import type { DeliveryFilter } from "../../src/webhooks/store/deliveries.ts";
import { BEGIN } from "../support/runs.ts";
import { idOf, MANY, makeAttempt, makeFan } from "../support/webhooks.ts";
import type { Case, Stores } from "./cases.ts";
import { count } from "./run-acts.ts";
import {
  addEndpoint,
  deliver,
  deliveriesOf,
  disable,
  FANNED,
  fill,
  fillOne,
  LATER,
  miscounted,
  own,
  recordEvent,
  settle,
  showDeliveries,
} from "./webhook-acts.ts";

const everything = (fields: Partial<DeliveryFilter> = {}): DeliveryFilter => ({
  ...{ webhookId: "w-1", limit: MANY },
  ...fields,
});
/** Events of the endpoint's deliveries, in the order of the list. */
const listEvents = async ({ webhooks }: Stores, fields: Partial<DeliveryFilter> = {}) =>
  (await webhooks.listDeliveries(everything(fields))).map(({ event_id }) => event_id);

const fanOutCases: Case[] = [
  {
    method: "webhooks.fanOut",
    title: "fans out each event to the endpoints that selected it, once and in order",
    async setup(stores) {
      await fill(stores);
      await recordEvent(stores, "e-2", { at: BEGIN + 2 });
      await recordEvent(stores, "e-1", { at: BEGIN + 1, type: "run.failed" });
      await recordEvent(stores, "e-3", { at: BEGIN + 3, type: "approval.requested" });
      await recordEvent(stores, "e-4", { at: BEGIN + 4, account_id: "a-2" });
      // Ids follow the clock of their process, and may order events otherwise.
      await recordEvent(stores, "e-0", { at: BEGIN + 5 });
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1)),
    async check(answer, stores) {
      expect(answer).toBe(true);
      const expected = [
        ...["e-1 to w-2: pending", "e-2 to w-1: pending", "e-2 to w-2: pending"],
        ...["e-0 to w-1: pending", "e-0 to w-2: pending"],
      ];
      expect(await showDeliveries(stores)).toEqual(expected);
      expect(await stores.webhooks.fanOut("a-1", makeFan(2))).toBe(true);
      expect(await showDeliveries(stores)).toEqual(expected);
      expect((await stores.sent.waiting()).map(({ id }) => id)).toEqual(["e-4"]);
      const [first] = await stores.sent.deliveries();
      expect(first).toEqual({
        ...{ id: idOf(1), webhook_id: "w-2", event_id: "e-1", event_type: "run.failed" },
        ...{ status: "pending", attempt_count: 0, next_attempt_at: FANNED, last_error: null },
        ...{ last_response_status: null, created_at: FANNED, completed_at: null },
        ...{ account_id: "a-1", kind: "scheduled", tries: 0, lane: 0, epoch: 0 },
      });
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.fanOut",
    title: "fans out a limited batch of events, and reports when none waits",
    async setup(stores) {
      await fill(stores);
      for (const n of count(5)) await recordEvent(stores, `e-${n}`, { at: BEGIN + n });
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1, { limit: 2 })),
    async check(answer, { webhooks, sent }) {
      expect(answer).toBe(false);
      expect((await sent.waiting()).map(({ id }) => id)).toEqual(["e-3", "e-4", "e-5"]);
      const rest = [2, 3].map((n) => makeFan(n, { limit: 2 }));
      expect(await webhooks.fanOut("a-1", rest[0]!)).toBe(false);
      expect(await sent.waiting()).toHaveLength(1);
      expect(await webhooks.fanOut("a-1", rest[1]!)).toBe(true);
    },
  },
  {
    method: "webhooks.fanOut",
    title: "stores deliveries above the limit as failed, and counts only waiting ones",
    async setup(stores) {
      await fill(stores);
      for (const n of count(3)) await recordEvent(stores, `e-${n}`, { at: BEGIN + n });
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1, { waitingMax: 3 })),
    async check(_, stores) {
      const all = await stores.sent.deliveries();
      const { deliveries_limit: last_error } = LOST;
      const failed = { status: "failed", last_error, next_attempt_at: null, completed_at: FANNED };
      expect(all.slice(0, 3).map(({ status }) => status)).toEqual(count(3).map(() => "pending"));
      expect(all).toHaveLength(6);
      for (const one of all.slice(3)) expect(one).toMatchObject({ ...failed, attempt_count: 0 });
      expect(await miscounted(stores)).toEqual([]);
      // A settled delivery frees its slot.
      await stores.sent.settle(all[0]!.id, "delivered", LATER);
      await recordEvent(stores, "e-4", { at: BEGIN + 4 });
      await stores.webhooks.fanOut("a-1", makeFan(2, { waitingMax: 3, now: LATER }));
      const last = (await stores.sent.deliveries()).slice(6);
      expect(last.map(({ status }) => status)).toEqual(["pending", "failed"]);
    },
  },
  {
    method: "webhooks.fanOut",
    title: "fans out nothing to a disabled endpoint",
    async setup(stores) {
      await fill(stores);
      await disable(stores);
      await recordEvent(stores, "e-1");
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1)),
    check: async (_, stores) =>
      expect(await showDeliveries(stores)).toEqual(["e-1 to w-2: pending"]),
  },
  {
    method: "webhooks.fanOut",
    title: "makes the deliveries of an event in the order in which its endpoints were made",
    async setup(stores) {
      await stores.secrets.claim("k-1");
      for (const [at, id] of ["w-3", "w-1", "w-2"].entries()) {
        await addEndpoint(stores, id, { created_at: BEGIN + at });
      }
      await recordEvent(stores, "e-1");
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1)),
    async check(_, { sent }) {
      const made = (await sent.deliveries()).toSorted((one, other) => (one.id < other.id ? -1 : 1));
      expect(made.map(({ webhook_id }) => webhook_id)).toEqual(["w-3", "w-1", "w-2"]);
    },
  },
  {
    method: "webhooks.fanOut",
    title: "takes fewer events at once if each goes to many endpoints",
    async setup(stores) {
      await stores.secrets.claim("k-1");
      for (const n of count(100)) await addEndpoint(stores, `w-${n}`);
      for (const n of count(11)) await recordEvent(stores, `e-${n}`, { at: BEGIN + n });
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1)),
    async check(answer, stores) {
      expect(answer).toBe(false);
      expect(await stores.sent.waiting()).toHaveLength(1);
      expect(await stores.webhooks.fanOut("a-1", makeFan(2))).toBe(true);
      const all = await stores.sent.deliveries();
      expect(new Set(all.map(({ event_id, webhook_id }) => event_id + webhook_id)).size).toBe(1100);
      expect(await miscounted(stores)).toEqual([]);
    },
  },
];

const readCases: Case[] = [
  {
    method: "webhooks.findDelivery",
    title: "finds a delivery of any endpoint",
    setup: fillOne,
    act: ({ webhooks }) => webhooks.findDelivery(idOf(1)),
    async check(answer, { webhooks }) {
      expect(answer).toMatchObject({ id: idOf(1), event_id: "e-1" });
      expect(await webhooks.findDelivery(idOf(77))).toBeUndefined();
    },
  },
  {
    method: "webhooks.findEvent",
    title: "finds an event until it is deleted",
    setup: fillOne,
    act: ({ webhooks }) => webhooks.findEvent("e-1"),
    async check(answer, { webhooks, sent }) {
      expect(answer).toMatchObject({ id: "e-1", data: '{"run":{"id":"e-1"}}' });
      await sent.forget("e-1");
      expect(await webhooks.findEvent("e-1")).toBeUndefined();
    },
  },
  {
    method: "webhooks.listDeliveries",
    title: "lists pages of an endpoint's deliveries, newest first",
    async setup(stores) {
      await fillOne(stores);
      await addEndpoint(stores, "w-2", { events: ["run.failed", "run.completed"] });
      await recordEvent(stores, "e-6", { type: "run.failed", at: BEGIN + 6 });
      await recordEvent(stores, "e-7", { at: BEGIN + 7 });
      await stores.webhooks.fanOut("a-1", makeFan(3, { now: FANNED + 7 }));
    },
    act: (stores) => listEvents(stores),
    async check(answer, stores) {
      expect(answer).toEqual(["e-7", "e-5", "e-4", "e-3", "e-2", "e-1"]);
      const pages: string[][] = [];
      let before: DeliveryFilter["before"];
      for (let n = 0; n < 4; n++) {
        const rows: DeliveryRow[] = await stores.webhooks.listDeliveries(
          everything({ before, limit: 2 }),
        );
        pages.push(rows.map(({ event_id }) => event_id));
        const last = rows.at(-1);
        if (last) before = { at: last.created_at, id: last.id };
      }
      expect(pages).toEqual([["e-7", "e-5"], ["e-4", "e-3"], ["e-2", "e-1"], []]);
      expect(await listEvents(stores, { webhookId: "w-2" })).toEqual(["e-7", "e-6"]);
    },
  },
  {
    method: "webhooks.listDeliveries",
    title: "filters by status, kind or both",
    async setup(stores) {
      await fillOne(stores);
      await stores.webhooks.update(
        own("w-1"),
        { events: ["run.failed", "run.completed"] },
        makeFan(3),
      );
      await recordEvent(stores, "e-6", { type: "run.failed" });
      await recordEvent(stores, "e-7", { type: "run.failed" });
      await stores.webhooks.fanOut("a-1", makeFan(4, { now: FANNED + 1 }));
      for (const n of [1, 3, 5]) await settle(stores, n, "failed");
      await settle(stores, 0, "delivered");
    },
    act: async (stores) => [
      await listEvents(stores, { status: "failed" }),
      await listEvents(stores, { type: "run.failed" }),
      await listEvents(stores, { status: "failed", type: "run.completed" }),
      await listEvents(stores, { status: "delivered" }),
      await listEvents(stores, { status: "cancelled" }),
      await listEvents(stores, { limit: 3 }),
    ],
    check(answer) {
      expect(answer).toEqual([
        ...[
          ["e-6", "e-4", "e-2"],
          ["e-7", "e-6"],
          ["e-4", "e-2"],
        ],
        ...[["e-1"], [], ["e-7", "e-6", "e-5"]],
      ]);
    },
  },
  {
    method: "webhooks.countDeliveries",
    title: "counts those of a status since a moment",
    async setup(stores) {
      await fillOne(stores);
      for (const n of [1, 3]) await settle(stores, n, "failed");
    },
    act: async ({ webhooks }) => [
      await webhooks.countDeliveries("w-1", "failed", FANNED),
      await webhooks.countDeliveries("w-1", "pending", FANNED),
      await webhooks.countDeliveries("w-1", "failed", FANNED + 1),
      await webhooks.countDeliveries("w-2", "failed", FANNED),
    ],
    check: (answer) => expect(answer).toEqual([2, 3, 0, 0]),
  },
  {
    method: "webhooks.countLost",
    title: "counts failed and cancelled ones whose event is kept",
    async setup(stores) {
      await fillOne(stores);
      for (const n of [0, 1, 3]) await settle(stores, n, "failed");
      await stores.sent.forget("e-1");
    },
    act: ({ webhooks }) => webhooks.countLost("w-1", { since: FANNED, until: LATER }),
    async check(answer, stores) {
      expect(answer).toBe(2);
      await disable(stores);
      const { countLost } = stores.webhooks;
      expect(await countLost("w-1", { since: FANNED, until: LATER })).toBe(4);
      expect(await countLost("w-1", { since: FANNED + 1, until: LATER })).toBe(0);
    },
  },
  {
    method: "webhooks.listAttempts",
    title: "lists the last hundred attempts in order",
    async setup({ sent }) {
      for (const n of count(105)) await sent.attempt(makeAttempt("d-1", n));
      await sent.attempt(makeAttempt("d-2", 1));
    },
    act: ({ webhooks }) => webhooks.listAttempts("d-1"),
    async check(answer, { webhooks }) {
      const shown = count(105).slice(5);
      expect(answer).toEqual(shown.map((n) => makeAttempt("d-1", n)));
      expect(await webhooks.listAttempts("d-2")).toEqual([makeAttempt("d-2", 1)]);
    },
  },
];

const retentionCases: Case[] = [
  {
    method: "webhooks.sweep",
    title: "deletes old settled deliveries with their attempts, and keeps waiting ones",
    async setup(stores) {
      await fillOne(stores);
      for (const n of [0, 1, 3]) {
        const id = await settle(stores, n, "failed");
        await stores.sent.attempt(makeAttempt(id, 1));
      }
      await settle(stores, 4, "delivered");
    },
    act: ({ webhooks }) => webhooks.sweep(FANNED + 2, 2),
    async check(answer, stores) {
      expect(answer).toBe(2);
      expect(await showDeliveries(stores)).toEqual([
        ...["e-3 to w-1: pending", "e-4 to w-1: failed", "e-5 to w-1: delivered"],
      ]);
      expect((await stores.sent.attempts()).map(({ delivery_id }) => delivery_id)).toEqual([
        (await deliveriesOf(stores, "w-1"))[1]!.id,
      ]);
      const { sweep } = stores.webhooks;
      // Created earlier, and settled exactly then.
      expect(await sweep(FANNED + 1, 9)).toBe(0);
      expect(await sweep(FANNED + 2, 9)).toBe(2);
      expect(await sweep(FANNED + 2, 9)).toBe(0);
      expect(await stores.sent.attempts()).toEqual([]);
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.sweepGone",
    title: "deletes deliveries of deleted endpoints, whatever their status",
    async setup(stores) {
      await fill(stores);
      await deliver(stores, 3);
      await stores.sent.attempt(makeAttempt(await settle(stores, 0, "failed"), 1));
      for (const id of ["w-1", "w-2"]) await stores.webhooks.remove(id, "a-1");
      await deliver(stores, 1, {}, "a-2");
    },
    act: ({ webhooks }) => webhooks.sweepGone(5),
    async check(answer, stores) {
      // Three of the first, the mark of its end, and one of the second.
      expect(answer).toBe(5);
      expect(await stores.sent.gone()).toEqual([{ id: "w-2" }]);
      expect(await stores.sent.attempts()).toEqual([]);
      expect(await stores.webhooks.sweepGone(5)).toBe(3);
      expect(await stores.sent.gone()).toEqual([]);
      expect(await showDeliveries(stores)).toEqual(["e-1a-2 to w-3: pending"]);
      expect(await stores.webhooks.sweepGone(5)).toBe(0);
    },
  },
];

export const webhookListCases: readonly Case[] = [...fanOutCases, ...readCases, ...retentionCases];
