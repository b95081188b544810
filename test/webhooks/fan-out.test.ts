// Tests the fan-out of events while the database fails.
import { expect, test } from "bun:test";
import { FanOutWorker } from "../../src/webhooks/fan-out.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

/** One account has pending events without a notification; listing them fails `failures` times. */
function open(failures: number) {
  const clock = createManualClock();
  const written: string[] = [];
  const lines: string[] = [];
  let looks = 0;
  const listWaiting = async () => {
    if (++looks <= failures) throw new Error("The disk is gone.");
    return ["a-1"];
  };
  const fanOut = async (account_id: string) => {
    written.push(account_id);
    return true;
  };
  const deps = {
    ...{
      clock,
      ids: createSeededIds(1),
      log: { error: (line: string) => lines.push(line) },
    },
    database: { bind: () => ({ listWaiting }), listen: () => () => undefined },
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
