// What the store of webhooks must do where a delivery is asked for, on every engine.
import { expect } from "bun:test";
import { BEGIN } from "../support/runs.ts";
import { idOf, MANY, makeFan } from "../support/webhooks.ts";
import type { Case } from "./cases.ts";
import { codeOf } from "./run-acts.ts";
import {
  deliver,
  deliveriesOf,
  disable,
  enable,
  FANNED,
  fill,
  fillOne,
  LATER,
  miscounted,
  own,
  settle,
  tell,
} from "./webhook-acts.ts";

const request = (fields: object = {}) => ({
  ...{ webhookId: "w-1", accountId: "a-1", now: LATER, waitingMax: MANY },
  ...fields,
});
const fresh = (n: number | string) => ({
  ...{ eventId: `e-${n}`, deliveryId: `d-${n}`, storedMax: 1e9 },
});
const ALWAYS = { since: 0, until: LATER };

const testCases: Case[] = [
  {
    method: "webhooks.test",
    title: "keeps an event for one endpoint alone, and its delivery",
    given: fill,
    act: ({ webhooks }) => webhooks.test(request(), fresh(1)),
    async judge(answer, houses) {
      const [made, ...others] = await houses.sent.deliveries();
      expect(others).toEqual([]);
      expect(answer).toEqual(made);
      expect(made).toMatchObject({
        ...{ id: "d-1", webhook_id: "w-1", event_id: "e-1", event_type: "webhook.test" },
        ...{ kind: "test", status: "pending", next_attempt_at: LATER, lane: 0 },
      });
      const event = (await houses.webhooks.findEvent("e-1"))!;
      expect(event).toMatchObject({ account_id: "a-1", type: "webhook.test", created_at: LATER });
      const webhook = { id: "w-1", url: "https://w-1.example.com/hooks" };
      expect(JSON.parse(event.data)).toEqual({ webhook });
      expect(await houses.sent.waiting()).toEqual([]);
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.test",
    title: "is refused for one that is not there, is disabled, or has too much waiting",
    async given(houses) {
      await fill(houses);
      await deliver(houses, 1);
      await houses.webhooks.update(own("w-2"), { status: "disabled" }, makeFan(5));
    },
    act: async ({ webhooks }) => {
      const wishes = [
        ...[request({ accountId: "a-2" }), request({ webhookId: "w-9" })],
        ...[request({ webhookId: "w-2" }), request({ waitingMax: 1 })],
      ];
      return Promise.all(wishes.map((one) => codeOf(webhooks.test(one, fresh(9)))));
    },
    async judge(answer, houses) {
      expect(answer).toEqual([
        ...["webhook_not_found", "webhook_not_found", "endpoint_disabled", "deliveries_limit"],
      ]);
      expect(await houses.webhooks.findEvent("e-9")).toBeUndefined();
      expect(await miscounted(houses)).toEqual([]);
    },
  },
];

const replayCases: Case[] = [
  {
    method: "webhooks.replay",
    title: "has one that was delivered due again: the same delivery of the same event",
    async given(houses) {
      await fillOne(houses);
      await settle(houses, 0, "delivered");
    },
    act: ({ webhooks }) => webhooks.replay(idOf(1), request()),
    async judge(answer, houses) {
      expect(answer).toMatchObject({
        ...{ id: idOf(1), event_id: "e-1", status: "pending", completed_at: null },
        ...{ attempt_count: 1, next_attempt_at: LATER, kind: "replay", tries: 0, lane: 0 },
      });
      expect(await houses.webhooks.findDelivery(idOf(1))).toEqual(answer as never);
      expect(await houses.sent.deliveries()).toHaveLength(5);
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.replay",
    title: "has one that waits due at once, and counts it no second time",
    given: fillOne,
    act: ({ webhooks }) => webhooks.replay(idOf(1), request({ waitingMax: 5 })),
    async judge(answer, houses) {
      expect(answer).toMatchObject({ status: "pending", next_attempt_at: LATER, tries: 0 });
      expect((await houses.webhooks.find("w-1"))!.pending_deliveries).toBe(5);
    },
  },
  {
    method: "webhooks.replay",
    title: "leaves one to whoever has it, to be sent once more after that",
    async given(houses) {
      await fillOne(houses);
      await houses.sent.take(idOf(1), 7);
    },
    act: ({ webhooks }) => webhooks.replay(idOf(1), request()),
    async judge(answer, houses) {
      expect(answer).toMatchObject({ status: "pending", epoch: 7, tries: -1, kind: "replay" });
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.replay",
    title: "brings back what was cancelled while somebody had it",
    async given(houses) {
      await fillOne(houses);
      await houses.sent.take(idOf(1), 7);
      await disable(houses);
      await enable(houses);
    },
    act: ({ webhooks }) => webhooks.replay(idOf(1), request()),
    async judge(answer, houses) {
      expect(answer).toMatchObject({ status: "pending", epoch: 7, tries: -1 });
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.replay",
    title: "is refused for what is not there, is not kept, or is too much",
    async given(houses) {
      await fill(houses);
      await deliver(houses, 2);
      await deliver(houses, 1, {}, "a-2");
      await settle(houses, 0, "failed");
      await houses.sent.forget("e-2");
    },
    act: async (houses) => {
      const { webhooks } = houses;
      const [failed, forgotten] = await deliveriesOf(houses, "w-1");
      const codes = [
        await codeOf(webhooks.replay(idOf(77), request())),
        await codeOf(webhooks.replay(failed!.id, request({ webhookId: "w-2" }))),
        await codeOf(webhooks.replay(failed!.id, request({ accountId: "a-2" }))),
        await codeOf(webhooks.replay(forgotten!.id, request())),
        await codeOf(webhooks.replay(failed!.id, request({ waitingMax: 3 }))),
      ];
      await disable(houses);
      return [...codes, await codeOf(webhooks.replay(failed!.id, request()))];
    },
    async judge(answer, houses) {
      expect(answer).toEqual([
        ...["delivery_not_found", "delivery_not_found", "webhook_not_found", "event_expired"],
        ...["deliveries_limit", "endpoint_disabled"],
      ]);
      expect(await miscounted(houses)).toEqual([]);
    },
  },
];

const recoveryCases: Case[] = [
  {
    method: "webhooks.recover",
    title: "has all due again that failed or were cancelled, save tests",
    async given(houses) {
      await fillOne(houses);
      await houses.webhooks.test(request(), fresh("test"));
      await settle(houses, 0, "delivered");
      await settle(houses, 1, "failed");
      await disable(houses);
      await enable(houses);
    },
    act: ({ webhooks }) => webhooks.recover(request(), ALWAYS, MANY),
    async judge(answer, houses) {
      expect(answer).toEqual({ queued: 4, rest: "none" });
      const all = await deliveriesOf(houses, "w-1");
      const statuses = all.map(({ status }) => status);
      expect(statuses.slice(0, 5)).toEqual(["delivered", ...Array(4).fill("pending")]);
      expect(all.at(-1)).toMatchObject({ event_type: "webhook.test", status: "cancelled" });
      const due = { kind: "replay", tries: 0, next_attempt_at: LATER, completed_at: null };
      for (const one of all.slice(1, 5)) expect(one).toMatchObject(due);
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.recover",
    title: "takes the oldest first, for as many as may wait",
    async given(houses) {
      await fillOne(houses);
      for (const n of [0, 1, 2, 3]) await settle(houses, n, "failed");
    },
    act: ({ webhooks }) => webhooks.recover(request({ waitingMax: 3 }), ALWAYS, MANY),
    async judge(answer, houses) {
      expect(answer).toEqual({ queued: 2, rest: "full" });
      const statuses = (await deliveriesOf(houses, "w-1")).map(({ status }) => status);
      expect(statuses).toEqual(["pending", "pending", "failed", "failed", "pending"]);
      const { recover } = houses.webhooks;
      const full = { queued: 0, rest: "full" } as const;
      expect(await recover(request({ waitingMax: 3 }), ALWAYS, MANY)).toEqual(full);
      const some = { queued: 1, rest: "more" } as const;
      expect(await recover(request(), ALWAYS, 1)).toEqual(some);
      expect(await recover(request(), ALWAYS, 1)).toMatchObject({ queued: 1, rest: "none" });
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.recover",
    title: "takes those of the time that is asked for, whose event is kept",
    async given(houses) {
      await fillOne(houses);
      for (const n of [0, 1]) await settle(houses, n, "failed");
      await houses.sent.forget("e-2");
      await tell(houses, "e-6", { at: BEGIN + 60 });
      await houses.webhooks.fanOut("a-1", makeFan(3, { now: FANNED + 5 }));
      await settle(houses, 5, "failed");
    },
    act: ({ webhooks }) => {
      const spans = [
        ...[
          { since: FANNED + 1, until: FANNED + 4 },
          { since: FANNED + 6, until: LATER },
        ],
        ...[
          { since: FANNED, until: FANNED },
          { since: FANNED + 5, until: FANNED + 5 },
        ],
      ];
      return spans.reduce<Promise<number[]>>(async (before, span) => {
        const counts = await before;
        return [...counts, (await webhooks.recover(request(), span, MANY)).queued];
      }, Promise.resolve([]));
    },
    async judge(answer, houses) {
      expect(answer).toEqual([0, 0, 1, 1]);
      expect((await deliveriesOf(houses, "w-1"))[1]!.status).toBe("failed");
      expect(await miscounted(houses)).toEqual([]);
    },
  },
  {
    method: "webhooks.recover",
    title: "is refused for one that is not there or disabled",
    async given(houses) {
      await fillOne(houses);
      await disable(houses);
    },
    act: async ({ webhooks }) => [
      await codeOf(webhooks.recover(request({ accountId: "a-2" }), ALWAYS, MANY)),
      await codeOf(webhooks.recover(request(), ALWAYS, MANY)),
    ],
    judge: (answer) => expect(answer).toEqual(["webhook_not_found", "endpoint_disabled"]),
  },
];

export const webhookDeliveryCases: readonly Case[] = [
  ...testCases,
  ...replayCases,
  ...recoveryCases,
];
