// Tests failing databases, and processes that stop, die, or are taken for dead: no delivery and no
// slot is lost.
import { afterEach, describe, expect, test } from "bun:test";
import { ResultWriter } from "../../src/webhooks/result-writer.ts";
import type { FailedEndpoint } from "../../src/webhooks/store/endpoints.ts";
import { createManualClock } from "../support/clock.ts";
import { createDeath } from "./death.ts";
import { fail, hang, reply, type Store, type Trial } from "./trial.ts";
import { createTrials } from "./trials.ts";

const { open, closeAll } = createTrials();
afterEach(closeAll);

const SECOND_MS = 1_000;

const statuses = async ({ deliveries }: Trial) => (await deliveries()).map(({ status }) => status);
/** Checks that each event arrived, and its delivery succeeded. */
const verifyDelivered = async (trials: readonly Trial[], events: readonly string[]) => {
  const arrived = new Set(trials.flatMap(({ sent }) => sent.map(({ id }) => id)));
  expect(arrived).toEqual(new Set(events));
  for (const trial of trials) expect(trial.worker.stats().sending).toBe(0);
  const [{ pending_deliveries, counted } = { pending_deliveries: 0, counted: 0 }] =
    await trials[0]!.outside.count();
  expect([pending_deliveries, counted]).toEqual([0, 0]);
};

describe("a database that fails", () => {
  /** Fails this number of times before it succeeds. */
  const failing =
    (method: keyof Store, times: number) =>
    (store: Store): Store => {
      let left = times;
      const act = store[method] as (...given: unknown[]) => Promise<unknown>;
      const wrapped = async (...given: unknown[]) => {
        if (left-- > 0) throw new Error("the disk is full");
        return act(...given);
      };
      return { ...store, [method]: wrapped };
    };

  test.each(["settle", "claim", "fanOut", "listWaiting", "findWaiting"] as const)(
    "where it cannot %s does so later",
    async (method) => {
      const trial = await open(undefined, { wrap: failing(method, 3) });
      await trial.listen();
      const events = await trial.happen(30);
      await trial.pass(10 * SECOND_MS);
      expect(await statuses(trial)).toEqual(Array(30).fill("delivered"));
      expect(trial.sent).toHaveLength(30);
      await verifyDelivered([trial], events);
      expect(trial.lines.filter((line) => line.includes("webhook")).length).toBeGreaterThan(0);
    },
  );

  test("stops the sending while nothing can be written", async () => {
    let isFull = true;
    const settle: Store["settle"] = async () => {
      throw new Error("the disk is full");
    };
    const wrap = (store: Store): Store => ({
      ...store,
      settle: (...given) => (isFull ? settle : store.settle)(...given),
    });
    const trial = await open(undefined, { wrap });
    await trial.listen();
    const events = await trial.happen(900);
    await trial.pass(10 * SECOND_MS);
    expect(trial.sent.length).toBeWithin(512, 700);
    isFull = false;
    await trial.pass(30 * SECOND_MS);
    await verifyDelivered([trial], events);
    expect(trial.sent).toHaveLength(900);
  });

  test("to read uses up no attempt", async () => {
    const trial = await open(undefined, { wrap: failing("findSending", 1) });
    await trial.listen();
    const events = await trial.happen(3);
    expect(trial.sent).toEqual([]);
    await trial.pass(62 * SECOND_MS);
    await verifyDelivered([trial], events);
    expect((await trial.deliveries()).map(({ attempt_count }) => attempt_count)).toEqual([1, 1, 1]);
  });

  test("to disable an endpoint does so at its next failure", async () => {
    const trial = await open(() => reply(410), { wrap: failing("disable", 1) });
    const { id } = await trial.listen();
    await trial.happen();
    expect(await trial.store.find(id)).toMatchObject({ status: "enabled" });
    await trial.pass(122 * SECOND_MS);
    expect(trial.sent).toHaveLength(2);
    expect(await trial.store.find(id)).toMatchObject({ disabled_reason: "gone" });
    expect(await statuses(trial)).toEqual(["cancelled"]);
  });

  test("or is slow to disable an endpoint that is gone sends it nothing more", async () => {
    const isWritable = Promise.withResolvers<void>();
    const wrap = (store: Store): Store => ({
      ...store,
      async disable(...given) {
        await isWritable.promise;
        return store.disable(...given);
      },
    });
    const trial = await open(() => reply(410), { wrap });
    const { id } = await trial.listen();
    await trial.happen(3);
    await trial.pass(10 * SECOND_MS);
    expect(trial.sent).toHaveLength(1);
    isWritable.resolve();
    await trial.settle();
    expect(await trial.store.find(id)).toMatchObject({ disabled_reason: "gone" });
  });

  test("delays no others by one result that can never be written", async () => {
    let poison: string | undefined;
    const wrap = (store: Store): Store => ({
      ...store,
      async settle(all, now) {
        if (all.some(({ deliveryId }) => deliveryId === poison)) throw new Error("never");
        return store.settle(all, now);
      },
      async claim(...given) {
        const taken = await store.claim(...given);
        poison ??= taken[0]?.rows[0]?.id;
        return taken;
      },
    });
    const trial = await open(undefined, { wrap });
    await trial.listen();
    await trial.happen(100);
    await trial.pass(60 * SECOND_MS);
    const left = (await trial.deliveries()).filter(({ status }) => status !== "delivered");
    expect(left.map(({ id }) => id)).toEqual([poison!]);
  });
});

