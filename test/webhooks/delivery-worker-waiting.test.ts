// Tests deliveries that wait without an attempt, and clocks that are set.
import { afterEach, describe, expect, test } from "bun:test";
import { ACCOUNT, fail, reply, type Trial } from "./trial.ts";
import { createTrials } from "./trials.ts";

const { open, closeAll } = createTrials();
afterEach(closeAll);

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;

const untried = { status: "pending", attempt_count: 0, tries: 0 };

describe("if secrets cannot be opened", () => {
  const closeBox = (trial: Trial) => {
    let asked = 0;
    trial.box.open = async () => {
      asked += 1;
      return { ok: false, reason: "unavailable" };
    };
    return {
      ask: () => asked,
      open() {
        trial.box.open = (place, decoy) => trial.secrets.open(place, decoy);
      },
    };
  };

  test("deliveries wait, no attempt is used up, and one a minute retries", async () => {
    const trial = await open();
    await trial.listen();
    const box = closeBox(trial);
    await trial.happen(20);
    for (const delivery of await trial.deliveries()) expect(delivery).toMatchObject(untried);
    const before = box.ask();
    await trial.pass(10 * MINUTE_MS);
    expect(trial.sent).toEqual([]);
    expect(box.ask() - before).toBeGreaterThanOrEqual(9);
    expect(box.ask() - before).toBeLessThanOrEqual(24);
    box.open();
    await trial.pass(2 * MINUTE_MS + 2_000);
    expect(trial.sent).toHaveLength(20);
    expect((await trial.deliveries()).map(({ status }) => status)).toEqual(
      Array(20).fill("delivered"),
    );
    expect(await trial.store.find((await trial.deliveries())[0]!.webhook_id)).toMatchObject({
      ...{ failures: 0, failing_since: null, pending_deliveries: 0 },
    });
  });

  test("a new secret is used at once", async () => {
    const trial = await open();
    const { id } = await trial.listen();
    const box = closeBox(trial);
    await trial.happen(3);
    box.open();
    await trial.endpoints.rotate(id, ACCOUNT, 0);
    await trial.settle();
    expect(trial.sent).toHaveLength(3);
  });
});

test("an event that a running claim missed is sent at once", async () => {
  let isFirst = true;
  const trial: Trial = await open(undefined, {
    wrap: (store) => ({
      ...store,
      async claim(...given) {
        const taken = await store.claim(...given);
        if (isFirst) {
          isFirst = false;
          await trial.happen();
        }
        return taken;
      },
    }),
  });
  await trial.listen();
  await trial.happen();
  await trial.settle();
  expect(trial.sent).toHaveLength(2);
});

test("while webhooks are disabled events are fanned out and wait, and are sent once they are enabled", async () => {
  const trial = await open();
  await trial.listen();
  trial.agents.webhooks = false;
  await trial.happen(3);
  await trial.pass(10 * MINUTE_MS);
  expect(trial.sent).toEqual([]);
  for (const delivery of await trial.deliveries()) expect(delivery).toMatchObject(untried);
  trial.agents.webhooks = true;
  trial.worker.wake();
  await trial.settle();
  expect(trial.sent).toHaveLength(3);
});

test("a deleted event ends its delivery without an attempt", async () => {
  const trial = await open();
  await trial.listen();
  trial.agents.webhooks = false;
  const [event] = await trial.happen();
  await trial.outside.forget(event!);
  trial.agents.webhooks = true;
  trial.worker.wake();
  await trial.settle();
  expect(trial.sent).toEqual([]);
  const [delivery] = await trial.deliveries();
  expect(delivery).toMatchObject({ status: "failed", attempt_count: 0, next_attempt_at: null });
  expect(delivery!.last_error).toStartWith("event_expired");
  expect(await trial.attempts()).toEqual([]);
});

describe("a clock that was set", () => {
  test("back by a year delays no event from before", async () => {
    const trial = await open();
    await trial.listen();
    trial.agents.webhooks = false;
    await trial.happen(2);
    trial.clock.shiftWall(-YEAR_MS);
    trial.agents.webhooks = true;
    await trial.pass(4_000);
    expect(trial.sent).toHaveLength(2);
  });

  test("back by a year delays no retry", async () => {
    const trial = await open((_, nth) => (nth === 1 ? fail() : reply()));
    await trial.listen();
    await trial.happen();
    trial.clock.shiftWall(-YEAR_MS);
    await trial.pass(4_000);
    expect(trial.sent).toHaveLength(2);
    expect((await trial.deliveries())[0]).toMatchObject({ status: "delivered" });
  });

  test("back by a year while no process ran delays no retry", async () => {
    const trial = await open(() => fail());
    await trial.listen();
    await trial.happen();
    await trial.stop();
    trial.clock.shiftWall(-YEAR_MS);
    const next = await open();
    expect(next.sent).toHaveLength(1);
  });

  test("back by an hour leaves a retry where it was, and nothing else", async () => {
    const trial = await open((_, nth) => (nth === 1 ? fail() : reply()));
    await trial.listen();
    await trial.happen();
    trial.clock.shiftWall(-HOUR_MS);
    await trial.happen();
    await trial.pass(4_000);
    expect(trial.sent).toHaveLength(2);
    await trial.pass(HOUR_MS + 2_000);
    expect(trial.sent).toHaveLength(3);
  });

  test("forward makes due what is due by the new time", async () => {
    const trial = await open((_, nth) => (nth <= 2 ? fail() : reply()));
    await trial.listen();
    await trial.happen();
    await trial.pass(5_000);
    expect(trial.sent).toHaveLength(2);
    trial.clock.shiftWall(HOUR_MS);
    await trial.pass(2_000);
    expect(trial.sent).toHaveLength(3);
  });
});
