// Tests the request log as a service: its observers, its stop and its retention.
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

function createDeps() {
  const clock = createManualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog(clock, (line) => void lines.push(JSON.parse(line)), false);
  return { clock, lines, log, ids: createSeededIds() };
}

function open(add: () => Promise<void> = async () => {}) {
  const deps = createDeps();
  const written: number[] = [];
  const store = {
    add(entries: string) {
      written.push(...readEntries(entries).map((values) => nameValues(values).status));
      return add();
    },
  };
  const requestLog = new RequestLog({ store, ...deps });
  const meter = requestLog.meter("chat");
  const arrive = (key_id = "k-1", account_id: string | null = null) => {
    const caller = { account_id, key_id } as never;
    return meter.open({ caller, request_id: "r", trace: null, started_at: 0 });
  };
  return { ...deps, requestLog, written, arrive };
}

test("an observer receives each entry once, as its request ends", async () => {
  const { requestLog, arrive, written } = open();
  const heard: number[] = [];
  requestLog.observe(({ status }) => void heard.push(status));
  requestLog.observe(({ duration_ms }) => void heard.push(duration_ms));
  const recorder = arrive();
  expect(heard).toEqual([]);
  recorder.close(201, null, 1);
  recorder.close(500, "internal_error", 1);
  expect([heard, written]).toEqual([[201, 0], []]);
  await requestLog.service.stop(0);
  expect(written).toEqual([201] as never);
});

test("keys without an account have 120 rows of refusals each", async () => {
  const { requestLog, arrive, written } = open();
  for (let n = 0; n < 121; n++) arrive().close(429, "rate_limit_exceeded", 0);
  arrive("k-2").close(403, "permission_denied", 0);
  await requestLog.service.stop(0);
  expect(written).toEqual([...Array(120).fill(429), 403] as never);
});

test("a refusal has a row again a minute after the first of 120", async () => {
  const { requestLog, arrive, written, clock } = open();
  const refuse = () => arrive().close(429, "rate_limit_exceeded", 0);
  for (let n = 0; n < 120; n++) refuse();
  await clock.advance(59_999);
  refuse();
  await clock.advance(1);
  refuse();
  await requestLog.service.stop(0);
  expect(written).toHaveLength(121);
});

test("a stop with nothing under way waits for nothing", async () => {
  const { requestLog, clock } = open();
  const stopped = requestLog.service.stop(10_000) as Promise<void>;
  await clock.advance(0);
  expect(Bun.peek.status(stopped)).toBe("fulfilled");
});

test("the keys of an account share its 120 rows of refusals", async () => {
  const { requestLog, arrive, written } = open();
  for (let n = 0; n < 60; n++) {
    for (const key of ["k-1", "k-2"]) arrive(key, "a-1").close(429, "rate_limit_exceeded", 0);
  }
  arrive("k-3", "a-1").close(403, "permission_denied", 0);
  arrive("k-3", "a-2").close(404, "not_found", 0);
  await requestLog.service.stop(0);
  expect(written).toEqual([...Array(120).fill(429), 404] as never);
});

test("a stop waits for running requests, and writes their entries", async () => {
  const { requestLog, arrive, written, clock } = open();
  const tallies = [arrive(), arrive()];
  const stopped = requestLog.service.stop(10_000) as Promise<void>;
  await clock.advance(9_000);
  tallies[0]!.close(201, null, 1);
  await clock.advance(0);
  expect([written, Bun.peek.status(stopped)]).toEqual([[201], "pending"] as never);
  tallies[1]!.close(499, "client_closed_request", 1);
  await stopped;
  expect(written).toEqual([201, 499] as never);
});

test("a stop waits up to its deadline, and reports lost entries", async () => {
  const { requestLog, arrive, clock, lines } = open(() =>
    Promise.reject(new DatabaseUnavailable("away")),
  );
  arrive().close(201, null, 1);
  arrive();
  const stopped = requestLog.service.stop(5_000);
  await clock.advance(10_000);
  await stopped;
  expect(lines.at(-1)!.message).toBe("request log: entries were not written before the stop");
});

test("a stop without any time has two seconds for the last entries", async () => {
  const { requestLog, arrive, clock, lines } = open(() => new Promise<void>(() => {}));
  arrive().close(201, null, 1);
  const stopped = requestLog.service.stop(0) as Promise<void>;
  await clock.advance(1_999);
  expect([lines, Bun.peek.status(stopped)]).toEqual([[], "pending"]);
  await clock.advance(1);
  await stopped;
  expect(lines).toMatchObject([{ level: "error", rows: 1 }]);
});

test("old rows are removed two thousand per write, and those kept forever stay", async () => {
  const { clock } = createDeps();
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

test("half hours are added up day by day from the start of a day in UTC, or kept forever", async () => {
  const { clock } = createDeps();
  const asked: number[] = [];
  const left = [5, 3, 0];
  const retention = { usage_half_hours: null as number | null };
  const database = {
    bind: () => ({
      async foldDay(until: number) {
        asked.push(until);
        return left.shift()!;
      },
    }),
  } as unknown as Database;
  const settings = () => ({ retention }) as Pick<Settings, "retention">;
  const [, fold] = createRequestLogSweeps({ database, settings });
  expect(await fold!.run(clock.now(), () => false)).toBe(0);
  retention.usage_half_hours = 2 * 86_400_000;
  expect(await fold!.run(clock.now(), () => true)).toBe(0);
  expect(await fold!.run(clock.now(), () => false)).toBe(8);
  const midnight = Date.UTC(2026, 10, 18) / 1_800_000;
  expect(asked).toEqual([midnight, midnight, midnight]);
});
