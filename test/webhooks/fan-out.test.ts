// Tests the fan-out of events while the database fails, and of those announced meanwhile.
import { expect, test } from "bun:test";
import { FanOutWorker } from "../../src/webhooks/fan-out.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

interface Meanwhile {
  /** Called during each listing and each write, with their number. */
  onList?(nth: number, announce: (accountId: string | null) => void): void;
  onWrite?(nth: number, announce: (accountId: string | null) => void): void;
}

/** One account has pending events without a notification; listing them fails `failures` times. */
function open(failures: number, { onList, onWrite }: Meanwhile = {}) {
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
    database: {
      bind: () => ({ listWaiting }),
      listen(_channel: string, run: typeof announce) {
        announce = run;
        return () => undefined;
      },
    },
    settings: () => ({ limits: { waiting_deliveries: 9 } }),
  } as unknown as ConstructorParameters<typeof FanOutWorker>[0];
  const worker = new FanOutWorker(deps, { fanOut });
  return { clock, written, lines, worker, looks: () => looks };
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

test("accounts are listed again if announcements were lost during a listing", async () => {
  const { clock, worker, looks } = open(0, {
    onList: (nth, announce) => nth === 1 && announce(null),
  });
  worker.start();
  await clock.advance(0);
  expect(looks()).toBe(2);
});
