// Tests the guarded egress against bad certificates and hostile replies.
import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { certificate, certificateKey, certificateName } from "../support/certificate.ts";
import { findClosedPort } from "../support/ports.ts";
import { ask, get, guard } from "./guard.ts";
import { listenRaw, plainReply } from "./raw-server.ts";

test("a certificate must be trusted and match the name", async () => {
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
  const trusting = guard(places, { ca: certificate });
  expect(await trusting.request({ ...ask, url: right })).toMatchObject({ ok: true });
  const refused = { ok: false, code: "tls", sent: false, status: null };
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

test("a server with a wrong certificate is not tried at another address", async () => {
  const dialled: string[] = [];
  const egress = guard([], {
    resolve: async () => ["1.1.1.1", "1.1.1.2"],
    dial({ hostname }, { onFailure }) {
      dialled.push(hostname);
      queueMicrotask(() => onFailure("tls"));
      return () => {};
    },
  });
  const outcome = await egress.request({ ...ask, url: "https://a.example.com/" });
  expect(outcome).toMatchObject({ ok: false, code: "tls", sent: false });
  expect(dialled).toEqual(["1.1.1.1"]);
});

test("a server that does not speak TLS receives nothing", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const egress = guard(["hooks.acme.com:*"]);
  const outcome = await egress.request({ ...ask, url: `https://hooks.acme.com:${server.port}/` });
  expect(outcome).toMatchObject({ ok: false, sent: false });
  expect(server.pieces.join("")).not.toContain("HTTP");
});

test("a compressed bomb is returned as it was sent, up to the limit", async () => {
  // A gzip file may be a chain of them: 400 packed megabytes of zeros in 0.4 MB.
  const link = gzipSync(new Uint8Array(1_048_576));
  const bomb = Buffer.concat(Array<Buffer>(400).fill(link));
  using server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch: () => new Response(bomb, { headers: { "content-encoding": "gzip" } }),
  });
  const egress = guard([`127.0.0.1:${server.port}`]);
  const url = server.url.href;
  const whole = await egress.request({ ...ask, url, responseBytesMax: bomb.length });
  expect(whole).toMatchObject({ ok: true, truncated: false });
  expect(whole.ok && bomb.equals(whole.body)).toBe(true);
  const begun = await egress.request({ ...ask, url, responseBytesMax: 1_000 });
  expect(begun).toMatchObject({ ok: true, truncated: true });
  expect(begun.ok && bomb.subarray(0, 1_000).equals(begun.body)).toBe(true);
});

const CHUNK = `${(10_000).toString(16)}\r\n${"a".repeat(10_000)}\r\n`;
test.each([
  [
    "with a length of almost a terabyte",
    `content-length: 999999999999\r\n\r\n${"a".repeat(10_000)}`,
  ],
  ["in chunks without end", `transfer-encoding: chunked\r\n\r\n${CHUNK}`],
  [
    "in one chunk of a terabyte",
    `transfer-encoding: chunked\r\n\r\nffffffffff\r\n${"a".repeat(99)}`,
  ],
  ["without a length", `\r\n${"a".repeat(10_000)}`],
])("a reply %s is read to the limit, and then disconnected", async (_, rest) => {
  using server = listenRaw((socket) => socket.say(`HTTP/1.1 200 OK\r\n${rest}`));
  const egress = guard([`127.0.0.1:${server.port}`]);
  const outcome = await egress.request({ ...ask, url: server.origin, responseBytesMax: 5 });
  expect(outcome).toMatchObject({ ok: true, truncated: true });
  expect(outcome.ok && Buffer.from(outcome.body).toString()).toBe("aaaaa");
  await server.closed;
});

test("a reply of exactly the limit is whole", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const egress = guard([`127.0.0.1:${server.port}`]);
  for (const [response_bytes_max, body, truncated] of [
    [3, "ok", false],
    [2, "ok", false],
    [1, "o", true],
    [0, "", true],
  ] as const) {
    const outcome = await egress.request({
      ...ask,
      url: server.origin,
      responseBytesMax: response_bytes_max,
    });
    expect(outcome).toMatchObject({ ok: true, truncated });
    expect(outcome.ok && Buffer.from(outcome.body).toString()).toBe(body);
  }
});

