// Holds the strangers' way out against certificates and replies that mean harm, and against time.
import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import type { GuardedOptions } from "../../../src/platform/egress/guarded.ts";
import { certificate, certificateKey, certificateName } from "../../support/certificate.ts";
import { ask, guard } from "./guard.ts";
import { findClosedPort, listenRaw, plainReply } from "./raw-server.ts";

test("a certificate must be vouched for and must stand for the name", async () => {
  let requests = 0;
  using server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    tls: { cert: certificate, key: certificateKey },
    fetch: () => {
      requests += 1;
      return new Response("ok");
    },
  });
  const names = [certificateName, "billing.acme.com", "127.0.0.1"];
  const places = names.map((name) => `${name}:${server.port}`);
  const [right, wrong, bare] = places.map((place) => `https://${place}/`) as [
    string,
    string,
    string,
  ];
  const trusting = guard(places, {
    fetch: (url, init) => fetch(url, { ...init, tls: { ...init.tls, ca: certificate } }),
  });
  expect(await trusting.request({ ...ask, url: right })).toMatchObject({ ok: true });
  const refused = { ok: false, code: "tls", sent: false };
  expect(await trusting.request({ ...ask, url: wrong })).toMatchObject(refused);
  expect(await trusting.request({ ...ask, url: bare })).toMatchObject(refused);

  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  try {
    expect(await guard(places).request({ ...ask, url: right })).toMatchObject(refused);
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
  expect(requests).toBe(1);
});

test("a compressed bomb comes as it was sent, and no further than the limit", async () => {
  // A gzip file may be a chain of them: 400 times a packed megabyte of zeros, in 0.4 MB.
  const link = gzipSync(new Uint8Array(1_048_576));
  const bomb = Buffer.concat(Array<Buffer>(400).fill(link));
  using server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch: () => new Response(bomb, { headers: { "content-encoding": "gzip" } }),
  });
  const egress = guard([`127.0.0.1:${server.port}`]);
  const url = server.url.href;
  const whole = await egress.request({ ...ask, url, response_bytes_max: bomb.length });
  expect(whole).toMatchObject({ ok: true, truncated: false });
  expect(whole.ok && bomb.equals(whole.body)).toBe(true);
  const begun = await egress.request({ ...ask, url, response_bytes_max: 1_000 });
  expect(begun).toMatchObject({ ok: true, truncated: true });
  expect(begun.ok && bomb.subarray(0, 1_000).equals(begun.body)).toBe(true);
});

test("a reply without a body is an empty one", async () => {
  using server = listenRaw((socket) => socket.say("HTTP/1.1 204 No Content\r\n\r\n"));
  const outcome = await guard(["127.0.0.1:*"]).request({ ...ask, url: server.origin });
  expect(outcome).toMatchObject({ ok: true, status: 204, truncated: false });
  expect(outcome.ok && outcome.body.length).toBe(0);
});

test("a reply without end is read to the limit and then hung up on", async () => {
  using server = listenRaw((socket) =>
    socket.say(`HTTP/1.1 200 OK\r\ncontent-length: 4000000000\r\n\r\n${"a".repeat(10_000)}`),
  );
  const egress = guard([`127.0.0.1:${server.port}`]);
  const outcome = await egress.request({ ...ask, url: server.origin, response_bytes_max: 5 });
  expect(outcome).toMatchObject({ ok: true, truncated: true, body: Buffer.from("aaaaa") });
  await server.closed;
});

test("a reply that breaks off keeps its status and counts as sent", async () => {
  using server = listenRaw((socket) => {
    socket.say("HTTP/1.1 410 Gone\r\ncontent-length: 100\r\n\r\nhalf");
    socket.end();
  });
  const egress = guard(["127.0.0.1:*"]);
  expect(await egress.request({ ...ask, url: server.origin })).toEqual({
    ok: false,
    code: "reset",
    say: `127.0.0.1:${server.port} closed the connection before its reply was complete.`,
    sent: true,
    status: 410,
  });
});