describe("a stop", () => {
  test("lets running attempts end, and releases claims that have not begun", async () => {
    const trial = await open((sent, nth) => (nth > 3 ? hang(trial.clock, sent) : reply()));
    await trial.listen();
    await trial.happen(30);
    const begun = trial.sent.length;
    expect(begun).toBeLessThan(30);
    await trial.stop(20 * SECOND_MS);
    expect(trial.sent).toHaveLength(begun);
    const deliveries = await trial.deliveries();
    expect(deliveries.filter(({ epoch }) => epoch > 0)).toEqual([]);
    expect((await trial.attempts()).filter(({ error }) => error !== null)).toHaveLength(begun - 3);
    await trial.happen();
    expect(trial.sent).toHaveLength(begun);
  });

  test("abandons attempts that do not end in time, and the next start sends them again", async () => {
    const trial = await open((sent) => hang(trial.clock, sent));
    await trial.listen();
    const events = await trial.happen(3);
    await trial.stop(5 * SECOND_MS);
    expect(trial.sent[0]!.signal.aborted).toBe(true);
    for (const delivery of await trial.deliveries()) {
      expect(delivery).toMatchObject({ status: "pending", attempt_count: 0, tries: 0, epoch: 0 });
    }
    const next = await open();
    await verifyDelivered([next], events);
    expect(next.sent[0]!.id).toBe(trial.sent[0]!.id);
  });

  test("waits for the results of attempts that end during it", async () => {
    const written = Promise.withResolvers<void>();
    const wrap = (store: Store): Store => ({
      ...store,
      async settle(...given) {
        await written.promise;
        return store.settle(...given);
      },
    });
    const trial = await open((sent) => hang(trial.clock, sent), { wrap });
    await trial.listen();
    await trial.happen();
    let isStopped = false;
    void trial.worker.stop(60 * SECOND_MS).then(() => {
      isStopped = true;
    });
    await trial.pass(16 * SECOND_MS);
    expect(isStopped).toBe(false);
    written.resolve();
    await trial.settle();
    expect(isStopped).toBe(true);
    expect(await trial.deliveries()).toMatchObject([{ epoch: 0, attempt_count: 1 }]);
  });

  test("writes nothing more once its time is over", async () => {
    let tries = 0;
    const wrap = (store: Store): Store => ({
      ...store,
      async settle() {
        tries += 1;
        throw new Error("the disk is full");
      },
    });
    const trial = await open(undefined, { wrap });
    await trial.listen();
    await trial.happen();
    await trial.stop(2 * SECOND_MS);
    const before = tries;
    expect(before).toBeGreaterThan(1);
    await trial.pass(30 * SECOND_MS);
    expect(tries).toBe(before);
  });

  test("waits until the last results are written, also those added during a write", async () => {
    const clock = createManualClock();
    const writes: PromiseWithResolvers<FailedEndpoint[]>[] = [];
    const settle = () => {
      writes.push(Promise.withResolvers());
      return writes.at(-1)!.promise;
    };
    const deps = { clock, log: undefined as never, ids: undefined as never } as never;
    const store = { settle, disable: undefined as never };
    const writer = new ResultWriter({ deps, store, onWritten() {} });
    const add = (deliveryId: string) =>
      writer.add({ kind: "released", deliveryId, webhookId: "w-1", epoch: 1 });
    add("d-1");
    await clock.advance(0);
    add("d-2");
    let isFlushed = false;
    void writer.flush().then(() => {
      isFlushed = true;
    });
    writes[0]!.resolve([]);
    await clock.advance(0);
    expect([writes.length, isFlushed]).toEqual([2, false]);
    writes[1]!.resolve([]);
    await clock.advance(0);
    expect(isFlushed).toBe(true);
  });
});

