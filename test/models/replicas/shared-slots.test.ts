// Tests how several processes share the slots of a replica, of which a counter keeps the sum.
import { expect, test } from "bun:test";
import type { CompletionOk } from "../../../src/models/index.ts";
import { Replicas } from "../../../src/models/replicas/replicas.ts";
import { SharedSlots } from "../../../src/models/replicas/shared-slots.ts";
import type { SlotRequest } from "../../../src/models/replicas/slot-share.ts";
import { createManualClock, type ManualClock } from "../../support/clock.ts";

/** A counter of all processes, without turns: who asks first has the slots. */
class Slots {
  readonly counted = new Map<string, number>();
  readonly asked: [name: string, SlotRequest][] = [];
  /** Maximum of each process, as where another one waits. */
  readonly shares = new Map<string, number>();
  isSure = true;
  isAway = false;
  /** Holds answers back. */
  gate: Promise<void> = Promise.resolve();

  of(process: string) {
    const slots = this;
    return {
      get isSure() {
        return slots.isSure;
      },
      async reserve(name: string, request: SlotRequest) {
        slots.asked.push([name, request]);
        await slots.gate;
        if (slots.isAway) return null;
        const { keep, wanted, max } = request;
        const others = [...slots.counted].filter(([key]) => {
          return key.endsWith(name) && key !== process + name;
        });
        const sum = others.reduce((all, [, count]) => all + count, 0);
        const share = slots.shares.get(process) ?? max;
        const granted = Math.max(0, Math.min(wanted, max - sum, share));
        slots.counted.set(process + name, Math.max(keep, granted));
        return granted;
      },
    };
  }
}

const log = { info() {}, warn() {}, error() {} };
const NO_CHECK = { server: null, check: null };

/** Replicas of the same process, which a reload replaces. */
type Before = { clock: ManualClock; sharedSlots: SharedSlots };

/** Replicas with slots, as one process has them. */
function open(slots: Slots, process: string, names = ["host:1"], before?: Before, max = 4) {
  const clock = before?.clock ?? createManualClock();
  const sharedSlots = before?.sharedSlots ?? new SharedSlots(clock);
  if (!before) sharedSlots.share(slots.of(process));
  const servers = names.map((name) => ({ name, ...NO_CHECK }));
  const replicas = new Replicas(servers, {
    ...{ max_in_flight: max, first_token_timeout_ms: 60_000, health_every_ms: 1_000 },
    ...{ model: "m", sharedSlots, clock, log },
  });
  const ends: (() => void)[] = [];
  const ask = (times = 1, signal = new AbortController().signal) => {
    for (let n = 0; n < times; n++) {
      void replicas.call<CompletionOk>({ account: "a-1", signal }, () => {
        const { promise, resolve } = Promise.withResolvers<CompletionOk>();
        ends.push(() => resolve({ ok: true } as CompletionOk));
        return promise;
      });
    }
  };
  const end = (times: number) => {
    for (const one of ends.splice(0, times)) one();
  };
  const count = () => {
    const { replicas: all, waiting } = replicas.status();
    return [...all.map(({ inFlight }) => inFlight), waiting];
  };
  return { clock, sharedSlots, replicas, ask, end, count };
}

test("a process takes what it needs, and another one the rest", async () => {
  const slots = new Slots();
  const [first, second] = [open(slots, "a"), open(slots, "b")];
  first.ask(3);
  await first.clock.advance(0);
  second.ask(3);
  await second.clock.advance(0);
  expect([first.count(), second.count()]).toEqual([
    [3, 0],
    [1, 2],
  ]);
});

test("requests that wait get the slots that another process gives back", async () => {
  const slots = new Slots();
  const [first, second] = [open(slots, "a"), open(slots, "b")];
  first.ask(4);
  await first.clock.advance(0);
  second.ask(3);
  await second.clock.advance(0);
  expect(second.count()).toEqual([0, 3]);
  first.end(2);
  // Unused slots are kept for a while, since the next request may come at once.
  await first.clock.advance(99);
  await second.clock.advance(100);
  expect(second.count()).toEqual([0, 3]);
  await first.clock.advance(1);
  await second.clock.advance(100);
  expect([first.count(), second.count()]).toEqual([
    [2, 0],
    [2, 1],
  ]);
});

