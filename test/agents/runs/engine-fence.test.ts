// Calls of a process that is frozen between their intent and their first byte: a fake freeze, in
// which none of its heartbeats and of its other writes is answered.
import { afterEach, expect, test } from "bun:test";
import { outcomesOf, verifyLog } from "./log.ts";
import { createProcesses } from "./processes.ts";
import { createReceiver, pinWriter } from "./senders.ts";
import { call, script, type TrialOptions } from "./trial.ts";

const { open, closeAll } = createProcesses();
afterEach(closeAll);

const SECOND_MS = 1_000;

/** A process that is frozen once an intent of it is stored. */
function createFreeze() {
  const reached = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let isFrozen = false;
  const options: TrialOptions = {
    isShared: true,
    wrap: (store) => ({
      ...store,
      async intend(...given) {
        const intent = await store.intend(...given);
        isFrozen = true;
        reached.resolve();
        await answered.promise;
        return intent;
      },
    }),
    wrapProcesses: (store) => ({
      ...store,
      async beat(epoch) {
        if (isFrozen) await woken.promise;
        return store.beat(epoch);
      },
    }),
  };
  const wake = () => {
    answered.resolve();
    woken.resolve();
  };
  /** Its intent is answered, and no heartbeat. */
  const answer = answered.resolve;
  return { reached: reached.promise, wake, answer, options };
}

test("a call whose process is frozen beyond its lease is never sent by it", async () => {
  const receiver = createReceiver();
  const policy = { on_unknown_outcome: "report" } as const;
  const freeze = createFreeze();
  const writer = pinWriter(receiver, policy);
  const first = await open(script(call(["write", {}])), { ...writer, ...freeze.options });
  const id = await first.run();
  await first.until(async () => (await first.find(id)).epoch === 1);
  await freeze.reached;
  const second = await open(script(), { ...writer, isShared: true });
  await first.clock.advance(12 * SECOND_MS);
  expect(await second.ended(id)).toMatchObject({ status: "succeeded", recoveries: 1 });
  expect(await outcomesOf(second, id)).toEqual(["outcome_unknown"]);
  freeze.wake();
  await first.clock.advance(60 * SECOND_MS);
  expect(receiver.arrivals).toEqual([]);
  await verifyLog(second, id);
});

test("a call whose process is frozen for a shorter time is sent after one more heartbeat", async () => {
  const receiver = createReceiver();
  const freeze = createFreeze();
  const first = await open(script(call(["write", {}])), {
    ...pinWriter(receiver),
    ...freeze.options,
  });
  const id = await first.run();
  await freeze.reached;
  await first.clock.advance(9 * SECOND_MS);
  freeze.wake();
  // The heartbeat that comes through was sent too long ago for a call: another one follows it.
  expect(await first.ended(id)).toMatchObject({ status: "succeeded", recoveries: 0 });
  expect(receiver.times()).toEqual([1]);
});

test("the wait for a heartbeat is no part of a call's time", async () => {
  const receiver = createReceiver();
  const freeze = createFreeze();
  const trial = await open(script(call(["write", {}])), {
    ...pinWriter(receiver),
    ...freeze.options,
  });
  const id = await trial.run();
  await freeze.reached;
  await trial.clock.advance(7 * SECOND_MS);
  freeze.answer();
  await trial.clock.advance(2 * SECOND_MS);
  expect(receiver.arrivals).toEqual([]);
  const started_at = trial.clock.now();
  freeze.wake();
  await trial.ended(id);
  const result = (await trial.steps(id)).find(({ kind }) => kind === "tool_result")!;
  expect(result.data).toMatchObject({ duration_ms: 0 });
  expect(result.execution).toEqual({ started_at, ended_at: started_at });
});
