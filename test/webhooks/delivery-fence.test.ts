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
        if (isFrozen) await woken.promise;
        return name === "beat" ? act(...given) : answer;
      };
    const wrapped = ["beat", "findSending"].filter((name) => name in store);
    return { ...store, ...Object.fromEntries(wrapped.map((name) => [name, wrap(name)])) };
  };
  return { reached: reached.promise, wake: woken.resolve, guard };
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
