// Cases of claiming deliveries in the store of webhooks.
import { expect } from "bun:test";
import { BEGIN } from "../support/runs.ts";
import type { Case, Stores } from "./cases.ts";
import { deliver, deliveriesOf, disable, FANNED, fill, fillOne, LATER } from "./webhook-acts.ts";
import { first, settleNext, take, turn } from "./webhook-sending-acts.ts";

const HOUR_MS = 3_600_000;

const claimCases: Case[] = [
  {
    method: "webhooks.claim",
    title: "claims the oldest due deliveries, up to a limit for each endpoint",
    async setup(stores) {
      await fill(stores);
      await deliver(stores, 3);
      await stores.processes.register(BEGIN);
    },
    act: ({ webhooks }) => webhooks.claim(1, [turn(2), turn(9, "w-2"), turn(9, "w-3")], FANNED),
    async check(answer, stores) {
      const [one, two, three] = answer as Awaited<ReturnType<Stores["webhooks"]["claim"]>>;
      expect(one!.rows.map(({ event_id }) => event_id)).toEqual(["e-1", "e-2"]);
      const row = await first(stores);
      expect(one!.rows[0]).toEqual({
        ...{ id: row.id, webhook_id: "w-1", event_id: "e-1", account_id: "a-1" },
        ...{ kind: "scheduled", tries: 0, lane: 0, epoch: 1 },
      });
      expect(one!.nextDueAt).toBe(FANNED);
      expect([two!.rows.length, two!.nextDueAt]).toEqual([3, null]);
      expect([three!.rows.length, three!.nextDueAt]).toEqual([0, null]);
      const epochs = (await deliveriesOf(stores, "w-1")).map(({ epoch }) => epoch);
      expect(epochs).toEqual([1, 1, 0]);
    },
  },
  {
    method: "webhooks.claim",
    title: "takes what has been due for longest first, whenever it was made",
    async setup(stores) {
      await fillOne(stores);
      const request = { webhookId: "w-1", accountId: "a-1", now: LATER, waitingMax: 9 };
      await stores.webhooks.replay((await first(stores)).id, request);
    },
    act: async (stores) => (await take(stores, 4)).map(({ event_id }) => event_id),
    async check(answer, stores) {
      expect(answer).toEqual(["e-2", "e-3", "e-4", "e-5"]);
      expect((await take(stores)).map(({ event_id }) => event_id)).toEqual(["e-1"]);
    },
  },
  {
    method: "webhooks.claim",
    title: "gives concurrent processes different deliveries",
    async setup(stores) {
      await fillOne(stores);
      await stores.processes.register(BEGIN);
      await stores.processes.register(BEGIN);
    },
    act: async ({ webhooks }) => {
      const asks = Array.from({ length: 8 }, (_, n) =>
        webhooks.claim(1 + (n % 2), [turn(1)], LATER),
      );
      return (await Promise.all(asks)).flatMap(([taken]) => taken!.rows.map(({ id }) => id));
    },
    async check(answer, stores) {
      const all = (await deliveriesOf(stores, "w-1")).map(({ id }) => id);
      expect((answer as string[]).toSorted()).toEqual(all.toSorted());
    },
  },
  {
    method: "webhooks.claim",
    title: "claims nothing that is due later, in another queue, or of a disabled endpoint",
    async setup(stores) {
      await fillOne(stores);
      await stores.processes.register(BEGIN);
    },
    act: async (stores) => {
      const { webhooks } = stores;
      const early = await webhooks.claim(1, [turn(9)], FANNED - 1);
      const other = await webhooks.claim(1, [turn(9, "w-1", 1)], LATER);
      await disable(stores);
      return [...early, ...other, ...(await webhooks.claim(1, [turn(9)], LATER))];
    },
    check(answer) {
      expect(answer).toEqual([
        { rows: [], nextDueAt: FANNED },
        { rows: [], nextDueAt: null },
        { rows: [], nextDueAt: null },
      ]);
    },
  },
  {
    method: "webhooks.claim",
    title: "gives nothing to a process considered dead",
    async setup(stores) {
      await fillOne(stores);
      await stores.processes.register(BEGIN);
      await stores.processes.end(1, BEGIN);
    },
    act: ({ webhooks }) => webhooks.claim(1, [turn(9)], LATER),
    check: (answer) => expect(answer).toEqual([]),
  },
  {
    method: "webhooks.release",
    title: "makes a dead process's deliveries due again, and returns their queues",
    async setup(stores) {
      await fillOne(stores);
      await take(stores, 2);
    },
    act: async (stores) => stores.webhooks.release(await stores.webhooks.listHeld()),
    async check(answer, stores) {
      expect(answer).toEqual([{ webhookId: "w-1", queue: 0 }]);
      expect(await stores.webhooks.listHeld()).toEqual([]);
      expect(await first(stores)).toMatchObject({ tries: 0, next_attempt_at: FANNED, epoch: 0 });
      expect(await take(stores)).toHaveLength(5);
    },
  },
  {
    method: "webhooks.release",
    title: "leaves deliveries that another process holds",
    async setup(stores) {
      await fillOne(stores);
      await take(stores, 1);
    },
    act: async (stores) => {
      const [held] = await stores.webhooks.listHeld();
      return stores.webhooks.release([{ ...held!, epoch: 2 }]);
    },
    async check(answer, stores) {
      expect(answer).toEqual([]);
      expect(await stores.webhooks.listHeld()).toHaveLength(1);
    },
  },
  {
    method: "webhooks.release",
    title: "restarts a delivery that was replayed meanwhile",
    async setup(stores) {
      await fillOne(stores);
      const [claimed] = await take(stores, 1);
      const request = { webhookId: "w-1", accountId: "a-1", now: LATER, waitingMax: 9 };
      await stores.webhooks.replay(claimed!.id, request);
    },
    act: async (stores) => stores.webhooks.release(await stores.webhooks.listHeld()),
    async check(_, stores) {
      expect(await first(stores)).toMatchObject({ kind: "replay", tries: 0, epoch: 0 });
    },
  },
  {
    method: "webhooks.listHeld",
    title: "lists the deliveries that processes hold",
    async setup(stores) {
      await fillOne(stores);
      await take(stores, 2);
    },
    act: ({ webhooks }) => webhooks.listHeld(),
    async check(answer, stores) {
      const [one, two] = await deliveriesOf(stores, "w-1");
      const held = answer as { id: string; epoch: number }[];
      expect(held.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
        { id: one!.id, epoch: 1 },
        { id: two!.id, epoch: 1 },
      ]);
    },
  },
];

