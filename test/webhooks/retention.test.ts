// Tests which old deliveries are deleted.
import { expect, test } from "bun:test";
import { createDeliverySweeps } from "../../src/webhooks/index.ts";
import { makeAttempt } from "../support/webhooks.ts";
import { ACCOUNT, type Fixture, openFixture, REQUEST } from "./fixture.ts";

const DAY_MS = 86_400_000;

/** The number of deleted rows, of deleted endpoints and of old deliveries. */
async function sweep({ deps, clock }: Fixture): Promise<number[]> {
  const rows: number[] = [];
  for (const { run } of createDeliverySweeps(deps)) rows.push(await run(clock.now(), () => false));
  return rows;
}

/** This number of test deliveries: a third each is delivered, failed, and pending. */
async function fill(fixture: Fixture, count: number) {
  const { row } = await fixture.endpoints.create(ACCOUNT, REQUEST);
  for (let n = 0; n < count; n++) {
    const { id } = await fixture.deliveries.test(row);
    await fixture.sent.attempt(makeAttempt(id, 1));
    if (n % 3 > 0) {
      await fixture.sent.settle(id, n % 3 === 1 ? "failed" : "delivered", fixture.clock.now());
    }
  }
  return row;
}

test("ended deliveries are deleted with their attempts when their events are, and pending ones stay", async () => {
  await using fixture = await openFixture('[retention]\nevents = "10d"');
  await fill(fixture, 9);
  await fixture.clock.advance(10 * DAY_MS);
  await fill(fixture, 3);
  await sweep(fixture);
  expect(await fixture.sent.deliveries()).toHaveLength(12);
  await fixture.clock.advance(1);
  expect(await sweep(fixture)).toEqual([0, 6]);
  const left = await fixture.sent.deliveries();
  const statuses: string[] = left.map(({ status }) => status).toSorted();
  expect(statuses).toEqual(["delivered", "failed", ...Array(4).fill("pending")]);
  const tried = (await fixture.sent.attempts()).map(({ delivery_id }) => delivery_id);
  expect(tried.toSorted()).toEqual(left.map(({ id }) => id).toSorted());
});

test("the rows of a deleted endpoint are deleted in several passes, also if events are kept forever", async () => {
  await using fixture = await openFixture('[retention]\nevents = "forever"');
  const gone = await fill(fixture, 2_100);
  await fill(fixture, 3);
  await fixture.clock.advance(1_000 * DAY_MS);
  await fixture.endpoints.remove(gone.id, ACCOUNT);
  expect(await sweep(fixture)).toEqual([2_101, 0]);
  expect(await fixture.sent.gone()).toEqual([]);
  expect(await fixture.sent.deliveries()).toHaveLength(3);
  expect(await fixture.sent.attempts()).toHaveLength(3);
});
