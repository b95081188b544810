// Tests which keys of long-lived work are polled, and when.
import { expect, test } from "bun:test";
import { KeyRevocations } from "../../src/access/index.ts";
import { createLog } from "../../src/platform/log.ts";
import { caller } from "../agents/tools/use.ts";
import { createManualClock } from "../support/clock.ts";

test("work of an expired key ends within five seconds, and then polling stops", async () => {
  const clock = createManualClock();
  const polled: string[] = [];
  const revocations = new KeyRevocations({
    database: { listen: () => () => {} },
    async findCaller(key_id) {
      polled.push(key_id);
      return undefined;
    },
    clock,
    log: createLog(clock, () => {}, false),
  });
  const ended: number[] = [];
  const forget = revocations.add("k-1", () => {
    ended.push(clock.monotonic());
    forget();
  });
  const addedAt = clock.monotonic();
  await clock.advance(20_000);
  expect(ended).toEqual([addedAt + 5_000]);
  expect(polled).toEqual(["k-1"]);
  expect([revocations.count("k-1"), clock.pending()]).toEqual([0, 0]);
});

test("every key is polled at once after a possibly lost notification", async () => {
  const clock = createManualClock();
  let announce: (id: string | null, isOwn: boolean) => void = () => {};
  let isListening = true;
  const revocations = new KeyRevocations({
    database: {
      listen: (_, listener) => {
        announce = listener;
        return () => {
          isListening = false;
        };
      },
    },
    findCaller: async () => undefined,
    clock,
    log: createLog(clock, () => {}, false),
  });
  const ended: string[] = [];
  for (const key_id of ["k-1", "k-2"]) revocations.add(key_id, () => void ended.push(key_id));
  announce(null, false);
  await clock.advance(0);
  expect([ended, isListening]).toEqual([["k-1", "k-2"], true]);
  revocations.stop();
  expect(isListening).toBe(false);
});

test("polling goes on for the work that is left when that of another key ends", async () => {
  let mayCall = true;
  const clock = createManualClock();
  const polled: string[] = [];
  const revocations = new KeyRevocations({
    database: { listen: () => () => {} },
    async findCaller(key_id) {
      polled.push(key_id);
      return mayCall ? caller : undefined;
    },
    clock,
    log: createLog(clock, () => {}, false),
  });
  const ended: string[] = [];
  const forget = revocations.add("k-1", () => {});
  revocations.add("k-2", () => void ended.push("k-2"));
  forget();
  await clock.advance(10_000);
  expect([polled, ended]).toEqual([["k-2", "k-2"], []]);
  mayCall = false;
  await clock.advance(5_000);
  expect(ended).toEqual(["k-2"]);
  revocations.stop();
});

test("work that begins during a poll brings no second one", async () => {
  const clock = createManualClock();
  const revocations = new KeyRevocations({
    database: { listen: () => () => {} },
    async findCaller() {
      if (revocations.count("k-2") === 0) {
        forget();
        revocations.add("k-2", () => {});
      }
      return caller;
    },
    clock,
    log: createLog(clock, () => {}, false),
  });
  const forget = revocations.add("k-1", () => {});
  await clock.advance(5_000);
  expect([revocations.count("k-2"), clock.pending()]).toEqual([1, 1]);
  revocations.stop();
});

test("a key that cannot be read ends no work", async () => {
  const clock = createManualClock();
  const lines: string[] = [];
  let ended = 0;
  const revocations = new KeyRevocations({
    database: { listen: () => () => {} },
    findCaller: () => Promise.reject(new Error("the database is away")),
    clock,
    log: createLog(clock, (line) => void lines.push(line), false),
  });
  revocations.add("k-1", () => void ended++);
  await clock.advance(5_000);
  expect([ended, lines.length]).toEqual([0, 1]);
  revocations.stop();
});