test("a claim that ends during a pause is released unsent, and sent after a resume", async () => {
  const isClaimed = Promise.withResolvers<void>();
  const wrap = (store: Store): Store => ({
    ...store,
    async claim(...given) {
      const claimed = await store.claim(...given);
      await isClaimed.promise;
      return claimed;
    },
  });
  const trial = await open(undefined, { wrap });
  await trial.listen();
  const events = await trial.happen();
  const paused = trial.worker.pause();
  isClaimed.resolve();
  await paused;
  await trial.settle();
  expect(trial.sent).toEqual([]);
  expect(await trial.deliveries()).toMatchObject([{ status: "pending", epoch: 0 }]);
  trial.worker.resume();
  await trial.settle();
  await verifyDelivered([trial], events);
});

test("a pause gives back what was claimed ahead, while attempts under way go on", async () => {
  const trial = await open((sent, nth) => (nth === 1 ? reply() : hang(trial.clock, sent)));
  await trial.listen();
  await trial.happen();
  await trial.settle();
  await trial.happen(4);
  await trial.settle();
  const countHeld = async () => (await trial.deliveries()).filter(({ epoch }) => epoch > 0).length;
  expect([await countHeld(), trial.worker.stats().sending]).toEqual([4, 2]);
  await trial.worker.pause();
  await trial.settle();
  expect([await countHeld(), trial.worker.stats().sending]).toEqual([2, 2]);
});

test("a group of results that fails is halved, and later groups double again up to 256", async () => {
  const clock = createManualClock();
  const sizes: number[] = [];
  const failures = [false, true, true];
  const settle = async (group: readonly unknown[]) => {
    sizes.push(group.length);
    if (failures.shift()) throw new Error("the disk is full");
    return [];
  };
  const log = { error() {} };
  const deps = { clock, log } as never;
  const writer = new ResultWriter({ deps, store: { settle } as never, onWritten() {} });
  for (let n = 0; n < 1_000; n++) {
    writer.add({ kind: "released", deliveryId: `d-${n}`, webhookId: "w-1", epoch: 1 });
  }
  await clock.advance(3 * SECOND_MS);
  expect(sizes).toEqual([1, 256, 128, 64, 128, 256, 256, 256, 39]);
});

describe("the claims of a process that died", () => {
  test("alone are sent at the next start", async () => {
    const death = createDeath();
    const trial = await open((sent) => hang(trial.clock, sent), { guard: death.guard });
    await trial.listen();
    const events = await trial.happen(10);
    death.die();
    expect((await trial.deliveries()).filter(({ epoch }) => epoch === 1).length).toBeGreaterThan(0);
    const next = await open();
    await verifyDelivered([next], events);
    expect(await statuses(next)).toEqual(Array(10).fill("delivered"));
  });

  test("among others are sent after ten seconds without a heartbeat", async () => {
    const death = createDeath();
    const trial = await open((sent) => hang(trial.clock, sent), {
      ...{ guard: death.guard, isShared: true },
    });
    await trial.listen();
    const next = await open(undefined, { isShared: true });
    const [first] = await trial.happen();
    death.die();
    const others = await trial.happen(5);
    await next.pass(4 * SECOND_MS);
    expect(next.sent.map(({ id }) => id)).not.toContain(first!);
    await next.pass(12 * SECOND_MS);
    await verifyDelivered([next], [first!, ...others]);
  });
});

test("two processes send each delivery once", async () => {
  const trials = [
    await open(undefined, { isShared: true }),
    await open(undefined, { isShared: true }),
  ];
  await trials[0]!.listen();
  await trials[0]!.listen("https://two.example.com/");
  await trials[0]!.pass(6 * SECOND_MS);
  const events = await trials[0]!.happen(100);
  await verifyDelivered(trials, events);
  const sent = trials.flatMap((trial) => trial.sent.map(({ id, url }) => `${url} ${id}`));
  expect(sent).toHaveLength(200);
  expect(new Set(sent).size).toBe(200);
  // An endpoint has one process, so that its concurrency is not multiplied.
  const urlsOf = ({ sent }: Trial) => new Set(sent.map(({ url }) => url));
  expect(urlsOf(trials[0]!).intersection(urlsOf(trials[1]!)).size).toBe(0);
});

