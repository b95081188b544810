// What the operator does with endpoints and deliveries, of whichever account.
import { expect, test } from "bun:test";
import { createWebhookBook } from "../../src/webhooks/index.ts";
import { failureOf } from "../support/database.ts";
import { ACCOUNT, openHouse, WISH } from "./house.ts";

const NOBODYS = "01920000-0000-7000-8000-00000000dead";

test("endpoints of all accounts are listed, the newest first, and found by their ids", async () => {
  await using house = await openHouse();
  const book = createWebhookBook(house.around);
  const first = await house.endpoints.create(ACCOUNT, WISH);
  await house.clock.advance(1);
  const second = await house.endpoints.create("a-2", WISH);
  expect(await book.list(null)).toEqual([second.row, first.row]);
  expect(await book.list(ACCOUNT)).toEqual([first.row]);
  expect(await book.find(first.row.id)).toEqual(first.row);
  expect(await book.find(NOBODYS)).toBeUndefined();
});

test("deliveries are listed, sent again one by one, and recovered", async () => {
  await using house = await openHouse();
  const book = createWebhookBook(house.around);
  const { row } = await house.endpoints.create(ACCOUNT, WISH);
  const { ids: made, clock, settings } = house.around;
  const { waiting_deliveries: waiting_max } = settings().limits;
  for (let n = 0; n < 3; n++) {
    await house.clock.advance(1);
    const about = { id: made.uuid(), account_id: ACCOUNT, type: "run.completed" } as const;
    await house.sent.tell({ ...about, at: clock.now(), data: {} });
    const fan = { limit: 9, first_id: made.uuid(), now: clock.now(), waiting_max };
    await house.store.fanOut(ACCOUNT, fan);
  }
  const all = { webhook_id: row.id, status: null, type: null, before: null, limit: 9 };
  const ids = (await house.store.listDeliveries(all)).map(({ id }) => id);
  expect(ids).toHaveLength(3);
  const list = async (status: "failed" | null, limit = 9) => {
    const found = await book.listDeliveries({ webhook_id: row.id, status, limit });
    return found.map(({ id }) => id);
  };
  expect(await list(null)).toEqual(ids);
  expect(await list(null, 2)).toEqual(ids.slice(0, 2));
  for (const id of ids) await house.sent.settle(id, "failed", house.clock.now());
  expect(await list("failed")).toEqual(ids);
  expect(await book.replay(ids[0]!)).toMatchObject({ id: ids[0], status: "pending" });
  const span = { since: 0, until: house.clock.now() };
  expect(await book.recover(row.id, span)).toBe(2);
  expect(await list("failed")).toEqual([]);
  expect(await book.findDelivery(ids[1]!)).toMatchObject({ status: "pending" });
});

test("what is not there, and what its state does not allow, is refused", async () => {
  await using house = await openHouse();
  const book = createWebhookBook(house.around);
  const { row } = await house.endpoints.create(ACCOUNT, WISH);
  const { id } = await house.deliveries.test(row);
  await house.endpoints.change(row.id, ACCOUNT, { status: "disabled" });
  const span = { since: 0, until: house.clock.now() };
  for (const [work, code] of [
    [book.replay(NOBODYS), "delivery_not_found"],
    [book.recover(NOBODYS, span), "webhook_not_found"],
    [book.replay(id), "endpoint_disabled"],
    [book.recover(row.id, span), "endpoint_disabled"],
  ] as const) {
    expect(await failureOf(work)).toMatchObject({ code });
  }
});
