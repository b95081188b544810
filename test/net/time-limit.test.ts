// Tests the timeouts of the guarded egress: lookups, connections, replies and departing callers.
import { expect, test } from "bun:test";
import type { HttpConnection } from "../../src/net/http-connection.ts";
import { dial } from "../../src/net/http-dial.ts";
import { TimeLimit } from "../../src/net/time-limit.ts";
import { createManualClock } from "../support/clock.ts";
import { ask, guard } from "./guard.ts";
import { listenRaw, plainReply } from "./raw-server.ts";

const url = "https://a.example.com/";
const never = () => new Promise<string[]>(() => {});

test("a lookup takes five seconds at most, and no longer than the request", async () => {
  for (const [timeout_ms, passing_ms, code] of [
    [15_000, 5_000, "dns"],
    [3_000, 3_000, "timeout"],
  ] as const) {
    const clock = createManualClock();
    const outcome = guard([], { clock, resolve: never }).request({
      ...ask,
      url,
      timeoutMs: timeout_ms,
    });
    await clock.advance(passing_ms - 1);
    expect(Bun.peek.status(outcome)).toBe("pending");
    await clock.advance(1);
    expect(await outcome).toMatchObject({ ok: false, code, sent: false, status: null });
    expect(clock.pending()).toBe(0);
  }
});

test("a connection takes five seconds at most, and then the next address is tried", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const clock = createManualClock();
  const dialled: string[] = [];
  const egress = guard([], {
    clock,
    resolve: async () => ["1.1.1.1", "1.1.1.2"],
    dial(target, options) {
      dialled.push(target.hostname);
      // The first address neither accepts the connection nor refuses it.
      if (target.hostname === "1.1.1.1") {
        return clock.after(options.timeoutMs, () => options.onFailure("timeout"));
      }
      const place = { hostname: "127.0.0.1", port: server.port, isSecure: false };
      return dial({ ...target, ...place }, options);
    },
  });
  const outcome = egress.request({ ...ask, url });
  await clock.advance(4_999);
  expect(dialled).toEqual(["1.1.1.1"]);
  await clock.advance(1);
  expect(await outcome).toMatchObject({ ok: true });
  expect([dialled, clock.pending()]).toEqual([["1.1.1.1", "1.1.1.2"], 0]);
});

test("a request that ends while it connects was not sent", async () => {
  for (const [isLeaving, code] of [
    [true, "aborted"],
    [false, "timeout"],
  ] as const) {
    const clock = createManualClock();
    const leaving = new AbortController();
    let cancelled = 0;
    const egress = guard([], {
      clock,
      resolve: async () => ["1.1.1.1", "1.1.1.2"],
      dial: () => () => {
        cancelled += 1;
      },
    });
    const { signal } = leaving;
    const outcome = egress.request({ ...ask, url, timeoutMs: 2_000, signal });
    await clock.advance(1_999);
    if (isLeaving) leaving.abort();
    await clock.advance(1);
    expect(await outcome).toMatchObject({ ok: false, code, sent: false });
    expect([cancelled, clock.pending()]).toEqual([1, 0]);
  }
});

test("the first of several ends is reported", async () => {
  const clock = createManualClock();
  const limit = new TimeLimit(clock, 1_000, undefined);
  const ends: string[] = [];
  limit.onEnd((why) => ends.push(why));
  await clock.advance(1_000);
  limit.end();
  expect([limit.ended, ends]).toEqual(["timeout", ["timeout"]]);
});

test("work that is over is ended by no caller who leaves later", () => {
  const clock = createManualClock();
  const caller = new AbortController();
  const limit = new TimeLimit(clock, 1_000, caller.signal);
  limit.release();
  caller.abort();
  expect([limit.ended, clock.pending()]).toEqual([null, 0]);
});

test("a server that does not reply, or stops midway, reaches the deadline", async () => {
  for (const [reply, status] of [
    ["", null],
    ["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", 200],
    ["HTTP/1.1 200 OK\r\n\r\nhalf", 200],
  ] as const) {
    const clock = createManualClock();
    const heard = Promise.withResolvers<void>();
    using server = listenRaw((socket) => {
      socket.say(reply);
      if (status === null) heard.resolve();
    });
    const egress = guard([`127.0.0.1:${server.port}`], {
      clock,
      dial: (target, { onOpen, ...options }) =>
        dial(target, { ...options, onOpen: (made) => onOpen(tellHeads(made, heard.resolve)) }),
    });
    const outcome = egress.request({ ...ask, url: server.origin });
    await heard.promise;
    await clock.advance(15_000);
    expect(await outcome).toMatchObject({ ok: false, code: "timeout", sent: true, status });
    expect(clock.pending()).toBe(0);
    await server.closed;
  }
});

/** A connection that reports the head to a test. */
function tellHeads(connection: HttpConnection, onHeard: () => void): HttpConnection {
  const send = connection.send.bind(connection);
  connection.send = (request, listener) => {
    const onHead = listener.onHead.bind(listener);
    listener.onHead = (head) => {
      onHead(head);
      onHeard();
    };
    send(request, listener);
  };
  return connection;
}

test("an endless slow reply ends at the deadline of the whole request", async () => {
  const clock = createManualClock();
  using server = listenRaw((socket) => {
    socket.say("HTTP/1.1 200 OK\r\n\r\n");
    const trickle = () => {
      socket.say("a");
      clock.after(1_000, trickle);
    };
    trickle();
  });
  const egress = guard([`127.0.0.1:${server.port}`], { clock });
  const outcome = egress.request({ ...ask, url: server.origin, timeoutMs: 10_000 });
  while (server.pieces.length === 0) await clock.advance(0);
  await clock.advance(10_000);
  expect(await outcome).toMatchObject({ ok: false, code: "timeout", sent: true });
  await server.closed;
});

test("a caller who gives up ends the request, whatever the reason", async () => {
  const heard = Promise.withResolvers<void>();
  using server = listenRaw(() => heard.resolve());
  const leaving = new AbortController();
  const clock = createManualClock();
  const egress = guard([`127.0.0.1:${server.port}`], { clock });
  const outcome = egress.request({ ...ask, url: server.origin, signal: leaving.signal });
  await heard.promise;
  leaving.abort("cancelled");
  expect(await outcome).toMatchObject({ ok: false, code: "aborted", sent: true });
  expect(clock.pending()).toBe(0);
  await server.closed;
});

test("the request of a departed caller is neither resolved nor dialled", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const signal = AbortSignal.abort("cancelled");
  const asked: string[] = [];
  const resolve = async (name: string) => {
    asked.push(name);
    return ["127.0.0.1"];
  };
  const egress = guard([`127.0.0.1:${server.port}`], { resolve });
  for (const place of [url, server.origin]) {
    const outcome = await egress.request({ ...ask, url: place, signal });
    expect(outcome).toMatchObject({ ok: false, code: "aborted", sent: false });
  }
  expect([asked, server.connections]).toEqual([[], 0]);
});

test("closing the egress aborts running requests", async () => {
  const heard = Promise.withResolvers<void>();
  using server = listenRaw(() => heard.resolve());
  const egress = guard([`127.0.0.1:${server.port}`]);
  const outcome = egress.request({ ...ask, url: server.origin });
  await heard.promise;
  egress.close();
  expect(await outcome).toMatchObject({ ok: false, code: "aborted", sent: true });
  await server.closed;
});