test("the next request uses a slot that was just left, without asking", async () => {
  const slots = new Slots();
  const { ask, end, count, clock } = open(slots, "a");
  ask();
  await clock.advance(0);
  end(1);
  await clock.advance(50);
  const before = slots.asked.length;
  ask();
  expect([count(), slots.asked.length - before]).toEqual([[1, 0], 0]);
});

test("a process with requests in its own line leaves others their share", async () => {
  const slots = new Slots();
  const [first, second] = [open(slots, "a"), open(slots, "b")];
  first.ask(9);
  await first.clock.advance(0);
  expect(first.count()).toEqual([4, 5]);
  slots.shares.set("a", 2);
  await first.clock.advance(1_000);
  second.ask(3);
  await second.clock.advance(0);
  // What is in use stays counted, and is not taken up again once it ends.
  expect([first.count(), second.count()]).toEqual([
    [4, 5],
    [0, 3],
  ]);
  first.end(1);
  await first.clock.advance(0);
  await second.clock.advance(100);
  expect([first.count(), second.count()]).toEqual([
    [3, 5],
    [1, 2],
  ]);
  first.end(2);
  await first.clock.advance(0);
  expect(first.count()).toEqual([2, 4]);
});

test("slots that are given back are not used before the answer", async () => {
  const slots = new Slots();
  const { ask, end, count, clock } = open(slots, "a");
  ask(4);
  await clock.advance(0);
  end(3);
  await clock.advance(0);
  const { promise, resolve } = Promise.withResolvers<void>();
  slots.gate = promise;
  await clock.advance(100);
  expect(slots.asked.at(-1)).toEqual(["replica:m:host:1", { keep: 1, wanted: 1, max: 4 }]);
  ask();
  await clock.advance(0);
  expect(count()).toEqual([1, 1]);
  resolve();
  await clock.advance(100);
  expect(count()).toEqual([2, 0]);
});

test("a process that may not be counted any more begins nothing, and what runs goes on", async () => {
  const slots = new Slots();
  const { ask, end, count, clock } = open(slots, "a");
  ask(2);
  await clock.advance(0);
  slots.isSure = false;
  slots.isAway = true;
  end(1);
  await clock.advance(0);
  ask();
  await clock.advance(500);
  expect(count()).toEqual([1, 1]);
  slots.isSure = true;
  await clock.advance(100);
  // The slot that it has is enough.
  expect(count()).toEqual([2, 0]);
  ask();
  await clock.advance(500);
  expect(count()).toEqual([2, 1]);
  // What was asked for without an answer may be counted.
  slots.counted.set("areplica:m:host:1", 3);
  end(2);
  await clock.advance(0);
  end(1);
  slots.isAway = false;
  await clock.advance(100);
  expect([...slots.counted.values()]).toEqual([0]);
  ask(3);
  await clock.advance(100);
  expect(count()).toEqual([3, 0]);
});

test("requests are spread over the replicas, though slots of one are at hand", async () => {
  const slots = new Slots();
  const { ask, end, count, clock } = open(slots, "a", ["host:1", "host:1"]);
  ask(4);
  await clock.advance(0);
  expect(count()).toEqual([2, 2, 0]);
  expect([...slots.counted.keys()]).toEqual(["areplica:m:host:1", "areplica:m:host:1#2"]);
  end(4);
  await clock.advance(200);
  expect([...slots.counted.values()]).toEqual([0, 0]);
});

test("a full replica is passed over for one with slots, which is busier", async () => {
  const slots = new Slots();
  const [first, second] = [open(slots, "a"), open(slots, "b", ["host:1", "host:2"])];
  first.ask(4);
  await first.clock.advance(0);
  second.ask(3);
  await second.clock.advance(100);
  expect(second.count()).toEqual([0, 3, 0]);
});

