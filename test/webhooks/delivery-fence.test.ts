// Deliveries of a process that is frozen after their claim: a fake freeze, in which neither its
// heartbeats nor its reads are answered.
import { afterEach, expect, test } from "bun:test";
import { createTrials } from "./trials.ts";

const { open, closeAll } = createTrials();
afterEach(closeAll);

const SECOND_MS = 1_000;

/** A process that is frozen right before its next attempt. */
function createFreeze() {
  const reached = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  let isFrozen = false;
  const guard = <T extends object>(store: T): T => {
    const wrap =
      (name: string) =>
      async (...given: unknown[]) => {
        const act = store[name as keyof T] as (...all: unknown[]) => unknown;
        const answer = name === "beat" ? undefined : await act(...given);
        if (name === "findSending") {
          isFrozen = true;
          reached.resolve();
        }
        if (isFrozen) await (name === "beat" ? woken : reading).promise;
        return name === "beat" ? act(...given) : answer;
      };
    const wrapped = ["beat", "findSending"].filter((name) => name in store);
    return { ...store, ...Object.fromEntries(wrapped.map((name) => [name, wrap(name)])) };
  };
  const wake = () => {
    reading.resolve();
    woken.resolve();
  };
  /** Its reads are answered, and no heartbeat. */
  const wakeReads = reading.resolve;
  return { reached: reached.promise, wake, wakeReads, guard };
}

test("a process that is frozen beyond its lease sends nothing of what it had claimed", async () => {
  const freeze = createFreeze();
  const first = await open(undefined, { isShared: true, guard: freeze.guard });
  await first.listen();
  const [event] = await first.happen();
  await freeze.reached;
  const second = await open(undefined, { isShared: true });
  await second.pass(12 * SECOND_MS);
  expect(second.sent.map(({ id }) => id)).toEqual([event!]);
  freeze.wake();
  await first.pass(60 * SECOND_MS);
  expect(first.sent).toEqual([]);
  expect(await second.attempts()).toHaveLength(1);
});

test("the wait for a heartbeat is no part of an attempt's time", async () => {
  const freeze = createFreeze();
  const first = await open(undefined, { isShared: true, guard: freeze.guard });
  await first.listen();
  await first.happen();
  await freeze.reached;
  await first.pass(7 * SECOND_MS);
  freeze.wakeReads();
  await first.pass(2 * SECOND_MS);
  expect(first.sent).toEqual([]);
  const started_at = first.clock.now();
  freeze.wake();
  await first.settle();
  const { at, headers } = first.sent[0]!;
  expect([at, headers["webhook-timestamp"]]).toEqual([
    started_at,
    String(Math.floor(started_at / SECOND_MS)),
  ]);
  expect(await first.attempts()).toMatchObject([{ started_at, duration_ms: 0 }]);
});

test("a process that is frozen for a shorter time sends after its next heartbeat", async () => {
  const freeze = createFreeze();
  const first = await open(undefined, { isShared: true, guard: freeze.guard });
  await first.listen();
  const [event] = await first.happen();
  await freeze.reached;
  await first.pass(9 * SECOND_MS);
  expect(first.sent).toEqual([]);
  freeze.wake();
  await first.settle();
  expect(first.sent.map(({ id }) => id)).toEqual([event!]);
});
