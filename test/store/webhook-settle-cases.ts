// Cases of settling attempts in the store of webhooks.
import { expect } from "bun:test";
import type { ClaimedDelivery } from "../../src/webhooks/store/claim.ts";
import { BEGIN } from "../support/runs.ts";
import { MANY, makeFan } from "../support/webhooks.ts";
import type { Case, Stores } from "./cases.ts";
import {
  deliveriesOf,
  disable,
  enable,
  FANNED,
  fillOne,
  LATER,
  miscounted,
  own,
} from "./webhook-acts.ts";
import {
  came,
  first,
  makeAttempt,
  type ResultKind,
  settleNext,
  TAKEN,
  take,
} from "./webhook-sending-acts.ts";

const HOUR_MS = 3_600_000;

const settledCases: Case[] = [
  {
    method: "webhooks.settle",
    title: "stores the attempt of a successful delivery, and counts one less",
    setup: async (stores) => {
      await fillOne(stores);
      await settleNext(stores, "retry");
      await take(stores, 1);
    },
    async act(stores) {
      const [, claimed] = await deliveriesOf(stores, "w-1");
      return stores.webhooks.settle([came(claimed!, "delivered")], LATER + 7);
    },
    async check(answer, stores) {
      expect(answer).toEqual([]);
      const [retried, delivered] = await deliveriesOf(stores, "w-1");
      expect(delivered).toMatchObject({
        ...{ status: "delivered", attempt_count: 1, next_attempt_at: null, epoch: 0 },
        ...{ last_response_status: 204, last_error: null, completed_at: LATER + 7 },
      });
      expect(retried).toMatchObject({
        ...{ status: "pending", attempt_count: 1, next_attempt_at: LATER + 5_000, epoch: 0 },
        ...{ tries: 1, lane: 1, kind: "scheduled", completed_at: null },
        ...{ last_response_status: 500, last_error: "The endpoint answered 500." },
      });
      expect(await stores.sent.attempts()).toEqual([
        { ...makeAttempt(), delivery_id: retried!.id, number: 1 },
        { ...TAKEN, delivery_id: delivered!.id, number: 1 },
      ]);
      expect(await stores.webhooks.find("w-1")).toMatchObject({
        ...{ pending_deliveries: 4, failures: 0, failing_since: null },
        ...{ last_success_at: LATER + 7, last_failure_at: LATER + 7 },
      });
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  ...(["failed", "expired"] as const).map(
    (kind): Case => ({
      method: "webhooks.settle",
      title: `ends a delivery that is ${kind}`,
      setup: fillOne,
      act: (stores) => settleNext(stores, kind),
      async check(_, stores) {
        const isTried = kind === "failed";
        const row = await first(stores);
        expect(row).toMatchObject({
          ...{ status: "failed", next_attempt_at: null, completed_at: LATER + 7, epoch: 0 },
          attempt_count: isTried ? 1 : 0,
        });
        expect(row.last_error).toContain(isTried ? "500" : "event_expired");
        expect(await stores.sent.attempts()).toHaveLength(isTried ? 1 : 0);
        expect(await stores.webhooks.find("w-1")).toMatchObject({ failures: isTried ? 1 : 0 });
        expect(await miscounted(stores)).toEqual([]);
      },
    }),
  ),
  {
    method: "webhooks.settle",
    title: "retries a replay as scheduled, and shows what its last attempt got",
    async setup(stores) {
      await fillOne(stores);
      const [claimed] = await take(stores, 1);
      await stores.webhooks.settle([came(claimed!, "failed")], LATER);
      await replay(stores, claimed!);
      await take(stores);
    },
    async act(stores) {
      const before = await first(stores);
      const attempt = makeAttempt({ response_status: null, error: "It did not answer." });
      await stores.webhooks.settle([came(before, "retry", { attempt })], LATER + 7);
      return before;
    },
    async check(before, stores) {
      expect(before).toMatchObject({ kind: "replay", last_response_status: 500 });
      expect(await first(stores)).toMatchObject({
        ...{ kind: "scheduled", status: "pending", attempt_count: 2, lane: 1 },
        ...{ last_response_status: null, last_error: "It did not answer." },
      });
    },
  },
  {
    method: "webhooks.settle",
    title: "uses up no attempt if none was made",
    setup: fillOne,
    act: (stores) => settleNext(stores, "released"),
    async check(_, stores) {
      const untried = { status: "pending", tries: 0, attempt_count: 0, lane: 0, epoch: 0 };
      expect(await first(stores)).toMatchObject({ ...untried, next_attempt_at: FANNED });
      expect(await stores.sent.attempts()).toEqual([]);
      expect(await stores.webhooks.find("w-1")).toMatchObject({ failures: 0 });
    },
  },
  {
    method: "webhooks.settle",
    title: "writes nothing for a delivery that another process holds",
    async setup(stores) {
      await fillOne(stores);
    },
    act: async (stores) => {
      const [claimed] = await take(stores, 1);
      await stores.webhooks.release([claimed!]);
      await stores.webhooks.settle([came(claimed!, "delivered")], LATER);
      await stores.webhooks.settle([came({ ...claimed!, id: "d-9" }, "delivered")], LATER);
    },
    async check(_, stores) {
      expect(await first(stores)).toMatchObject({ status: "pending", attempt_count: 0 });
      expect(await stores.sent.attempts()).toEqual([]);
      expect(await stores.webhooks.find("w-1")).toMatchObject({ last_success_at: null });
    },
  },
];

/** A case whose act runs while the delivery is in flight. */
const meanwhile = (
  title: string,
  act: (stores: Stores, claimed: ClaimedDelivery) => Promise<unknown>,
  kind: ResultKind,
  expected: object,
  attempts = 1,
): Case => ({
  method: "webhooks.settle",
  title,
  setup: fillOne,
  async act(stores) {
    const [claimed] = await take(stores, 1);
    await act(stores, claimed!);
    return stores.webhooks.settle([came(claimed!, kind)], LATER + 9);
  },
  async check(_, stores) {
    expect(await first(stores)).toMatchObject({ epoch: 0, ...expected });
    expect(await stores.sent.attempts()).toHaveLength(attempts);
    expect(await miscounted(stores)).toEqual([]);
  },
});
const replay = ({ webhooks }: Stores, { id, webhook_id, account_id }: ClaimedDelivery) =>
  webhooks.replay(id, {
    ...{ webhookId: webhook_id, accountId: account_id, now: LATER + 5, waitingMax: MANY },
  });
const AGAIN = { status: "pending", tries: 0, lane: 0, kind: "replay", next_attempt_at: LATER + 5 };
const recover = async (stores: Stores, { webhook_id, account_id }: ClaimedDelivery) => {
  await disable(stores);
  await enable(stores);
  const asking = {
    ...{ webhookId: webhook_id, accountId: account_id, now: LATER + 5, waitingMax: MANY },
  };
  await stores.webhooks.recover(asking, { since: 0, until: LATER }, 9);
};

const meanwhileCases: Case[] = [
  ...(["delivered", "retry", "failed", "released"] as const).flatMap((kind) => {
    const attempts = kind === "released" ? 0 : 1;
    return [
      meanwhile(
        `keeps a delivery due that was replayed while in flight, and ${kind}`,
        ...([replay, kind, AGAIN, attempts] as const),
      ),
      meanwhile(
        `keeps a delivery due that was cancelled and recovered while in flight, and ${kind}`,
        ...([recover, kind, AGAIN, attempts] as const),
      ),
    ];
  }),
  meanwhile(
    "marks a delivery as delivered that was cancelled while in flight",
    ...([disable, "delivered", { status: "delivered", completed_at: LATER + 9 }] as const),
  ),
  meanwhile(
    "marks a delivery as delivered that was replayed and then cancelled while in flight",
    async (stores, claimed) => {
      await replay(stores, claimed);
      await disable(stores);
    },
    ...(["delivered", { status: "delivered", completed_at: LATER + 9 }] as const),
  ),
  meanwhile(
    "keeps a delivery cancelled that was cancelled while in flight and failed",
    ...([disable, "retry", { status: "cancelled", attempt_count: 1 }] as const),
  ),
  {
    method: "webhooks.settle",
    title: "stores the result of deliveries whose endpoint is deleted",
    setup: fillOne,
    async act(stores) {
      const [claimed] = await take(stores, 1);
      await stores.webhooks.remove("w-1", "a-1");
      return stores.webhooks.settle([came(claimed!, "gone")], LATER + 9);
    },
    async check(answer, { sent }) {
      expect(answer).toEqual([]);
      expect(await sent.attempts()).toHaveLength(1);
    },
  },
];

/** Fails one delivery at each of these hours from the first; returns the last result. */
const failAt = async (stores: Stores, hours: readonly number[]) => {
  let answer: unknown;
  for (const hour of hours) {
    const [claimed] = await take(stores, 1);
    const settlement = came(claimed!, "retry", { nextAttemptAt: LATER });
    answer = await stores.webhooks.settle([settlement], LATER + hour * HOUR_MS);
    await replay(stores, claimed!);
  }
  return answer;
};
const failing = [{ webhookId: "w-1", reason: "failing", updatedAt: BEGIN }];
const gone = { webhookId: "w-1", reason: "gone", updatedAt: BEGIN } as const;

const failedCases: Case[] = [
  {
    method: "webhooks.settle",
    title: "reports an endpoint that is gone; its delivery waits until it is disabled",
    setup: fillOne,
    act: (stores) => settleNext(stores, "gone"),
    async check(answer, stores) {
      expect(answer).toEqual([gone]);
      expect(await first(stores)).toMatchObject({ status: "pending", lane: 1, attempt_count: 1 });
      await stores.webhooks.disable(gone, makeFan(3));
      expect(await first(stores)).toMatchObject({ status: "cancelled" });
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.settle",
    title: "reports an endpoint that is gone, also if another result came with it",
    setup: fillOne,
    async act(stores) {
      const [one, other] = await take(stores, 2);
      return stores.webhooks.settle([came(one!, "gone"), came(other!, "delivered")], LATER);
    },
    check: (answer) => expect(answer).toEqual([gone]),
  },
  ...(
    [
      [
        "fails for 120 hours, ten times, over twelve hours",
        [0, 1, 2, 3, 4, 5, 6, 7, 12, 120],
        true,
      ],
      ["fails for less than 120 hours", [0, 1, 2, 3, 4, 5, 6, 7, 12, 119.9], false],
      ["failed less than ten times", [0, 1, 2, 3, 4, 5, 6, 12, 120], false],
      ["failed only recently, before a clock jump", [0, 1, 2, 3, 4, 5, 6, 7, 11.9, 120], false],
    ] as const
  ).map(
    ([title, hours, isHopeless]): Case => ({
      method: "webhooks.settle",
      title: `${isHopeless ? "reports" : "tolerates"} an endpoint that ${title}`,
      setup: fillOne,
      act: (stores) => failAt(stores, hours),
      async check(answer, { webhooks }) {
        expect(answer).toEqual(isHopeless ? failing : []);
        expect(await webhooks.find("w-1")).toMatchObject({
          ...{ failing_since: LATER, failures: hours.length, status: "enabled" },
        });
      },
    }),
  ),
  {
    method: "webhooks.settle",
    title: "resets an endpoint that succeeds, whatever failed before",
    setup: fillOne,
    async act(stores) {
      await failAt(stores, [0, 1, 2, 3, 4, 5, 6, 7, 12]);
      await settleNext(stores, "delivered");
      return failAt(stores, [120]);
    },
    async check(answer, { webhooks }) {
      expect(answer).toEqual([]);
      expect(await webhooks.find("w-1")).toMatchObject({
        ...{ failures: 1, failing_since: LATER + 120 * HOUR_MS },
      });
    },
  },
  {
    method: "webhooks.settle",
    title: "reports nothing of an endpoint whose URL changed meanwhile",
    setup: fillOne,
    async act(stores) {
      const [claimed] = await take(stores, 1);
      await stores.webhooks.update(own("w-1"), { url: "https://new.example.com/" }, makeFan(7));
      return stores.webhooks.settle([came(claimed!, "gone")], LATER);
    },
    async check(answer, stores) {
      expect(answer).toEqual([]);
      expect(await stores.webhooks.find("w-1")).toMatchObject({
        ...{ status: "enabled", failing_since: null, last_failure_at: null, failures: 0 },
      });
      expect(await first(stores)).toMatchObject({ status: "pending", attempt_count: 1 });
    },
  },
  {
    method: "webhooks.settle",
    title: "keeps the last hundred attempts of a delivery that is replayed endlessly",
    setup: fillOne,
    async act(stores) {
      const { id } = await first(stores);
      // The delivery is due before all others.
      const asking = { webhookId: "w-1", accountId: "a-1", now: FANNED - 1, waitingMax: 9 };
      const sizes = [await stores.storage.find("a-1")];
      for (let n = 0; n < 102; n++) {
        await stores.webhooks.replay(id, asking);
        await settleNext(stores, "delivered");
        sizes.push(await stores.storage.find("a-1"));
      }
      return { id, sizes };
    },
    async check(answer, stores) {
      const { id, sizes } = answer as { id: string; sizes: number[] };
      // Stored bytes grow with each attempt that is kept, and not with one that replaces another.
      const growing = sizes.filter((bytes, at) => bytes > (sizes[at - 1] ?? bytes));
      expect(growing).toHaveLength(100);
      expect(sizes.at(-1)).toBe(sizes[100]!);
      const kept = await stores.webhooks.listAttempts(id);
      expect(kept.map(({ number }) => number)).toEqual(
        Array.from({ length: 100 }, (_, n) => n + 3),
      );
      const all = await stores.sent.attempts();
      expect(all.filter(({ delivery_id }) => delivery_id === id)).toHaveLength(100);
      expect(await stores.webhooks.findDelivery(id)).toMatchObject({ attempt_count: 102 });
    },
  },
  {
    method: "webhooks.settle",
    title: "ends a test after its one attempt, also if the endpoint is gone",
    async setup(stores) {
      await fillOne(stores);
      await take(stores);
      const asking = { webhookId: "w-1", accountId: "a-1", now: LATER + 8, waitingMax: 9 };
      const fresh = { eventId: "e-test", deliveryId: "d-test", storedMax: 1e9 };
      await stores.webhooks.test(asking, fresh);
    },
    act: (stores) => settleNext(stores, "gone"),
    async check(answer, stores) {
      expect(answer).toEqual([gone]);
      expect(await stores.webhooks.findDelivery("d-test")).toMatchObject({
        ...{ status: "failed", attempt_count: 1, next_attempt_at: null },
      });
      expect(await miscounted(stores)).toEqual([]);
    },
  },
  {
    method: "webhooks.settle",
    title: "reports nothing of an endpoint enabled again since the attempt was sent",
    setup: fillOne,
    async act(stores) {
      const [claimed] = await take(stores, 1);
      await disable(stores);
      await enable(stores);
      return stores.webhooks.settle([came(claimed!, "gone")], LATER + 9);
    },
    async check(answer, { webhooks }) {
      expect(answer).toEqual([]);
      expect(await webhooks.find("w-1")).toMatchObject({ status: "enabled", failures: 1 });
    },
  },
  {
    method: "webhooks.settle",
    title: "reports nothing of an endpoint that is already disabled",
    setup: fillOne,
    async act(stores) {
      const [claimed] = await take(stores, 1);
      await stores.webhooks.update(own("w-1"), { status: "disabled" }, makeFan(7));
      return stores.webhooks.settle([came(claimed!, "gone")], LATER);
    },
    check: (answer) => expect(answer).toEqual([]),
  },
];

export const webhookSettleCases: readonly Case[] = [
  ...settledCases,
  ...meanwhileCases,
  ...failedCases,
];