test("a refused connection was not sent, a reset one may have been", async () => {
  using server = listenRaw((socket) => socket.break());
  const egress = guard(["127.0.0.1:*"]);
  const refused = await egress.request({ ...ask, url: findClosedPort() });
  expect(refused).toMatchObject({ ok: false, code: "refused", sent: false });
  const reset = await egress.request({ ...ask, url: server.origin });
  expect(reset).toMatchObject({ ok: false, code: "reset", sent: true });
  expect(server.connections).toBe(1);
});

/** A clock whose deadlines pass when the test says so, each known by its length. */
function stoppedClock() {
  const controllers = new Map<number, AbortController>();
  const deadline = (timeout_ms: number) => {
    const controller = new AbortController();
    controllers.set(timeout_ms, controller);
    return controller.signal;
  };
  const pass = (timeout_ms: number) =>
    controllers.get(timeout_ms)!.abort(new DOMException("late", "TimeoutError"));
  return { deadline, pass };
}

test("a look-up may take five seconds, and no longer than the request", async () => {
  for (const [passing_ms, code] of [
    [5_000, "dns"],
    [15_000, "timeout"],
  ] as const) {
    const { deadline, pass } = stoppedClock();
    const asked = Promise.withResolvers<void>();
    const resolve = () => {
      asked.resolve();
      return new Promise<string[]>(() => {});
    };
    const outcome = guard([], { resolve, deadline }).request({ ...ask, url: "https://a.b.com/" });
    await asked.promise;
    pass(passing_ms);
    expect(await outcome).toMatchObject({ ok: false, code, sent: false });
  }
});

test("a server that does not answer, or stops in the middle, runs into the deadline", async () => {
  for (const [reply, status] of [
    ["", null],
    ["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", 200],
  ] as const) {
    const { deadline, pass } = stoppedClock();
    const heard = Promise.withResolvers<void>();
    using server = listenRaw((socket) => {
      socket.say(reply);
      if (reply === "") heard.resolve();
    });
    const listening: GuardedOptions["fetch"] = async (url, init) => {
      const response = await fetch(url, init);
      heard.resolve();
      return response;
    };
    const egress = guard([`127.0.0.1:${server.port}`], { deadline, fetch: listening });
    const outcome = egress.request({ ...ask, url: server.origin });
    await heard.promise;
    pass(15_000);
    expect(await outcome).toMatchObject({ ok: false, code: "timeout", sent: true, status });
    await server.closed;
  }
});

test("a caller who gives up ends the request, whatever the reason", async () => {
  const heard = Promise.withResolvers<void>();
  using server = listenRaw(() => heard.resolve());
  const leaving = new AbortController();
  const egress = guard([`127.0.0.1:${server.port}`]);
  const outcome = egress.request({ ...ask, url: server.origin, signal: leaving.signal });
  await heard.promise;
  leaving.abort("cancelled");
  expect(await outcome).toMatchObject({ ok: false, code: "aborted", sent: true });
  await server.closed;

  const never = () => new Promise<string[]>(() => {});
  const late = guard([], { resolve: never }).request({
    ...{ ...ask, url: "https://a.example.com/" },
    signal: AbortSignal.abort("cancelled"),
  });
  expect(await late).toMatchObject({ ok: false, code: "aborted", sent: false });
});

test("the guard ignores the proxy of the environment", async () => {
  using proxy = listenRaw((socket) => socket.say(plainReply));
  using server = listenRaw((socket) => socket.say(plainReply));
  process.env.HTTP_PROXY = proxy.origin;
  try {
    const egress = guard([`127.0.0.1:${server.port}`]);
    expect(await egress.request({ ...ask, url: server.origin })).toMatchObject({ ok: true });
  } finally {
    delete process.env.HTTP_PROXY;
  }
  expect([proxy.connections, server.connections]).toEqual([0, 1]);
});

test("requests to one place share a connection until the guard is closed", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const egress = guard([`hooks.acme.internal:${server.port}`]);
  const url = `http://hooks.acme.internal:${server.port}/`;
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true });
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true });
  expect(server.connections).toBe(1);
  egress.close();
  await server.closed;
});
