// Cases of tests, replays and recovery in the store of webhooks.
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
  recordEvent,
  settle,
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
    title: "stores an event for one endpoint only, and its delivery",
    setup: fill,
    act: ({ webhooks }) => webhooks.test(request(), fresh(1)),
    async check(answer, stores) {
      const [made, ...others] = await stores.sent.deliveries();
      expect(others).toEqual([]);
      expect(answer).toEqual(made);
      expect(made).toMatchObject({
        ...{ id: "d-1", webhook_id: "w-1", event_id: "e-1", event_type: "webhook.test" },
        ...{ kind: "test", status: "pending", next_attempt_at: LATER, lane: 0 },
      });
      const event = (await stores.webhooks.findEvent("e-1"))!;
      expect(event).toMatchObject({ account_id: "a-1", type: "webhook.test", created_at: LATER });
      const webhook = { id: "w-1", url: "https://w-1.example.com/hooks" };
      expect(JSON.parse(event.data)).toEqual({ webhook });
      expect(await stores.sent.waiting()).toEqual([]);
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.test",
    title: "is refused for an endpoint that is missing, disabled, full or has too many waiting",
    async setup(stores) {
      await fill(stores);
      await deliver(stores, 1);
      await stores.webhooks.update(own("w-2"), { status: "disabled" }, makeFan(5));
    },
    act: async ({ webhooks }) => {
      const requests = [
        ...[request({ accountId: "a-2" }), request({ webhookId: "w-9" })],
        ...[request({ webhookId: "w-2" }), request({ waitingMax: 1 })],
      ];
      const full = { ...fresh(9), storedMax: 0 };
      return Promise.all([
        ...requests.map((one) => codeOf(webhooks.test(one, fresh(9)))),
        // The endpoint is checked before the account's storage.
        ...[requests[0]!, request()].map((one) => codeOf(webhooks.test(one, full))),
      ]);
    },
    async check(answer, stores) {
      expect(answer).toEqual([
        ...["webhook_not_found", "webhook_not_found", "endpoint_disabled", "deliveries_limit"],
        ...["webhook_not_found", "storage_limit_reached"],
      ]);
      expect(await stores.webhooks.findEvent("e-9")).toBeUndefined();
      expect(await miscounted(stores)).toEqual([]);
    },
  },
];

