// Tests which connections are kept between requests, and for whom.
import { expect, test } from "bun:test";
import type { HttpConnection } from "../../src/net/http-connection.ts";
import { IdleConnections, IdleOrigin, type PooledConnection } from "../../src/net/http-idle.ts";
import { createManualClock } from "../support/clock.ts";

function open() {
  const clock = createManualClock();
  const idle = new IdleConnections(clock);
  const closed: number[] = [];
  let made = 0;
  /** Keeps a connection after its first request; returns it. */
  const keep = (origin: IdleOrigin, account = "a") => {
    const n = made++;
    const connection = { close: () => void closed.push(n) } as unknown as HttpConnection;
    const times = { openedAt: clock.monotonic(), askedAt: clock.monotonic(), unusedSince: 0 };
    const pooled: PooledConnection = {
      ...{ connection, origin, account, ...times },
      ...{ requests: 1, state: "used" },
    };
    idle.keep(pooled);
    return pooled;
  };
  return { clock, idle, closed, keep };
}

test("a connection serves its account again, from the next turn on", async () => {
  const { clock, idle, keep } = open();
  const origin = new IdleOrigin();
  const [first, last] = [keep(origin), keep(origin)];
  expect(idle.take(origin, "a")).toBeUndefined();
  await clock.advance(0);
  expect(idle.take(origin, "b")).toBeUndefined();
  expect(idle.take(new IdleOrigin(), "a")).toBeUndefined();
  expect([idle.take(origin, "a"), idle.take(origin, "a")]).toEqual([last, first]);
  expect(idle.take(origin, "a")).toBeUndefined();
});

test("a connection that is gone before the next turn is not used again", async () => {
  const { clock, idle, keep } = open();
  const origin = new IdleOrigin();
  idle.drop(keep(origin));
  await clock.advance(0);
  expect([idle.take(origin, "a"), origin.count]).toEqual([undefined, 0]);
});

test("connections to another server stay and expire, although all to one are closed", async () => {
  const { clock, idle, keep, closed } = open();
  const [origin, other] = [new IdleOrigin(), new IdleOrigin()];
  keep(origin);
  const kept = keep(other);
  idle.closeOrigin(origin);
  await clock.advance(0);
  expect([closed, other.ready.get("a")]).toEqual([[0], [kept]]);
  await clock.advance(30_000);
  expect(closed).toEqual([0, 1]);
});

test("of more than 2,048 connections to one server the longest unused is closed", () => {
  const { keep, closed } = open();
  const [origin, other] = [new IdleOrigin(), new IdleOrigin()];
  keep(other);
  for (let n = 1; n <= 2_048; n++) keep(origin, `account ${n}`);
  expect(closed).toEqual([]);
  keep(origin);
  expect(closed).toEqual([1]);
});

test("of more than 4,096 connections in all the longest unused is closed", () => {
  const { keep, closed } = open();
  for (let server = 0; server < 4; server++) {
    const origin = new IdleOrigin();
    for (let n = 0; n < 1_024; n++) keep(origin);
  }
  expect(closed).toEqual([]);
  keep(new IdleOrigin());
  expect(closed).toEqual([0]);
});