test("a long reply is whole, with a length, in chunks and over TLS", async () => {
  const body = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7) % 251));
  const pieces = () =>
    new ReadableStream({
      start(controller) {
        for (let at = 0; at < body.length; at += 300_007) {
          controller.enqueue(body.subarray(at, at + 300_007));
        }
        controller.close();
      },
    });
  const answer = (request: Request) =>
    new Response(request.url.endsWith("/chunks") ? pieces() : body);
  using plain = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
  const tls = { cert: certificate, key: certificateKey };
  using secure = Bun.serve({ hostname: "127.0.0.1", port: 0, tls, fetch: answer });
  const origins = [
    `http://127.0.0.1:${plain.port}`,
    `https://${certificateName}:${secure.port}`,
  ] as const;
  const egress = guard(["127.0.0.1:*", `${certificateName}:*`], { ca: certificate });
  for (const url of origins.flatMap((origin) => [`${origin}/length`, `${origin}/chunks`])) {
    for (const response_bytes_max of [body.length, 1_000_001]) {
      const outcome = await egress.request({ ...ask, url, responseBytesMax: response_bytes_max });
      const truncated = response_bytes_max < body.length;
      expect(outcome).toMatchObject({ ok: true, truncated });
      expect(outcome.ok && body.subarray(0, response_bytes_max).equals(outcome.body)).toBe(true);
    }
  }
});

test("a body that arrives byte by byte is joined", async () => {
  using server = listenRaw((socket) => {
    const text =
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n";
    for (const byte of text) socket.say(byte);
  });
  const outcome = await guard(["127.0.0.1:*"]).request({ ...ask, url: server.origin });
  expect(outcome.ok && Buffer.from(outcome.body).toString()).toBe("abcde");
});

const LONG = "b".repeat(20_000);
test.each([
  ["headers without end", "HTTP/1.1 200 OK\r\n", `x-a: ${LONG}\r\n`, null],
  ["a header without end", "HTTP/1.1 200 OK\r\nx-a: ", LONG, null],
  ["a status without end", "HTTP/1.1 200 ", LONG, null],
  ["interim replies without end", "", "HTTP/1.1 100 Continue\r\n\r\n".repeat(800), null],
  [
    "an extension of a chunk without end",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;",
    LONG,
    200,
  ],
  [
    "trailers without end",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
    `x: ${LONG}\r\n`,
    200,
  ],
])("%s are disconnected", async (_, start, more, status) => {
  using server = listenRaw((socket) => {
    socket.say(start);
    for (let times = 0; times < 8; times += 1) socket.say(more);
  });
  const outcome = await guard(["127.0.0.1:*"]).request({ ...ask, url: server.origin });
  expect(outcome).toMatchObject({ ok: false, code: "other", sent: true, status });
  await server.closed;
});

test.each([
  ["of two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok"],
  [
    "of a length and chunks",
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
  ],
  ["that continues in another protocol", "HTTP/1.1 101 Switch\r\nupgrade: x\r\n\r\n"],
  ["of another version", "HTTP/2 200 OK\r\n\r\n"],
  ["that is no HTTP", "SSH-2.0-OpenSSH_9.9\r\n\r\n"],
  ["with a header that continues", "HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\n\r\n"],
])("a reply %s is invalid", async (_, reply) => {
  using server = listenRaw((socket) => socket.say(reply));
  const outcome = await guard(["127.0.0.1:*"]).request({ ...ask, url: server.origin });
  expect(outcome).toEqual({
    ok: false,
    code: "other",
    message: `127.0.0.1:${server.port} did not answer with well-formed HTTP.`,
    sent: true,
    status: null,
  });
});

