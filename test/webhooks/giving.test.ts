// What gives events to endpoints, where the database fails it.
import { expect, test } from "bun:test";
import { createGiving, type GivingOptions } from "../../src/webhooks/giving.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";

/** Events of one account wait, of which nobody tells; listing them fails so often. */
function open(failures: number) {
  const clock = createManualClock();
  const given: string[] = [];
  const lines: string[] = [];
  let looks = 0;
  const listWaiting = async () => {
    if (++looks <= failures) throw new Error("The disk is gone.");
    return ["a-1"];
  };
  const fanOut = async (account_id: string) => {
    given.push(account_id);
    return true;
  };
  const around = {
    ...{ clock, ids: createSeededIds(1), log: { error: (line: string) => lines.push(line) } },
    database: { bind: () => ({ listWaiting }), listen: () => () => undefined },
    settings: () => ({ limits: { waiting_deliveries: 9 } }),
  } as unknown as GivingOptions["around"];
  const giving = createGiving({ around, store: { fanOut } });
  return { clock, given, lines, giving, looks: () => looks };
}

test("what waits at the start is given as soon as it can be listed", async () => {
  const { clock, given, lines, giving } = open(2);
  giving.start();
  await clock.advance(1_000);
  expect(given).toEqual([]);
  await clock.advance(1_000);
  expect(given).toEqual(["a-1"]);
  expect(lines).toHaveLength(2);
});

test("after a stop nobody looks any more", async () => {
  const { clock, giving, looks } = open(9);
  giving.start();
  await clock.advance(0);
  await giving.stop();
  await clock.advance(5_000);
  expect(looks()).toBe(1);
});
