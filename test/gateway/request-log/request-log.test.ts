// The ledger as a service: who hears its entries, what a stop waits for, what old rows come to.
import { expect, test } from "bun:test";
import { type Database, DatabaseUnavailable } from "../../../src/database/index.ts";
import { nameValues, readEntries } from "../../../src/gateway/request-log/entry.ts";
import {
  createRequestLogSweeps,
  RequestLog,
} from "../../../src/gateway/request-log/request-log.ts";
import { createLog } from "../../../src/platform/log.ts";
import type { Settings } from "../../../src/settings/index.ts";
import { createManualClock } from "../../support/clock.ts";
import { createSeededIds } from "../../support/ids.ts";

function surround() {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line)), false);
  return { clock, lines, log, ids: createSeededIds() };
}

function open(add: () => Promise<void> = async () => {}) {
  const around = surround();
  const written: number[] = [];
  const store = {
    add(entries: string) {
      written.push(...readEntries(entries).map((values) => nameValues(values).status));
      return add();
    },
  };
  const ledger = new RequestLog({ store, ...around });
  const meter = ledger.meter("chat");
  const arrive = () => {
    const caller = { account_id: null, key_id: "k-1" } as never;
    return meter.open({ caller, request_id: "r", trace: null, started_at: 0 });
  };
  return { ...around, ledger, written, arrive };
}

test("whoever observes hears each entry as its request ends, once", async () => {
  const { ledger, arrive, written } = open();
  const heard: number[] = [];
  ledger.observe(({ status }) => void heard.push(status));
  ledger.observe(({ duration_ms }) => void heard.push(duration_ms));
  const recorder = arrive();
  expect(heard).toEqual([]);
  recorder.close(201, null, 1);
  recorder.close(500, "internal_error", 1);
  expect([heard, written]).toEqual([[201, 0], []]);
  await ledger.service.stop(0);
  expect(written).toEqual([201] as never);
});

test("a stop waits for the requests that are under way, and writes them", async () => {
  const { ledger, arrive, written, clock } = open();
  const tallies = [arrive(), arrive()];
  const stopped = ledger.service.stop(10_000) as Promise<void>;
  await clock.advance(9_000);
  tallies[0]!.close(201, null, 1);
  await clock.advance(0);
  expect([written, Bun.peek.status(stopped)]).toEqual([[201], "pending"] as never);
  tallies[1]!.close(499, "client_closed_request", 1);
  await stopped;
  expect(written).toEqual([201, 499] as never);
});

test("a stop waits for no longer than it may, and says what is lost", async () => {
  const { ledger, arrive, clock, lines } = open(() =>
    Promise.reject(new DatabaseUnavailable("away")),
  );
  arrive().close(201, null, 1);
  arrive();
  const stopped = ledger.service.stop(5_000);
  await clock.advance(10_000);
  await stopped;
  expect(lines.at(-1)!.message).toBe("request log: entries were not written before the stop");
});

test("old rows go with a write for each two thousand, and what is kept for ever stays", async () => {
  const { clock } = surround();
  const sweeps: [number, number][] = [];
  const left = [2_000, 2_000, 7];
  const retention = { request_log: null as number | null };
  const database = {
    bind: () => ({
      async sweep(until: number, limit: number) {
        sweeps.push([until, limit]);
        return left.shift()!;
      },
    }),
  } as unknown as Database;
  const settings = () => ({ retention }) as Pick<Settings, "retention">;
  const [sweep] = createRequestLogSweeps({ database, settings });
  expect(await sweep!.run(clock.now(), () => false)).toBe(0);
  expect(sweeps).toEqual([]);
  retention.request_log = 86_400_000;
  expect(await sweep!.run(clock.now(), () => false)).toBe(4_007);
  expect(sweeps).toEqual(Array.from({ length: 3 }, () => [clock.now() - 86_400_000, 2_000]));
});
