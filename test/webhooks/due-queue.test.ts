// Tests the in-memory queue of endpoints: turns, eviction, and health.
import { expect, test } from "bun:test";
import { ClaimPlanner, DueQueue, NEVER } from "../../src/webhooks/due-queue.ts";
import { EndpointHealth, HEALTHS } from "../../src/webhooks/endpoint-health.ts";
import { createManualClock } from "../support/clock.ts";

const ENDPOINTS_KEPT = 10_000;

const waiting = (id: string, fields: object = {}) => ({
  ...{ id, account_id: "a-1", failing_since: null, last_success_at: null },
  ...{ first_due_at: null, retry_due_at: null, first_far_at: null, retry_far_at: null },
  ...fields,
});
const listDue = (queue: DueQueue) =>
  HEALTHS.flatMap((health) => [...queue.due(health)]).map(({ endpoint }) => endpoint.id);

test("an endpoint that is announced again keeps its turn, and one that pauses loses it", () => {
  const queue = new DueQueue(createManualClock(), () => true);
  for (const id of ["w-1", "w-2", "w-3"]) queue.load(waiting(id, { first_due_at: 1 }));
  queue.announce("w-1");
  expect(listDue(queue)).toEqual(["w-1", "w-2", "w-3"]);
  const [first] = queue.due("new");
  queue.pause(first!.endpoint);
  queue.announce("w-1");
  expect(listDue(queue)).toEqual(["w-2", "w-3"]);
  queue.resume("w-1");
  expect(listDue(queue)).toEqual(["w-2", "w-3", "w-1", "w-1"]);
});

test("an unknown endpoint is read before it is due", () => {
  const queue = new DueQueue(createManualClock(), () => true);
  queue.announce("w-1");
  queue.resume("w-2");
  expect(listDue(queue)).toEqual([]);
  expect([queue.takeUnknown(), queue.takeUnknown()]).toEqual(["w-1", "w-2"]);
  expect(queue.takeUnknown()).toBeUndefined();
});

test("a queue that a claim has emptied is due again only when something is announced", () => {
  const queue = new DueQueue(createManualClock(), () => true);
  queue.load(waiting("w-1", { first_due_at: 1 }));
  const [first] = queue.due("new");
  queue.beginClaim(first!);
  queue.endClaim(first!, NEVER);
  expect(listDue(queue)).toEqual([]);
  queue.announce("w-1");
  expect(listDue(queue)).toEqual(["w-1"]);
});

test("endpoints without a backlog are dropped once there are many", () => {
  const queue = new DueQueue(createManualClock(), () => true);
  const first = { first_due_at: 1 };
  for (const id of ["claimed", "paused", "waiting"]) queue.load(waiting(id, first));
  const [claimed, paused] = [...queue.due("new")];
  claimed!.endpoint.heldSlots = 1;
  for (const { endpoint } of [claimed!, paused!]) endpoint.queues[0].dueAt = Infinity;
  queue.pause(paused!.endpoint);
  for (let n = 0; n < ENDPOINTS_KEPT; n++) queue.load(waiting(`w-${n}`));
  for (const id of ["w-0", "claimed", "paused", "waiting"]) queue.announce(id);
  expect([queue.takeUnknown(), queue.takeUnknown()]).toEqual(["w-0", undefined]);
});

test("while many endpoints have a backlog, one without is dropped only once they are twice as many", () => {
  const queue = new DueQueue(createManualClock(), () => true);
  const load = (count: number, name: string, fields: object) => {
    for (let n = 0; n < count; n++) queue.load(waiting(`${name}-${n}`, fields));
  };
  load(ENDPOINTS_KEPT, "busy", { first_due_at: 1 });
  load(2, "idle", {});
  queue.announce("idle-0");
  expect(queue.takeUnknown()).toBeUndefined();
  load(ENDPOINTS_KEPT - 2, "more", { first_due_at: 1 });
  load(1, "last", {});
  queue.announce("idle-1");
  expect(queue.takeUnknown()).toBe("idle-1");
});

test("a claim is of 64 queues at most", () => {
  const queue = new DueQueue(createManualClock(), () => true);
  for (let n = 0; n < 70; n++) {
    const last_success_at = n < 60 ? 1 : null;
    queue.load(waiting(`w-${n}`, { account_id: `a-${n}`, first_due_at: 1, last_success_at }));
  }
  expect(new ClaimPlanner(queue).plan()).toHaveLength(64);
});

test("the stored health applies until this process has tried the endpoint", () => {
  const health = new EndpointHealth(createManualClock());
  expect(health.get()).toBe("new");
  health.load({ failing_since: null, last_success_at: 5 });
  expect(health.get()).toBe("healthy");
  health.load({ failing_since: 7, last_success_at: 5 });
  expect(health.get()).toBe("failing");
  health.end(health.begin(), "delivered");
  health.load({ failing_since: 7, last_success_at: 5 });
  expect(health.get()).toBe("healthy");
});

test("an endpoint counts as failing from a slow success until a quick one", async () => {
  const clock = createManualClock();
  const health = new EndpointHealth(clock);
  const deliver = async (duration_ms: number) => {
    const attempt = health.begin();
    await clock.advance(duration_ms);
    health.end(attempt, "delivered");
    return health.get();
  };
  expect(await deliver(1_000)).toBe("healthy");
  expect(await deliver(1_001)).toBe("failing");
  expect(await deliver(1_000)).toBe("healthy");
  health.begin();
  await clock.advance(1_000);
  expect(health.isStalled()).toBe(false);
  await clock.advance(1);
  expect(health.isStalled()).toBe(true);
});
