// What the store of webhooks must do with deliveries as they are made, read and swept, on every
// engine.
import { expect } from "bun:test";
import { type DeliveryRow, LOST } from "../../src/webhooks/delivery.ts";
import type { DeliveryFilter } from "../../src/webhooks/store/deliveries.ts";
import { BEGIN } from "../support/runs.ts";
import { idOf, MANY, makeAttempt, makeFan } from "../support/webhooks.ts";
import type { Case, Houses } from "./cases.ts";
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
  look,
  miscounted,
  own,
  settle,
  tell,
} from "./webhook-acts.ts";

const everything = (fields: Partial<DeliveryFilter> = {}): DeliveryFilter => ({
  ...{ webhookId: "w-1", limit: MANY },
  ...fields,
});
/** The events of the endpoint's deliveries in the list's order. */
const listEvents = async ({ webhooks }: Houses, fields: Partial<DeliveryFilter> = {}) =>
  (await webhooks.listDeliveries(everything(fields))).map(({ event_id }) => event_id);

const fanOutCases: Case[] = [
  {
    method: "webhooks.fanOut",
    title: "gives each event to those who selected it, once and in their order",
    async given(houses) {
      await fill(houses);
      await tell(houses, "e-2", { at: BEGIN + 2 });
      await tell(houses, "e-1", { at: BEGIN + 1, type: "run.failed" });
      await tell(houses, "e-3", { at: BEGIN + 3, type: "approval.requested" });
      await tell(houses, "e-4", { at: BEGIN + 4, account_id: "a-2" });
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1)),
    async judge(answer, houses) {
      expect(answer).toBe(true);
      const expected = ["e-1 to w-2: pending", "e-2 to w-1: pending", "e-2 to w-2: pending"];
      expect(await look(houses)).toEqual(expected);
      expect(await houses.webhooks.fanOut("a-1", makeFan(2))).toBe(true);
      expect(await look(houses)).toEqual(expected);
      expect((await houses.sent.waiting()).map(({ id }) => id)).toEqual(["e-4"]);
      const [first] = await houses.sent.deliveries();
      expect(first).toEqual({
        ...{ id: idOf(1), webhook_id: "w-2", event_id: "e-1", event_type: "run.failed" },
        ...{ status: "pending", attempt_count: 0, next_attempt_at: FANNED, last_error: null },
        ...{ last_response_status: null, created_at: FANNED, completed_at: null },
        ...{ account_id: "a-1", kind: "scheduled", tries: 0, lane: 0, epoch: 0 },
      });
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.fanOut",
    title: "gives so many events at once, and says when nothing waits any more",
    async given(houses) {
      await fill(houses);
      for (const n of count(5)) await tell(houses, `e-${n}`, { at: BEGIN + n });
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1, { limit: 2 })),
    async judge(answer, { webhooks, sent }) {
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
    title: "keeps as failed what more may not wait, and counts only what waits",
    async given(houses) {
      await fill(houses);
      for (const n of count(3)) await tell(houses, `e-${n}`, { at: BEGIN + n });
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1, { waitingMax: 3 })),
    async judge(_, houses) {
      const all = await houses.sent.deliveries();
      const { deliveries_limit: last_error } = LOST;
      const failed = { status: "failed", last_error, next_attempt_at: null, completed_at: FANNED };
      expect(all.slice(0, 3).map(({ status }) => status)).toEqual(count(3).map(() => "pending"));
      expect(all).toHaveLength(6);
      for (const one of all.slice(3)) expect(one).toMatchObject({ ...failed, attempt_count: 0 });
      expect(await miscounted(houses)).toEqual([]);
      // Where something was sent, others may wait.
      await houses.sent.settle(all[0]!.id, "delivered", LATER);
      await tell(houses, "e-4", { at: BEGIN + 4 });
      await houses.webhooks.fanOut("a-1", makeFan(2, { waitingMax: 3, now: LATER }));
      const last = (await houses.sent.deliveries()).slice(6);
      expect(last.map(({ status }) => status)).toEqual(["pending", "failed"]);
    },
  },
  {
    method: "webhooks.fanOut",
    title: "gives nothing to one that is disabled",
    async given(houses) {
      await fill(houses);
      await disable(houses);
      await tell(houses, "e-1");
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1)),
    judge: async (_, houses) => expect(await look(houses)).toEqual(["e-1 to w-2: pending"]),
  },
  {
    method: "webhooks.fanOut",
    title: "takes fewer events at once where each goes to many",
    async given(houses) {
      await houses.secrets.claim("k-1");
      for (const n of count(100)) await addEndpoint(houses, `w-${n}`);
      for (const n of count(11)) await tell(houses, `e-${n}`, { at: BEGIN + n });
    },
    act: ({ webhooks }) => webhooks.fanOut("a-1", makeFan(1)),
    async judge(answer, houses) {
      expect(answer).toBe(false);
      expect(await houses.sent.waiting()).toHaveLength(1);
      expect(await houses.webhooks.fanOut("a-1", makeFan(2))).toBe(true);
      const all = await houses.sent.deliveries();
      expect(new Set(all.map(({ event_id, webhook_id }) => event_id + webhook_id)).size).toBe(1100);
      expect(await miscounted(houses)).toEqual([]);
    },
  },
];