test("slots in steady use are told again every second", async () => {
  const slots = new Slots();
  const { ask, clock } = open(slots, "a");
  ask();
  await clock.advance(0);
  expect(slots.asked.length).toBe(1);
  await clock.advance(999);
  expect(slots.asked.length).toBe(1);
  await clock.advance(1);
  expect(slots.asked.length).toBe(2);
});

test("slots are used for ten seconds behind an answer, since others may have them later", async () => {
  const slots = new Slots();
  const { ask, end, count, clock } = open(slots, "a");
  ask(2);
  await clock.advance(0);
  slots.isAway = true;
  await clock.advance(10_000);
  end(1);
  ask();
  await clock.advance(0);
  expect(count()).toEqual([2, 0]);
  await clock.advance(1);
  end(1);
  ask();
  await clock.advance(200);
  expect(count()).toEqual([1, 1]);
  slots.isAway = false;
  await clock.advance(100);
  expect(count()).toEqual([2, 0]);
});

test("requests of replaced replicas count beside those of the next ones, and all are served", async () => {
  const slots = new Slots();
  const other = open(slots, "b");
  other.ask(1);
  await other.clock.advance(0);
  const replaced = open(slots, "a");
  const { clock } = replaced;
  replaced.ask(3);
  await clock.advance(0);
  const next = open(slots, "a", ["host:1"], replaced);
  replaced.replicas.stop();
  next.replicas.start();
  replaced.ask(1);
  next.ask(2);
  await clock.advance(100);
  expect([replaced.count(), next.count()]).toEqual([
    [3, 1],
    [0, 2],
  ]);
  expect(slots.counted.get("areplica:m:host:1")).toBe(3);
  for (let n = 0; n < 6; n++) {
    replaced.end(1);
    next.end(1);
    await clock.advance(200);
    const [[before], [after]] = [replaced.count(), next.count()];
    expect(before! + after!).toBeLessThanOrEqual(3);
  }
  expect([replaced.count(), next.count()]).toEqual([
    [0, 0],
    [0, 0],
  ]);
  expect(slots.counted.get("areplica:m:host:1")).toBe(0);
  next.replicas.stop();
});

test("requests that wait at replaced replicas go before those of the next ones", async () => {
  const slots = new Slots();
  slots.shares.set("a", 2);
  const replaced = open(slots, "a");
  const { clock } = replaced;
  replaced.ask(4);
  await clock.advance(0);
  const next = open(slots, "a", ["host:1"], replaced);
  next.ask(20);
  await clock.advance(0);
  expect([replaced.count(), next.count()]).toEqual([
    [2, 2],
    [0, 20],
  ]);
  // Those of the next ones are never idle.
  for (let n = 0; n < 12; n++) {
    replaced.end(1);
    next.end(1);
    await clock.advance(300);
    expect(replaced.count()[0]! + next.count()[0]!).toBeLessThanOrEqual(2);
  }
  expect(replaced.count()).toEqual([0, 0]);
  expect(next.count()[1]).toBeLessThan(18);
});

test("requests that wait at replaced replicas have the maximum of the next ones", async () => {
  const slots = new Slots();
  const other = open(slots, "b");
  other.ask(2);
  await other.clock.advance(0);
  const replaced = open(slots, "a", ["host:1"], undefined, 1);
  replaced.ask(1);
  await replaced.clock.advance(0);
  expect(replaced.count()).toEqual([0, 1]);
  open(slots, "a", ["host:1"], replaced, 3);
  await replaced.clock.advance(100);
  expect(replaced.count()).toEqual([1, 0]);
});

test("one whose callers have left wants nothing any more", async () => {
  const slots = new Slots();
  const [other, { ask, count, clock }] = [open(slots, "b"), open(slots, "a")];
  other.ask(4);
  await other.clock.advance(0);
  const leaving = new AbortController();
  ask(2, leaving.signal);
  await clock.advance(100);
  expect(slots.asked.at(-1)?.[1]).toMatchObject({ wanted: 2 });
  leaving.abort();
  await clock.advance(100);
  expect([count(), slots.asked.at(-1)?.[1]]).toEqual([[0, 0], { keep: 0, wanted: 0, max: 4 }]);
  await clock.advance(0);
  expect(clock.pending()).toBe(0);
});
