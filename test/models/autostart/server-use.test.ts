// Tests how processes tell each other that they use a managed server, and act on it one by one.
import { expect, test } from "bun:test";
import { ServerUse } from "../../../src/models/autostart/server-use.ts";
import { createManualClock } from "../../support/clock.ts";

function open(isShared = true) {
  const clock = createManualClock();
  /** The server's row, and the calls of the store. */
  const row: { uses: number; is_put_down: boolean } | undefined = { uses: 3, is_put_down: false };
  const stored = { row: row as typeof row | undefined, calls: [] as unknown[] };
  const lease = { isFree: true, asked: 0 };
  const failures: unknown[] = [];
  const use = new ServerUse({
    ...{ id: "unit-1", clock, isShared },
    process: {
      async withLease(_, work) {
        lease.asked += 1;
        if (lease.isFree) await work(async () => true);
        return lease.isFree;
      },
    },
    store: {
      async use(id) {
        stored.calls.push(`use ${id}`);
        if (stored.row) stored.row.uses += 1;
        return stored.row;
      },
      findUse: async () => stored.row,
      async beginStop(...stop) {
        stored.calls.push(stop);
        return true;
      },
    },
    onFailure: (failure) => failures.push(failure),
  });
  return { use, clock, stored, lease, failures };
}

test("a use is told for five seconds, and always where no other process is", async () => {
  const { use, clock } = open();
  expect(use.isTold).toBe(false);
  use.noteTold();
  await clock.advance(4_999);
  expect(use.isTold).toBe(true);
  await clock.advance(1);
  expect([use.isTold, open(false).use.isTold]).toEqual([false, true]);
});

test("others hear late of a use, so no stop is before ten idle seconds", () => {
  const shared = [0, 1, 9_999, 10_001].map((ms) => open().use.limitIdle(ms));
  expect(shared).toEqual([0, 10_000, 10_000, 10_001]);
  expect(open(false).use.limitIdle(1)).toBe(1);
});

test("requests that tell at once tell once", async () => {
  const { use, stored } = open();
  expect(await Promise.all([use.tell(), use.tell()])).toEqual([true, true]);
  expect(stored.calls).toEqual(["use unit-1"]);
  await use.tell();
  expect(stored.calls).toHaveLength(2);
});

test("a server that another process stops cannot be told", async () => {
  const { use, stored } = open();
  stored.row!.is_put_down = true;
  expect([await use.tell(), use.isTold]).toEqual([false, false]);
});

test("without a database a use counts as told", async () => {
  const { use, stored, failures } = open();
  const failure = new Error("the database is gone");
  Object.defineProperty(stored, "row", {
    get() {
      throw failure;
    },
  });
  expect([await use.tell(), use.isTold, failures]).toEqual([true, true, [failure]]);
});

test("a stop begins only if nobody has used the server since the last look", async () => {
  const { use, clock, stored } = open();
  expect(await use.beginStop()).toBe(false);
  stored.row!.uses = 4;
  expect([await use.beginStop(), stored.calls]).toEqual([false, []]);
  expect(await use.beginStop()).toBe(true);
  expect(stored.calls).toEqual([["unit-1", 4, clock.now()]]);
  stored.row!.is_put_down = true;
  expect(await use.beginStop()).toBe(false);
  stored.row = undefined;
  expect([await use.beginStop(), stored.calls.length]).toEqual([false, 1]);
});

test("a use by this process is a look as well", async () => {
  const { use, stored } = open();
  await use.tell();
  expect([await use.beginStop(), stored.calls.length]).toEqual([true, 2]);
});

test("a use is told again every five seconds as long as a request is under way", async () => {
  const { use, clock, stored } = open();
  for (let n = 0; n < 2; n++) use.enter();
  await clock.advance(4_999);
  expect(stored.calls).toEqual([]);
  await clock.advance(1);
  use.leave();
  await clock.advance(5_000);
  expect(stored.calls).toHaveLength(2);
  use.leave();
  await clock.advance(60_000);
  expect([stored.calls.length, clock.pending()]).toEqual([2, 0]);
  const own = open(false);
  own.use.enter();
  expect(own.clock.pending()).toBe(0);
});

test("work waits for the lease, which is asked for every second", async () => {
  const { use, clock, lease } = open();
  lease.isFree = false;
  let times = 0;
  const working = use.alone(async () => void times++);
  await clock.advance(999);
  expect(lease.asked).toBe(1);
  await clock.advance(1);
  expect([lease.asked, times]).toEqual([2, 0]);
  lease.isFree = true;
  await clock.advance(1_000);
  await working;
  expect([lease.asked, times]).toEqual([3, 1]);
});

test("work of one process waits for the work before it, even if that fails", async () => {
  for (const [isShared, order] of [
    [true, "first ends, second begins"],
    [false, "second begins, first ends"],
  ] as const) {
    const { use, clock } = open(isShared);
    const steps: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = use.alone(async () => {
      await gate.promise;
      steps.push("first ends");
      throw new Error("a bug");
    });
    const second = use.alone(async () => void steps.push("second begins"));
    await clock.advance(0);
    gate.resolve();
    expect(await first.catch(({ message }: Error) => message)).toBe("a bug");
    await second;
    expect(steps.join(", ")).toBe(order);
  }
});