test("a retry is claimed only by the process whose endpoint it is when it is due", async () => {
  const claimed: Set<string>[] = [new Set(), new Set()];
  const openOne = (nth: number) =>
    open(() => fail(), {
      isShared: true,
      wrap: (store) => ({
        ...store,
        claim(epoch, requests, now) {
          for (const { webhookId } of requests) claimed[nth]!.add(webhookId);
          return store.claim(epoch, requests, now);
        },
      }),
    });
  const first = await openOne(0);
  for (let n = 0; n < 8; n++) await first.listen();
  await first.happen();
  await first.pass(6 * SECOND_MS);
  expect(claimed[0]!.size).toBe(8);
  const second = await openOne(1);
  await second.pass(20 * SECOND_MS);
  for (const one of claimed) one.clear();
  await second.pass(8 * 60 * SECOND_MS);
  const [own, others] = claimed as [Set<string>, Set<string>];
  expect([own.size > 0, others.size > 0]).toEqual([true, true]);
  expect([own.size + others.size, own.union(others).size]).toEqual([8, 8]);
});

test("a process that others take for dead drops its claims, and registers anew", async () => {
  const trial = await open((sent, nth) => (nth === 1 ? hang(trial.clock, sent) : reply()), {
    isShared: true,
  });
  await trial.listen();
  const [event] = await trial.happen();
  await trial.outside.bury(1, trial.clock.now());
  await trial.pass(2 * SECOND_MS);
  expect(trial.sent[0]!.signal.aborted).toBe(true);
  expect(trial.process.epoch).toBe(2);
  await trial.pass(2 * SECOND_MS);
  await verifyDelivered([trial], [event!]);
  expect(trial.sent).toHaveLength(2);
  expect(await trial.attempts()).toHaveLength(1);
});

test("a claim answered after its process was taken for dead is not sent", async () => {
  const [claimed, listed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let trial: Trial | undefined;
  const wrap = (store: Store): Store => ({
    ...store,
    async claim(...given) {
      const taken = await store.claim(...given);
      await claimed.promise;
      return taken;
    },
  });
  // Holds the search for dead processes behind the second registration.
  const guard = <T extends object>(store: T): T => {
    if (!("register" in store)) return store;
    const list = async () => {
      if (trial?.process.epoch === 2) await listed.promise;
      return (store as unknown as { list(): Promise<unknown> }).list();
    };
    return { ...store, list };
  };
  trial = await open(undefined, { wrap, guard, isShared: true });
  await trial.listen();
  const events = await trial.happen();
  await trial.outside.bury(1, trial.clock.now());
  await trial.pass(2 * SECOND_MS);
  expect(trial.process.epoch).toBe(2);
  claimed.resolve();
  await trial.settle();
  expect(trial.sent).toEqual([]);
  listed.resolve();
  await trial.pass(2 * SECOND_MS);
  await verifyDelivered([trial], events);
  expect(trial.sent).toHaveLength(1);
});

test("a delivery that others have taken back since its claim is left to them", async () => {
  let isTaken = false;
  const wrap = (store: Store): Store => ({
    ...store,
    async findSending(id) {
      if (!isTaken) await store.release([{ id, epoch: 1 }]);
      isTaken = true;
      return store.findSending(id);
    },
  });
  const trial = await open(undefined, { wrap });
  await trial.listen();
  const events = await trial.happen();
  await trial.pass(2 * SECOND_MS);
  await verifyDelivered([trial], events);
  expect(trial.sent).toHaveLength(1);
});

test("claims whose reply was lost are claimed again, also of a retry", async () => {
  let claims = 0;
  const wrap = (store: Store): Store => ({
    ...store,
    async claim(...given) {
      const taken = await store.claim(...given);
      if (taken.every(({ rows }) => rows.length === 0)) return taken;
      claims += 1;
      if (claims % 2 === 0) return taken;
      throw new Error("the connection was cut behind the commit");
    },
  });
  const trial = await open((_, nth) => (nth === 1 ? fail("tls") : reply()), { wrap });
  await trial.listen();
  const events = await trial.happen(1);
  expect(trial.sent).toEqual([]);
  await trial.pass(6 * SECOND_MS);
  expect(trial.sent).toHaveLength(1);
  await trial.pass(12 * SECOND_MS);
  await verifyDelivered([trial], events);
  expect([claims, trial.sent.length]).toEqual([4, 2]);
});

test("an invalid reply is a failure of its own attempt only", async () => {
  const trial = await open((_, nth) => {
    if (nth === 1) throw new TypeError("the header webhook-id is invalid");
    return nth === 2 ? fail("tls") : reply();
  });
  await trial.listen();
  const events = await trial.happen(3);
  await trial.pass(70 * SECOND_MS);
  await verifyDelivered([trial], events);
  expect(trial.lines).toContain("webhooks: an attempt could not be made");
});
