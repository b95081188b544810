// What of deliveries goes when it is old, and what stays.
import { expect, test } from "bun:test";
import { createDeliverySweeps } from "../../src/webhooks/retention.ts";
import { makeAttempt } from "../support/webhooks.ts";
import { ACCOUNT, type House, openHouse, WISH } from "./house.ts";

const DAY_MS = 86_400_000;

/** How many rows went, of deleted endpoints and of old deliveries. */
async function sweep({ around, clock }: House): Promise<number[]> {
  const rows: number[] = [];
  for (const { run } of createDeliverySweeps(around))
    rows.push(await run(clock.now(), () => false));
  return rows;
}

/** As many deliveries of tests, one in three of which was delivered, one failed, and one waits. */
async function fill(house: House, count: number) {
  const { row } = await house.endpoints.create(ACCOUNT, WISH);
  for (let n = 0; n < count; n++) {
    const { id } = await house.deliveries.test(row);
    await house.sent.attempt(makeAttempt(id, 1));
    if (n % 3 > 0) {
      await house.sent.settle(id, n % 3 === 1 ? "failed" : "delivered", house.clock.now());
    }
  }
  return row;
}

test("deliveries that are over go with their attempts when their events do, and those that wait stay", async () => {
  await using house = await openHouse('[retention]\nevents = "10d"');
  await fill(house, 9);
  await house.clock.advance(10 * DAY_MS);
  await fill(house, 3);
  await sweep(house);
  expect(await house.sent.deliveries()).toHaveLength(12);
  await house.clock.advance(1);
  expect(await sweep(house)).toEqual([0, 6]);
  const left = await house.sent.deliveries();
  const statuses: string[] = left.map(({ status }) => status).toSorted();
  expect(statuses).toEqual(["delivered", "failed", ...Array(4).fill("pending")]);
  const tried = (await house.sent.attempts()).map(({ delivery_id }) => delivery_id);
  expect(tried.toSorted()).toEqual(left.map(({ id }) => id).toSorted());
});

test("what a deleted endpoint has left goes in several passes, also where events are kept forever", async () => {
  await using house = await openHouse('[retention]\nevents = "forever"');
  const gone = await fill(house, 2_100);
  await fill(house, 3);
  await house.clock.advance(1_000 * DAY_MS);
  await house.endpoints.remove(gone.id, ACCOUNT);
  expect(await sweep(house)).toEqual([2_101, 0]);
  expect(await house.sent.gone()).toEqual([]);
  expect(await house.sent.deliveries()).toHaveLength(3);
  expect(await house.sent.attempts()).toHaveLength(3);
});
