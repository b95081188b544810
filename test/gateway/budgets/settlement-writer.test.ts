// Tests what becomes of settled requests between the end of a request and its commit.
import { expect, test } from "bun:test";
import { DatabaseUnavailable } from "../../../src/database/index.ts";
import { SettlementWriter } from "../../../src/gateway/budgets/settlement-writer.ts";
import type { LimitAlert, SettledRequest } from "../../../src/gateway/budgets/store.ts";
import { createLog } from "../../../src/platform/log.ts";
import { createManualClock } from "../../support/clock.ts";

const settled = (id: string): SettledRequest => {
  return { id, requests: 1, estimated: 0, tokens: 1, cost: 0 };
};
const ids = Array.from({ length: 600 }, (_, n) => `r-${n}`);

/** A writer on a store that refuses a batch with what `refuse` returns. */
function open(refuse: (batch: readonly string[]) => Error | undefined = () => undefined) {
  const clock = createManualClock();
  const log = createLog(clock, () => {}, false);
  const written: string[] = [];
  const batches: number[][] = [];
  const settle = async (batch: readonly SettledRequest[], alerts: readonly LimitAlert[]) => {
    const names = batch.map(({ id }) => id);
    const failure = refuse(names);
    if (failure) throw failure;
    written.push(...names);
    batches.push([batch.length, alerts.length]);
  };
  const writer = new SettlementWriter({ store: { settle }, clock, log });
  return { clock, writer, written, batches };
}

test("a stop ends when the last of several batches is written", async () => {
  const { writer, written } = open();
  writer.add(ids.map(settled), []);
  await writer.finish(1_000);
  expect(written).toEqual(ids);
});

test("a batch has 256 requests and as many alerts, all of which an outage keeps", async () => {
  const away = [new DatabaseUnavailable("away")];
  const { clock, writer, batches } = open(() => away.shift());
  writer.add(ids.slice(0, 257).map(settled), Array(600).fill({}));
  await clock.advance(0);
  const finished = writer.finish(5_000);
  await clock.advance(1_000);
  await finished;
  expect(batches).toEqual([
    [256, 256],
    [1, 256],
    [0, 88],
  ]);
});

test("a request that the store refuses is given up alone, and the others are written", async () => {
  const bug = new Error("the row is refused");
  const { clock, writer, written } = open((batch) => (batch.includes("r-3") ? bug : undefined));
  writer.add(ids.map(settled), []);
  await clock.advance(10_000);
  expect(written).toEqual(ids.filter((id) => id !== "r-3"));
});

test("no request is given up while the database is away, not even behind a refused one", async () => {
  const bug = new Error("the row is refused");
  const failures = [bug, ...Array.from({ length: 5 }, () => new DatabaseUnavailable("away"))];
  const { clock, writer, written } = open(() => failures.shift());
  writer.add(ids.map(settled), []);
  await clock.advance(30_000);
  expect(written).toEqual(ids);
});

test("a stop waits no longer than its deadline, and nothing is tried after it", async () => {
  let tries = 0;
  const { clock, writer } = open(() => {
    tries += 1;
    return new DatabaseUnavailable("away");
  });
  writer.add([settled("r-1")], []);
  const finished = writer.finish(2_500);
  await clock.advance(2_500);
  await finished;
  const before = tries;
  expect(before).toBeGreaterThan(1);
  await clock.advance(10_000);
  expect(tries).toBe(before);
});