const readCases: Case[] = [
  {
    method: "webhooks.findDelivery",
    title: "finds one of whichever endpoint",
    given: fillOne,
    act: ({ webhooks }) => webhooks.findDelivery(idOf(1)),
    async judge(answer, { webhooks }) {
      expect(answer).toMatchObject({ id: idOf(1), event_id: "e-1" });
      expect(await webhooks.findDelivery(idOf(77))).toBeUndefined();
    },
  },
  {
    method: "webhooks.findEvent",
    title: "finds an event for as long as it is kept",
    given: fillOne,
    act: ({ webhooks }) => webhooks.findEvent("e-1"),
    async judge(answer, { webhooks, sent }) {
      expect(answer).toMatchObject({ id: "e-1", data: '{"run":{"id":"e-1"}}' });
      await sent.forget("e-1");
      expect(await webhooks.findEvent("e-1")).toBeUndefined();
    },
  },
  {
    method: "webhooks.listDeliveries",
    title: "lists an endpoint's, the newest first, a page at a time",
    async given(houses) {
      await fillOne(houses);
      await addEndpoint(houses, "w-2", { events: ["run.failed", "run.completed"] });
      await tell(houses, "e-6", { type: "run.failed", at: BEGIN + 6 });
      await tell(houses, "e-7", { at: BEGIN + 7 });
      await houses.webhooks.fanOut("a-1", makeFan(3, { now: FANNED + 7 }));
    },
    act: (houses) => listEvents(houses),
    async judge(answer, houses) {
      expect(answer).toEqual(["e-7", "e-5", "e-4", "e-3", "e-2", "e-1"]);
      const pages: string[][] = [];
      let before: DeliveryFilter["before"];
      for (let n = 0; n < 4; n++) {
        const rows: DeliveryRow[] = await houses.webhooks.listDeliveries(
          everything({ before, limit: 2 }),
        );
        pages.push(rows.map(({ event_id }) => event_id));
        const last = rows.at(-1);
        if (last) before = { at: last.created_at, id: last.id };
      }
      expect(pages).toEqual([["e-7", "e-5"], ["e-4", "e-3"], ["e-2", "e-1"], []]);
      expect(await listEvents(houses, { webhookId: "w-2" })).toEqual(["e-7", "e-6"]);
    },
  },
  {
    method: "webhooks.listDeliveries",
    title: "lists only those of a status, a kind, or both",
    async given(houses) {
      await fillOne(houses);
      await houses.webhooks.update(
        own("w-1"),
        { events: ["run.failed", "run.completed"] },
        makeFan(3),
      );
      await tell(houses, "e-6", { type: "run.failed" });
      await tell(houses, "e-7", { type: "run.failed" });
      await houses.webhooks.fanOut("a-1", makeFan(4, { now: FANNED + 1 }));
      for (const n of [1, 3, 5]) await settle(houses, n, "failed");
      await settle(houses, 0, "delivered");
    },
    act: async (houses) => [
      await listEvents(houses, { status: "failed" }),
      await listEvents(houses, { type: "run.failed" }),
      await listEvents(houses, { status: "failed", type: "run.completed" }),
      await listEvents(houses, { status: "delivered" }),
      await listEvents(houses, { status: "cancelled" }),
      await listEvents(houses, { limit: 3 }),
    ],
    judge(answer) {
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
    method: "webhooks.listAttempts",
    title: "lists the last hundred in the order in which they were made",
    async given({ sent }) {
      for (const n of count(105)) await sent.attempt(makeAttempt("d-1", n));
      await sent.attempt(makeAttempt("d-2", 1));
    },
    act: ({ webhooks }) => webhooks.listAttempts("d-1"),
    async judge(answer, { webhooks }) {
      const shown = count(105).slice(5);
      expect(answer).toEqual(shown.map((n) => makeAttempt("d-1", n)));
      expect(await webhooks.listAttempts("d-2")).toEqual([makeAttempt("d-2", 1)]);
    },
  },
];

const retentionCases: Case[] = [
  {
    method: "webhooks.sweep",
    title: "deletes what was over long ago with its attempts, and keeps what waits",
    async given(houses) {
      await fillOne(houses);
      for (const n of [0, 1, 3]) {
        const id = await settle(houses, n, "failed");
        await houses.sent.attempt(makeAttempt(id, 1));
      }
      await settle(houses, 4, "delivered");
    },
    act: ({ webhooks }) => webhooks.sweep(FANNED + 2, 2),
    async judge(answer, houses) {
      expect(answer).toBe(2);
      expect(await look(houses)).toEqual([
        ...["e-3 to w-1: pending", "e-4 to w-1: failed", "e-5 to w-1: delivered"],
      ]);
      expect((await houses.sent.attempts()).map(({ delivery_id }) => delivery_id)).toEqual([
        (await deliveriesOf(houses, "w-1"))[1]!.id,
      ]);
      const { sweep } = houses.webhooks;
      // Made before then, and over at that moment only.
      expect(await sweep(FANNED + 1, 9)).toBe(0);
      expect(await sweep(FANNED + 2, 9)).toBe(2);
      expect(await sweep(FANNED + 2, 9)).toBe(0);
      expect(await houses.sent.attempts()).toEqual([]);
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.sweepGone",
    title: "deletes what endpoints that were deleted have left, whatever its status",
    async given(houses) {
      await fill(houses);
      await deliver(houses, 3);
      await houses.sent.attempt(makeAttempt(await settle(houses, 0, "failed"), 1));
      for (const id of ["w-1", "w-2"]) await houses.webhooks.remove(id, "a-1");
      await deliver(houses, 1, {}, "a-2");
    },
    act: ({ webhooks }) => webhooks.sweepGone(5),
    async judge(answer, houses) {
      // Three, the sign that the first is gone, and one of the second.
      expect(answer).toBe(5);
      expect(await houses.sent.gone()).toEqual([{ id: "w-2" }]);
      expect(await houses.sent.attempts()).toEqual([]);
      expect(await houses.webhooks.sweepGone(5)).toBe(3);
      expect(await houses.sent.gone()).toEqual([]);
      expect(await look(houses)).toEqual(["e-1a-2 to w-3: pending"]);
      expect(await houses.webhooks.sweepGone(5)).toBe(0);
    },
  },
];

export const webhookListCases: readonly Case[] = [...fanOutCases, ...readCases, ...retentionCases];
