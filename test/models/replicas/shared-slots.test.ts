// Tests how live processes share the slots of a replica.
import { expect, test } from "bun:test";
import { Members } from "../../../src/cluster/members.ts";
import type { CompletionOk } from "../../../src/models/index.ts";
import { Replicas } from "../../../src/models/replicas/replicas.ts";
import { createManualClock } from "../../support/clock.ts";

/** A replica with six slots, beside so many other processes. */
function open(others: number) {
  const members = new Members(false);
  const see = (count: number) =>
    members.see(
      1,
      Array.from({ length: count }, (_, n) => ({ epoch: n + 2, takesWork: true })),
    );
  see(others);
  const log = { info() {}, warn() {}, error() {} };
  const replicas = new Replicas([{ name: "host:1", server: null, check: null }], {
    ...{ max_in_flight: 6, first_token_timeout_ms: 1_000, health_every_ms: 1_000, members, log },
    clock: createManualClock(),
  });
  const held: (() => void)[] = [];
  const ask = (signal = new AbortController().signal) =>
    replicas.call<CompletionOk>({ account: "a-1", signal }, () => {
      const { promise, resolve } = Promise.withResolvers<CompletionOk>();
      held.push(() => resolve({ ok: true } as CompletionOk));
      return promise;
    });
  const inFlight = () => replicas.status().replicas[0]!.inFlight;
  return { see, replicas, ask, held, inFlight };
}

test("max_in_flight is divided by the live processes, and rounded up", () => {
  for (const [others, slots] of [
    [0, 6],
    [1, 3],
    [3, 2],
    [9, 1],
  ] as const) {
    const { ask, inFlight } = open(others);
    for (let n = 0; n < 10; n++) void ask();
    expect(inFlight()).toBe(slots);
  }
});

test("requests that wait go on when a process has died, and later ones wait for a new one", async () => {
  const { see, replicas, ask, held, inFlight } = open(2);
  replicas.start();
  let ended = 0;
  for (let n = 0; n < 8; n++) void ask().then(() => void ended++);
  expect([inFlight(), replicas.status().waiting]).toEqual([2, 6]);
  see(0);
  await new Promise(setImmediate);
  expect([inFlight(), replicas.status().waiting]).toEqual([6, 2]);
  see(2);
  for (const end of held.splice(0)) end();
  await new Promise(setImmediate);
  expect([ended, inFlight()]).toEqual([6, 2]);
  replicas.stop();
});

test("stopped replicas follow no processes any more, and started ones once", () => {
  let followed = 0;
  const members = {
    count: 1,
    onChange() {
      followed += 1;
      return () => {
        followed -= 1;
      };
    },
  };
  const log = { info() {}, warn() {}, error() {} };
  const replicas = new Replicas([{ name: "host:1", server: null, check: null }], {
    ...{ max_in_flight: 6, first_token_timeout_ms: 1_000, health_every_ms: 1_000, members, log },
    clock: createManualClock(),
  });
  replicas.start();
  replicas.start();
  expect(followed).toBe(1);
  replicas.stop();
  expect(followed).toBe(0);
});