const replayCases: Case[] = [
  {
    method: "webhooks.replay",
    title: "makes a delivered one due again: the same delivery of the same event",
    async setup(stores) {
      await fillOne(stores);
      await settle(stores, 0, "delivered");
    },
    act: ({ webhooks }) => webhooks.replay(idOf(1), request()),
    async check(answer, stores) {
      expect(answer).toMatchObject({
        ...{ id: idOf(1), event_id: "e-1", status: "pending", completed_at: null },
        ...{ attempt_count: 1, next_attempt_at: LATER, kind: "replay", tries: 0, lane: 0 },
      });
      expect(await stores.webhooks.findDelivery(idOf(1))).toEqual(answer as never);
      expect(await stores.sent.deliveries()).toHaveLength(5);
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.replay",
    title: "makes a waiting one due at once, and does not count it twice",
    setup: fillOne,
    act: ({ webhooks }) => webhooks.replay(idOf(1), request({ waitingMax: 5 })),
    async check(answer, stores) {
      expect(answer).toMatchObject({ status: "pending", next_attempt_at: LATER, tries: 0 });
      expect((await stores.webhooks.find("w-1"))!.pending_deliveries).toBe(5);
    },
  },
  {
    method: "webhooks.replay",
    title: "leaves a claimed one to its process, to be sent again afterwards",
    async setup(stores) {
      await fillOne(stores);
      await stores.sent.take(idOf(1), 7);
    },
    act: ({ webhooks }) => webhooks.replay(idOf(1), request()),
    async check(answer, stores) {
      expect(answer).toMatchObject({ status: "pending", epoch: 7, tries: -1, kind: "replay" });
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.replay",
    title: "restores a delivery that was cancelled while claimed",
    async setup(stores) {
      await fillOne(stores);
      await stores.sent.take(idOf(1), 7);
      await disable(stores);
      await enable(stores);
    },
    act: ({ webhooks }) => webhooks.replay(idOf(1), request()),
    async check(answer, stores) {
      expect(answer).toMatchObject({ status: "pending", epoch: 7, tries: -1 });
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.replay",
    title: "is refused for a missing delivery, a deleted event, or too many waiting",
    async setup(stores) {
      await fill(stores);
      await deliver(stores, 2);
      await deliver(stores, 1, {}, "a-2");
      await settle(stores, 0, "failed");
      await stores.sent.forget("e-2");
    },
    act: async (stores) => {
      const { webhooks } = stores;
      const [failed, forgotten] = await deliveriesOf(stores, "w-1");
      const codes = [
        await codeOf(webhooks.replay(idOf(77), request())),
        await codeOf(webhooks.replay(failed!.id, request({ webhookId: "w-2" }))),
        await codeOf(webhooks.replay(failed!.id, request({ accountId: "a-2" }))),
        await codeOf(webhooks.replay(forgotten!.id, request())),
        await codeOf(webhooks.replay(failed!.id, request({ waitingMax: 3 }))),
        // A stranger to the endpoint does not learn which deliveries exist.
        await codeOf(webhooks.replay(idOf(77), request({ accountId: "a-2" }))),
      ];
      // An expired event is refused before the limit, since a retry cannot succeed.
      await settle(stores, 1, "failed");
      codes.push(await codeOf(webhooks.replay(forgotten!.id, request({ waitingMax: 0 }))));
      await disable(stores);
      return [...codes, await codeOf(webhooks.replay(failed!.id, request()))];
    },
    async check(answer, stores) {
      expect(answer).toEqual([
        ...["delivery_not_found", "delivery_not_found", "webhook_not_found", "event_expired"],
        ...["deliveries_limit", "webhook_not_found", "event_expired", "endpoint_disabled"],
      ]);
      expect(await miscounted(stores)).toEqual([]);
    },
  },
];

const recoveryCases: Case[] = [
  {
    method: "webhooks.recover",
    title: "makes failed and cancelled deliveries due again, except tests",
    async setup(stores) {
      await fillOne(stores);
      await stores.webhooks.test(request(), fresh("test"));
      await settle(stores, 0, "delivered");
      await settle(stores, 1, "failed");
      await disable(stores);
      await enable(stores);
    },
    act: ({ webhooks }) => webhooks.recover(request(), ALWAYS, MANY),
    async check(answer, stores) {
      expect(answer).toEqual({ queued: 4, rest: "none" });
      const all = await deliveriesOf(stores, "w-1");
      const statuses = all.map(({ status }) => status);
      expect(statuses.slice(0, 5)).toEqual(["delivered", ...Array(4).fill("pending")]);
      expect(all.at(-1)).toMatchObject({ event_type: "webhook.test", status: "cancelled" });
      const due = { kind: "replay", tries: 0, next_attempt_at: LATER, completed_at: null };
      for (const one of all.slice(1, 5)) expect(one).toMatchObject(due);
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.recover",
    title: "takes the oldest first, up to the limit of waiting ones",
    async setup(stores) {
      await fillOne(stores);
      // Made by a process whose clock was behind: its id is the last.
      await recordEvent(stores, "e-6", { at: BEGIN + 6 });
      await stores.webhooks.fanOut("a-1", makeFan(3, { now: FANNED - 1 }));
      for (const n of [0, 1, 2, 3, 4]) await settle(stores, n, "failed");
    },
    act: ({ webhooks }) => webhooks.recover(request({ waitingMax: 3 }), ALWAYS, MANY),
    async check(answer, stores) {
      expect(answer).toEqual({ queued: 2, rest: "full" });
      const statuses = (await deliveriesOf(stores, "w-1")).map(({ status }) => status);
      const left = ["failed", "failed", "failed"] as const;
      expect(statuses).toEqual(["pending", "pending", ...left, "pending"]);
      const { recover } = stores.webhooks;
      const full = { queued: 0, rest: "full" } as const;
      expect(await recover(request({ waitingMax: 3 }), ALWAYS, MANY)).toEqual(full);
      const some = { queued: 1, rest: "more" } as const;
      for (const _ of [1, 2]) expect(await recover(request(), ALWAYS, 1)).toEqual(some);
      expect(await recover(request(), ALWAYS, 1)).toMatchObject({ queued: 1, rest: "none" });
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.recover",
    title: "takes those of the requested time range whose event is stored",
    async setup(stores) {
      await fillOne(stores);
      for (const n of [0, 1]) await settle(stores, n, "failed");
      await stores.sent.forget("e-2");
      await recordEvent(stores, "e-6", { at: BEGIN + 60 });
      await stores.webhooks.fanOut("a-1", makeFan(3, { now: FANNED + 5 }));
      await settle(stores, 5, "failed");
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
    async check(answer, stores) {
      expect(answer).toEqual([0, 0, 1, 1]);
      expect((await deliveriesOf(stores, "w-1"))[1]!.status).toBe("failed");
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.recover",
    title: "is refused for a missing or disabled endpoint",
    async setup(stores) {
      await fillOne(stores);
      await disable(stores);
    },
    act: async ({ webhooks }) => [
      await codeOf(webhooks.recover(request({ accountId: "a-2" }), ALWAYS, MANY)),
      await codeOf(webhooks.recover(request(), ALWAYS, MANY)),
    ],
    check: (answer) => expect(answer).toEqual(["webhook_not_found", "endpoint_disabled"]),
  },
];

export const webhookDeliveryCases: readonly Case[] = [
  ...testCases,
  ...replayCases,
  ...recoveryCases,
];
