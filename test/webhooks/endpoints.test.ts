// Tests endpoints and their secrets: concurrent rotations, large backlogs, and wake-ups.
import { expect, test } from "bun:test";
import { createSecretPairs } from "../../src/crypto/signing/secret-pair.ts";
import { makeHappened } from "../support/webhooks.ts";
import { ACCOUNT, type Fixture, openFixture, REQUEST } from "./fixture.ts";

const openPair = async ({ deps, clock }: Fixture, row_id: string) => {
  const place = { kind: "webhook" as const, row_id, account_id: ACCOUNT };
  const opened = await createSecretPairs(deps.secrets).open(place, clock.now());
  return opened.ok ? opened.secrets : [];
};

test("agents.resources.webhook_endpoint two concurrent rotations both keep their secrets", async () => {
  await using fixture = await openFixture();
  const { endpoints } = fixture;
  const made = await endpoints.create(ACCOUNT, REQUEST);
  const { id } = made.row;
  expect(await openPair(fixture, id)).toEqual([made.secret]);
  const rotate = () => endpoints.rotate(id, ACCOUNT, 60_000);
  const both = await Promise.all([rotate(), rotate()]);
  const [last, first] = both.toSorted(
    (one, other) => other.row.secret_number - one.row.secret_number,
  );
  expect([first!.row.secret_number, last!.row.secret_number]).toEqual([2, 3]);
  expect(await openPair(fixture, id)).toEqual([last!.secret, first!.secret]);
  // After its overlap, or without one, the former secret signs no more.
  await fixture.clock.advance(60_000);
  expect(await openPair(fixture, id)).toEqual([last!.secret]);
  const alone = await endpoints.rotate(id, ACCOUNT, 0);
  expect(await openPair(fixture, id)).toEqual([alone.secret]);
});

test("an endpoint is created behind any number of pending events", async () => {
  await using fixture = await openFixture();
  const { row } = await fixture.endpoints.create(ACCOUNT, REQUEST);
  for (let n = 0; n < 450; n++) await fixture.sent.tell(makeHappened(`e-${n}`));
  const late = await fixture.endpoints.create(ACCOUNT, REQUEST);
  expect(await fixture.sent.waiting()).toEqual([]);
  const counts = await fixture.sent.count();
  const of = (id: string) => counts.find((one) => one.id === id)!.counted;
  expect([of(row.id), of(late.row.id)]).toEqual([450, 0]);
  for (let n = 450; n < 900; n++) await fixture.sent.tell(makeHappened(`e-${n}`));
  await fixture.endpoints.change(late.row.id, ACCOUNT, { events: ["run.failed"] });
  expect(await fixture.sent.waiting()).toEqual([]);
  expect((await fixture.sent.count()).map(({ counted }) => counted).toSorted()).toEqual([450, 900]);
});

test("the worker is woken when a delivery is due, and when an endpoint changes", async () => {
  await using fixture = await openFixture();
  const { endpoints, deliveries, store } = fixture;
  const notified: string[] = [];
  for (const channel of ["webhooks.due", "webhooks.endpoint", "outbox"]) {
    fixture.database.listen(channel, (id) => notified.push(`${channel} ${id}`));
  }
  /** The notifications. */
  const during = async (work: () => Promise<unknown>) => {
    await work();
    return notified.splice(0);
  };
  // Nobody waits for events of an account without an endpoint.
  expect(await during(() => fixture.sent.tell(makeHappened("e-0")))).toEqual([]);
  const { row } = await endpoints.create(ACCOUNT, REQUEST);
  const { id } = row;
  expect(notified.splice(0)).toEqual([`webhooks.endpoint ${id}`]);
  const happened = makeHappened("e-1");
  expect(await during(() => fixture.sent.tell(happened))).toEqual([`outbox ${ACCOUNT}`]);
  const disable = () => endpoints.change(id, ACCOUNT, { status: "disabled" });
  expect(await during(disable)).toEqual([`webhooks.due ${id}`, `webhooks.endpoint ${id}`]);
  const enable = () => endpoints.change(id, ACCOUNT, { status: "enabled" });
  expect(await during(enable)).toEqual([`webhooks.endpoint ${id}`]);
  expect(await during(() => deliveries.test(row))).toEqual([`webhooks.due ${id}`]);
  const always = { since: 0, until: fixture.clock.now() };
  expect(await during(() => deliveries.recover(row, always))).toEqual([`webhooks.due ${id}`]);
  expect(await during(() => deliveries.recover(row, always))).toEqual([]);
  const [delivery] = await fixture.sent.deliveries();
  expect(await during(() => deliveries.replay(row, delivery!.id))).toEqual([`webhooks.due ${id}`]);
  expect(await during(() => endpoints.rotate(id, ACCOUNT, 0))).toEqual([`webhooks.endpoint ${id}`]);
  expect(await during(() => endpoints.change(id, ACCOUNT, {}))).toEqual([]);
  expect(await during(() => endpoints.remove(id, ACCOUNT))).toEqual([`webhooks.endpoint ${id}`]);
  expect(await store.list(null)).toEqual([]);
});
