// Tests the operator's work on endpoints and deliveries, of all accounts.
import { expect, test } from "bun:test";
import { Deliveries } from "../../src/webhooks/deliveries.ts";
import { createWebhookQueries } from "../../src/webhooks/index.ts";
import { webhookStore } from "../../src/webhooks/store/index.ts";
import { failureOf } from "../support/database.ts";
import { makeAttempt } from "../support/webhooks.ts";
import { ACCOUNT, openFixture, REQUEST } from "./fixture.ts";

const NOBODYS = "01920000-0000-7000-8000-00000000dead";

test("endpoints of all accounts are listed newest first, and found by id", async () => {
  await using fixture = await openFixture();
  const queries = createWebhookQueries(fixture.deps);
  const first = await fixture.endpoints.create(ACCOUNT, REQUEST);
  await fixture.clock.advance(1);
  const second = await fixture.endpoints.create("a-2", REQUEST);
  expect(await queries.list(null)).toEqual([second.row, first.row]);
  expect(await queries.list(ACCOUNT)).toEqual([first.row]);
  expect(await queries.find(first.row.id)).toEqual(first.row);
  expect(await queries.find(NOBODYS)).toBeUndefined();
});

test("deliveries are listed, replayed one by one, and recovered", async () => {
  await using fixture = await openFixture();
  const queries = createWebhookQueries(fixture.deps);
  const { row } = await fixture.endpoints.create(ACCOUNT, REQUEST);
  const { ids: made, clock, settings } = fixture.deps;
  const { waiting_deliveries: waitingMax } = settings().limits;
  for (let n = 0; n < 3; n++) {
    await fixture.clock.advance(1);
    const about = { id: made.uuid(), account_id: ACCOUNT, type: "run.completed" } as const;
    await fixture.sent.tell({ ...about, at: clock.now(), data: {} });
    const batch = { limit: 9, firstId: made.uuid(), now: clock.now(), waitingMax };
    await fixture.store.fanOut(ACCOUNT, batch);
  }
  const all = { webhookId: row.id, limit: 9 };
  const ids = (await fixture.store.listDeliveries(all)).map(({ id }) => id);
  expect(ids).toHaveLength(3);
  const list = async (status?: "failed", limit = 9) => {
    const found = await queries.listDeliveries({ webhookId: row.id, status, limit });
    return found.map(({ id }) => id);
  };
  expect(await list()).toEqual(ids);
  expect(await list(undefined, 2)).toEqual(ids.slice(0, 2));
  const failed = (since: number) => queries.countHealth(row.id, clock.now() - since);
  expect(await failed(9)).toEqual({ delivered: 0, failed: 0 });
  for (const id of ids) await fixture.sent.settle(id, "failed", fixture.clock.now());
  expect(await failed(9)).toEqual({ delivered: 0, failed: 3 });
  // Those that were made at that time or later, a millisecond after each other.
  expect(await failed(1)).toEqual({ delivered: 0, failed: 2 });
  expect(await list("failed")).toEqual(ids);
  const [lost] = await queries.listDeliveries({ webhookId: row.id, status: "failed", limit: 1 });
  expect(await queries.replay(lost!)).toMatchObject({ id: ids[0], status: "pending" });
  const range = { since: 0, until: fixture.clock.now() };
  expect(await queries.recover(row, range)).toBe(2);
  expect(await list("failed")).toEqual([]);
  expect(await queries.findDelivery(ids[1]!)).toMatchObject({ status: "pending" });
});

test("a recovery of many is written in parts of 500", async () => {
  const limits: number[] = [];
  const recover = async (_request: unknown, _range: unknown, limit: number) => {
    limits.push(limit);
    return { queued: limit, rest: limits.length < 3 ? "more" : "none" };
  };
  await using fixture = await openFixture();
  const database = { bind: () => ({ recover }) };
  const deliveries = new Deliveries({ ...fixture.deps, database } as never);
  const own = { id: NOBODYS, account_id: ACCOUNT };
  expect(await deliveries.recover(own, { since: 0, until: 1 })).toBe(1_500);
  expect(limits).toEqual([500, 500, 500]);
});

test("attempts are shown with what they sent, but for the signature, and older ones without it", async () => {
  await using fixture = await openFixture();
  const queries = createWebhookQueries(fixture.deps);
  const { row } = await fixture.endpoints.create(ACCOUNT, REQUEST);
  const delivery = await queries.test(row);
  const attempt = makeAttempt(delivery.id, 1);
  await fixture.sent.attempt({ ...attempt, url: null, signatures: null });
  await fixture.sent.attempt({ ...attempt, number: 2, signatures: 2 });
  const { attempts, body } = await queries.listSent(delivery);
  const { event_id } = delivery;
  const seconds = String(Math.floor(attempt.started_at / 1_000));
  expect(attempts).toMatchObject([
    { number: 1, response_body: "no", url: null, headers: null, signed_head: null },
    {
      ...{ number: 2, url: attempt.url, signatures: 2, signed_head: `${event_id}.${seconds}.` },
      headers: { "webhook-id": event_id, "webhook-timestamp": seconds },
    },
  ]);
  expect(attempts[1]!.headers).not.toHaveProperty("webhook-signature");
  expect(JSON.parse(body!)).toMatchObject({ id: event_id, type: "webhook.test" });
  await fixture.sent.forget(event_id);
  expect(await queries.listSent(delivery)).toMatchObject({ body: null });
});

test("a deleted endpoint or a wrong state is refused", async () => {
  await using fixture = await openFixture();
  const queries = createWebhookQueries(fixture.deps);
  const { row } = await fixture.endpoints.create(ACCOUNT, REQUEST);
  const delivery = await fixture.deliveries.test(row);
  await fixture.endpoints.change(row.id, ACCOUNT, { status: "disabled" });
  const range = { since: 0, until: fixture.clock.now() };
  for (const [work, code] of [
    [queries.replay({ ...delivery, webhook_id: NOBODYS }), "webhook_not_found"],
    [queries.recover({ ...row, id: NOBODYS }, range), "webhook_not_found"],
    [queries.replay(delivery), "endpoint_disabled"],
    [queries.recover(row, range), "endpoint_disabled"],
  ] as const) {
    expect(await failureOf(work)).toMatchObject({ code });
  }
});

test("a delivery is read with the attempts that it counts, also if one ends meanwhile", async () => {
  await using fixture = await openFixture();
  const { deps, database, sent } = fixture;
  const { row } = await fixture.endpoints.create(ACCOUNT, REQUEST);
  const { id } = await fixture.deliveries.test(row);
  let isDone = false;
  /** Ends an attempt behind the first of the reads. */
  const meanwhile =
    <G extends unknown[], T>(read: (...given: G) => Promise<T>) =>
    async (...given: G): Promise<T> => {
      const found = await read(...given);
      if (isDone) return found;
      isDone = true;
      await sent.attempt(makeAttempt(id, 1));
      await sent.settle(id, "delivered", deps.clock.now());
      return found;
    };
  const store = database.bind(webhookStore);
  const { findDelivery, listAttempts } = store;
  const interrupted = {
    ...{ ...store, findDelivery: meanwhile(findDelivery), listAttempts: meanwhile(listAttempts) },
  };
  const bound = { ...database, bind: () => interrupted as never };
  const deliveries = new Deliveries({ ...deps, database: bound });
  for (const count of [0, 1]) {
    const shown = await deliveries.get(row.id, id);
    expect(shown).toMatchObject({ attempt_count: count });
    expect(shown.attempts).toHaveLength(count);
  }
});