const lookCases: Case[] = [
  {
    method: "webhooks.countWaiting",
    title: "counts the deliveries that wait at all endpoints",
    setup: fill,
    async act(stores) {
      const before = await stores.webhooks.countWaiting();
      await deliver(stores, 2);
      return [before, await stores.webhooks.countWaiting()];
    },
    check: (answer) => expect(answer).toEqual([0, 4]),
  },
  {
    method: "webhooks.listWaiting",
    title: "lists the endpoints with waiting deliveries, and when those are due",
    async setup(stores) {
      await fill(stores);
      await deliver(stores, 2);
      await settleNext(stores, "retry");
    },
    act: ({ webhooks }) => webhooks.listWaiting("", 9),
    async check(answer, stores) {
      const quiet = { failing_since: null, last_success_at: null };
      const none = { retry_due_at: null, retry_far_at: null };
      expect(answer).toEqual([
        {
          ...{ id: "w-1", account_id: "a-1", failing_since: LATER + 7, last_success_at: null },
          ...{ first_due_at: FANNED, first_far_at: FANNED },
          ...{ retry_due_at: LATER + 5_000, retry_far_at: LATER + 5_000 },
        },
        {
          ...{ id: "w-2", account_id: "a-1", ...quiet },
          ...{ first_due_at: FANNED, first_far_at: FANNED, ...none },
        },
      ]);
      const page = await stores.webhooks.listWaiting("w-1", 1);
      expect(page.map(({ id }) => id)).toEqual(["w-2"]);
      await disable(stores);
      expect((await stores.webhooks.listWaiting("", 9)).map(({ id }) => id)).toEqual(["w-2"]);
    },
  },
  {
    method: "webhooks.findWaiting",
    title: "finds when an endpoint's next delivery is due, unless none waits or it is disabled",
    async setup(stores) {
      await fill(stores);
      await deliver(stores, 2);
    },
    act: ({ webhooks }) => webhooks.findWaiting("w-1"),
    async check(answer, stores) {
      const [first] = await stores.webhooks.listWaiting("", 1);
      expect(answer).toEqual(first!);
      expect(await stores.webhooks.findWaiting("w-3")).toBeUndefined();
      // What a process has claimed is not due, but waits for its result.
      expect(await take(stores)).toHaveLength(2);
      const found = await stores.webhooks.findWaiting("w-1");
      expect(found).toMatchObject({ first_due_at: null, first_far_at: null });
      await disable(stores);
      expect(await stores.webhooks.findWaiting("w-1")).toBeUndefined();
    },
  },
  {
    method: "webhooks.pull",
    title: "makes deliveries with an impossibly late time due now, and leaves the rest",
    async setup(stores) {
      await fillOne(stores);
      await settleNext(stores, "retry", { nextAttemptAt: LATER + HOUR_MS });
      await settleNext(stores, "retry", { nextAttemptAt: LATER + 2 * HOUR_MS });
    },
    act: ({ webhooks }) =>
      webhooks.pull([{ webhookId: "w-1", queue: 1, until: LATER + HOUR_MS }], LATER + 9),
    async check(_, stores) {
      const due = (await deliveriesOf(stores, "w-1")).map((one) => one.next_attempt_at);
      expect(due).toEqual([LATER + HOUR_MS, LATER + 9, FANNED, FANNED, FANNED]);
    },
  },
  {
    method: "webhooks.findSending",
    title: "finds the current data that an attempt needs",
    async setup(stores) {
      await fillOne(stores);
      await take(stores, 1);
    },
    act: async (stores) => stores.webhooks.findSending((await first(stores)).id),
    async check(answer, stores) {
      const event = (await stores.webhooks.findEvent("e-1"))!;
      expect(answer).toEqual({
        ...{ status: "pending", epoch: 1, endpoint_status: "enabled" },
        ...{ url: "https://w-1.example.com/hooks", updated_at: BEGIN },
        ...{ event_type: event.type, event_created_at: event.created_at, event_data: event.data },
      });
      await stores.sent.forget("e-1");
      const { id } = await first(stores);
      expect(await stores.webhooks.findSending(id)).toMatchObject({ event_data: null });
      await stores.webhooks.remove("w-1", "a-1");
      expect(await stores.webhooks.findSending(id)).toMatchObject({ url: null });
      expect(await stores.webhooks.findSending("d-9")).toBeUndefined();
    },
  },
];

export const webhookClaimCases: readonly Case[] = [...claimCases, ...lookCases];
