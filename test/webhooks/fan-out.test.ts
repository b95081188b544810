// Tests the fan-out of events while the database fails, and of those announced meanwhile.
import { describe, expect, test } from "bun:test";
import { Members } from "../../src/cluster/members.ts";
import { createBatch, FanOutWorker } from "../../src/webhooks/fan-out.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

interface Meanwhile {
  /** Called during each listing and each write, with their number. */
  onList?(nth: number, announce: (accountId: string | null) => void): void;
  onWrite?(nth: number, announce: (accountId: string | null) => void): void;
}

/** One account has pending events without a notification; listing them fails `failures` times. */
function open(failures: number, { onList, onWrite }: Meanwhile = {}, members?: Members) {
  const clock = createManualClock();
  const written: string[] = [];
  const lines: string[] = [];
  let looks = 0;
  let announce: (accountId: string | null) => void = () => undefined;
  const listWaiting = async () => {
    looks++;
    onList?.(looks, announce);
    if (looks <= failures) throw new Error("The disk is gone.");
    return ["a-1"];
  };
  const fanOut = async (account_id: string) => {
    written.push(account_id);
    onWrite?.(written.length, announce);
    return true;
  };
  const deps = {
    ...{
      clock,
      ids: createSeededIds(1),
      log: { error: (line: string) => lines.push(line) },
    },
    process: { members: members ?? new Members(true) },
    database: {
      isShared: members !== undefined,
      bind: () => ({ listWaiting }),
      listen(_channel: string, run: typeof announce) {
        announce = run;
        return () => undefined;
      },
    },
    settings: () => ({ limits: { waiting_deliveries: 9 } }),
  } as unknown as ConstructorParameters<typeof FanOutWorker>[0];
  const worker = new FanOutWorker(deps, { fanOut });
  return { clock, written, lines, worker, looks: () => looks, announce: () => announce("a-1") };
}

test("events pending at the start are fanned out as soon as they can be listed", async () => {
  const { clock, written, lines, worker } = open(2);
  worker.start();
  await clock.advance(1_000);
  expect(written).toEqual([]);
  await clock.advance(1_000);
  expect(written).toEqual(["a-1"]);
  expect(lines).toHaveLength(2);
});

test("at most 200 events are fanned out by one write", () => {
  const settings = () => ({ limits: { waiting_deliveries: 9 } });
  const deps = { ids: createSeededIds(1), clock: createManualClock(), settings };
  expect(createBatch(deps as never)).toMatchObject({ limit: 200, waitingMax: 9 });
});

test("a stopped worker lists nothing more", async () => {
  const { clock, worker, looks } = open(9);
  worker.start();
  await clock.advance(0);
  await worker.stop();
  await clock.advance(5_000);
  expect(looks()).toBe(1);
});

test("an event announced while its account is fanned out is fanned out next", async () => {
  const { clock, written, worker } = open(0, {
    onWrite: (nth, announce) => nth === 1 && announce("a-1"),
  });
  worker.start();
  await clock.advance(0);
  expect(written).toEqual(["a-1", "a-1"]);
});

test("events whose fan-out failed are fanned out a second later", async () => {
  const { clock, written, lines, worker } = open(0, {
    onWrite(nth) {
      if (nth === 1) throw new Error("The disk is gone.");
    },
  });
  worker.start();
  await clock.advance(999);
  expect([written, lines]).toMatchObject([["a-1"], [expect.any(String)]]);
  await clock.advance(1);
  expect(written).toEqual(["a-1", "a-1"]);
});

test("accounts are listed again if announcements were lost during a listing", async () => {
  const { clock, worker, looks } = open(0, {
    onList: (nth, announce) => nth === 1 && announce(null),
  });
  worker.start();
  await clock.advance(0);
  expect(looks()).toBe(2);
});

describe("among several processes", () => {
  const others = Array.from({ length: 20 }, (_, n) => ({ epoch: n + 2, takesWork: true }));
  /** Members in which this process has the events of `a-1`, or another one does. */
  const open2 = (isOwner: boolean) => {
    const members = new Members(false);
    for (let look = 0; look < 3; look++) members.see(1, isOwner ? [] : others);
    expect(members.owns("a-1")).toBe(isOwner);
    return { members, ...open(0, {}, members) };
  };

  test("the events of an account are fanned out by its process, and by no other", async () => {
    for (const isOwner of [true, false]) {
      const { clock, written, worker, announce } = open2(isOwner);
      worker.start();
      announce();
      await clock.advance(0);
      expect(written.length > 0).toBe(isOwner);
      await worker.stop();
    }
  });

  test("the events of a dead process's accounts are found when it is dead", async () => {
    const { clock, written, worker, members } = open2(false);
    worker.start();
    await clock.advance(0);
    expect(written).toEqual([]);
    members.see(1, []);
    await clock.advance(0);
    expect(written).toEqual(["a-1"]);
    await worker.stop();
  });

  test("events whose announcement was lost are found within a minute", async () => {
    const { clock, worker, looks } = open2(true);
    worker.start();
    await clock.advance(59_999);
    expect(looks()).toBe(1);
    await clock.advance(1);
    expect(looks()).toBe(2);
    await worker.stop();
    expect(clock.pending()).toBe(0);
  });
});