test("a reply without a body is an empty one", async () => {
  using server = listenRaw((socket) => socket.say("HTTP/1.1 204 No Content\r\n\r\n"));
  const outcome = await guard(["127.0.0.1:*"]).request({ ...ask, url: server.origin });
  expect(outcome).toMatchObject({ ok: true, status: 204, truncated: false });
  expect(outcome.ok && outcome.body.length).toBe(0);
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
    message: `127.0.0.1:${server.port} closed the connection before its reply was complete.`,
    sent: true,
    status: 410,
  });
});

test("a refused connection was not sent, a reset one may have been, and neither is retried", async () => {
  using server = listenRaw((socket) => (socket.connection === 1 ? socket.break() : socket.end()));
  const egress = guard(["127.0.0.1:*"]);
  const refused = await egress.request({ ...ask, url: `http://127.0.0.1:${findClosedPort()}` });
  expect(refused).toMatchObject({ ok: false, code: "refused", sent: false });
  for (let connections = 1; connections <= 2; connections += 1) {
    const reset = await egress.request({ ...ask, url: server.origin });
    expect(reset).toMatchObject({ ok: false, code: "reset", sent: true, status: null });
    expect([server.connections, server.pieces.length]).toEqual([connections, connections]);
  }
});

test("each request has its own connection, which ends with its reply", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const egress = guard([`hooks.acme.internal:${server.port}`]);
  const url = `http://hooks.acme.internal:${server.port}/`;
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true });
  await server.closed;
  expect(await egress.request({ ...ask, url })).toMatchObject({ ok: true });
  expect(server.connections).toBe(2);
});

test("a GET has no body, bytes are sent unchanged, and text as UTF-8", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const egress = guard(["127.0.0.1:*"]);
  const url = server.origin;
  await egress.request({ ...get, url });
  await egress.request({ ...ask, url, body: new Uint8Array([0, 255, 10]) });
  await egress.request({ ...ask, url, body: "é" });
  await egress.request({ ...ask, url, body: undefined });
  const bodies = server.bytes.map((bytes) => bytes.subarray(bytes.indexOf("\r\n\r\n") + 4));
  expect(bodies.map((bytes) => [...bytes])).toEqual([[], [0, 255, 10], [0xc3, 0xa9], []]);
  expect(server.pieces.map((piece) => /content-length: \d/.exec(piece)?.[0] ?? null)).toEqual([
    null,
    "content-length: 3",
    "content-length: 2",
    "content-length: 0",
  ]);
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

test("a reader of a reply sees each piece with its head, and ends the reply where it wants", async () => {
  using server = listenRaw(({ say }) =>
    say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2\n\n"),
  );
  const seen: string[] = [];
  const outcome = await guard(["127.0.0.1:*"]).request({
    ...{ ...ask, url: `${server.origin}/` },
    readPiece(bytes, head) {
      seen.push(`${head.status} ${head.header("content-type")} ${Buffer.from(bytes)}`);
      return seen.join("").includes("2");
    },
  });
  // The server leaves the connection open, so that only the reader can have ended the reply.
  expect(outcome).toMatchObject({ ok: true, status: 200, truncated: false });
  expect(seen).toEqual(["200 text/event-stream data: 1\n\ndata: 2\n\n"]);
  await server.closed;
});

test("a reader of a long reply sees the bytes of each piece, however large it is", async () => {
  const body = "x".repeat(3_000_000);
  using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(body) });
  let seen = 0;
  await guard(["127.0.0.1:*"]).request({
    ...{ ...ask, url: server.url.href, responseBytesMax: body.length },
    readPiece(bytes) {
      seen += Buffer.from(bytes).toString().length;
      return false;
    },
  });
  expect(seen).toBe(body.length);
});

test("a DELETE has no body", async () => {
  using server = listenRaw(({ say }) => say(plainReply));
  const egress = guard(["127.0.0.1:*"]);
  await egress.request({ ...get, method: "DELETE", url: `${server.origin}/one` });
  expect(server.pieces[0]).toStartWith("DELETE /one HTTP/1.1\r\n");
  expect(server.pieces[0]).toEndWith("\r\n\r\n");
});
