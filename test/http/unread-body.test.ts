// Tests how much of a body is read after a refusal, over raw sockets.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { Type } from "@sinclair/typebox";
import { closeAfterReply } from "../../src/http/unread-body.ts";
import { yieldToEventLoop } from "../../src/platform/clock.ts";
import { openRaw, type RawClient } from "./raw-client.ts";
import { createTestServer, describeRoute, type TestServer } from "./test-server.ts";

const KEY = "Authorization: Bearer key\r\n";
const PIECE = "x".repeat(16 * 1024);
const CHUNK = `${PIECE.length.toString(16)}\r\n${PIECE}\r\n`;
/** Bytes that the sockets of both sides buffer. */
const SOCKET_BYTES = 16 * 1024 * 1024;
const BODY_BYTES = 64 * 1024 * 1024;

let http: TestServer;
beforeAll(async () => {
  http = createTestServer(
    (router) => {
      const Body = Type.Object({ size: Type.Integer() });
      router.post("/v1/things", describeRoute(Body), ({ body: { size } }) => [200, { size }]);
    },
    {},
    [{ path: "/page", answer: () => new Response("a page\n") }],
  );
  await http.server.start();
});
afterAll(() => http.server.stop(0));

/** Sends until the other side closes; returns the number of bytes sent. */
async function pour(client: RawClient, piece: string): Promise<number> {
  let sent = 0;
  let isClosed = false;
  void client.closed.then(() => (isClosed = true));
  while (!isClosed && sent < BODY_BYTES) {
    sent += piece.length;
    if (client.socket.write(piece)) await new Promise((resolve) => setImmediate(resolve));
    else await Promise.race([client.closed, new Promise((go) => client.socket.once("drain", go))]);
  }
  return sent;
}

describe("a refused body is not read to its end", () => {
  const endless = [
    ["announced", `Content-Length: ${BODY_BYTES}`, PIECE],
    ["in chunks", "Transfer-Encoding: chunked", CHUNK],
  ] as const;
  const refused: [what: string, line: string, key: string, status: number][] = [
    ["without a key", "POST /v1/things", "", 401],
    ["too large", "POST /v1/things", KEY, 413],
    ["for no route", "POST /v1/unknown", KEY, 404],
    ["for another method", "PUT /v1/things", KEY, 404],
    ["for a path that leads out of /v1", "POST /v1/../page", KEY, 404],
    ["of a method without one", "GET /v1/unknown", KEY, 404],
  ];
  for (const [how, header, piece] of endless) {
    for (const [what, line, key, status] of refused) {
      test(`${how}, ${what}`, async () => {
        const client = await openRaw(http.server.url, "POST");
        client.write(`${line} HTTP/1.1\r\nHost: localhost\r\n${key}${header}\r\n\r\n`);
        // A chunked body has to be large before it is too large.
        const [reply, sent] = await Promise.all([client.read(), pour(client, piece)]);
        expect(reply).toMatchObject({ status, headers: { connection: "close" } });
        expect(JSON.parse(reply!.body).error).toBeObject();
        expect(sent).toBeLessThan(SOCKET_BYTES);
        await client.closed;
      });
    }
  }

  test("a refused body of 256 KB leaves the connection open, and a longer one ends it", async () => {
    const client = await openRaw(http.server.url, "POST");
    const send = (bytes: number) => {
      const head = `POST /v1/things HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${bytes}\r\n\r\n`;
      client.write(head + "x".repeat(bytes));
    };
    send(256 * 1024);
    const reply = await client.read();
    expect(reply).toMatchObject({ status: 401 });
    expect(reply!.headers.connection).not.toBe("close");
    send(256 * 1024 + 1);
    expect(await client.read()).toMatchObject({ status: 401, headers: { connection: "close" } });
    await client.closed;
  });

  test("a caller who sends no more gets the reply, and is disconnected after a second", async () => {
    const client = await openRaw(http.server.url, "POST");
    client.write("POST /v1/things HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n");
    while (!client.rest().includes("invalid_api_key")) {
      await new Promise((resolve) => client.socket.once("data", resolve));
    }
    await http.clock.advance(1_000);
    expect(await client.read()).toMatchObject({ status: 401 });
    await client.closed;
  });

  test("a caller who sends slowly is disconnected after five seconds", async () => {
    const client = await openRaw(http.server.url, "POST");
    client.write("POST /v1/things HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n");
    while (!client.rest().includes("invalid_api_key")) {
      await new Promise((resolve) => client.socket.once("data", resolve));
    }
    // Each byte is sent at once.
    client.socket.setNoDelay(true);
    let isClosed = false;
    void client.closed.then(() => (isClosed = true));
    for (let second = 1; second <= 5; second++) {
      expect([second, isClosed]).toEqual([second, false]);
      client.write("x");
      for (let turns = 0; turns < 10; turns++) await yieldToEventLoop();
      await http.clock.advance(1_000);
    }
    expect(await client.read()).toMatchObject({ status: 401 });
    await client.closed;
  });

  test("its rest is given up with its time, and the request counts until then", async () => {
    const { clock } = http;
    let isGivenUp = false;
    const body = new ReadableStream({
      start: (sending) => sending.enqueue(new Uint8Array(9)),
      cancel() {
        isGivenUp = true;
      },
    });
    const open = new Set<Request>();
    const request = new Request("http://localhost/", { method: "POST", body });
    const reply = new Response("no", { status: 401 });
    const last = await closeAfterReply(request, reply, clock, open);
    const text = last.text();
    while (open.size === 0) await yieldToEventLoop();
    const before = clock.pending();
    await clock.advance(2_000);
    expect(await text).toBe("no");
    expect([open.size, isGivenUp, clock.pending()]).toEqual([0, true, before - 1]);
  });

  test("its sender has nothing to wait for once it has sent 256 KB, or all", async () => {
    const { clock } = http;
    for (const pieces of [[256 * 1024], [9]]) {
      const isWhole = pieces[0] === 9;
      const body = new ReadableStream({
        start(sending) {
          for (const bytes of pieces) sending.enqueue(new Uint8Array(bytes));
          if (isWhole) sending.close();
        },
      });
      const leaving = new AbortController();
      const { signal } = leaving;
      const request = new Request("http://localhost/", { method: "POST", body, signal });
      const before = [clock.pending(), getEventListeners(request.signal, "abort").length];
      const last = await closeAfterReply(request, new Response("no", { status: 401 }), clock);
      expect(await last.text()).toBe("no");
      const after = [clock.pending(), getEventListeners(request.signal, "abort").length];
      expect(after).toEqual(before);
    }
  });

  test("in chunks, not complete in time", async () => {
    const client = await openRaw(http.server.url, "POST");
    const reading = http.clock.pending();
    client.write(
      `POST /v1/things HTTP/1.1\r\nHost: localhost\r\n${KEY}Transfer-Encoding: chunked\r\n\r\n` +
        "1\r\n{\r\n",
    );
    while (http.clock.pending() === reading) await yieldToEventLoop();
    await http.clock.advance(30_000);
    const [reply, sent] = await Promise.all([client.read(), pour(client, CHUNK)]);
    expect(reply).toMatchObject({ status: 400, headers: { connection: "close" } });
    expect(sent).toBeLessThan(SOCKET_BYTES);
  });

  test("a complete chunked body leaves the connection open, refused or served", async () => {
    const client = await openRaw(http.server.url, "POST");
    const send = (body: string) =>
      client.write(
        `POST /v1/things HTTP/1.1\r\nHost: localhost\r\n${KEY}Transfer-Encoding: chunked\r\n\r\n` +
          `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      );
    send("{}");
    expect(await client.read()).toMatchObject({ status: 400 });
    send('{"size":5}');
    expect(await client.read()).toMatchObject({ status: 200, body: '{"size":5}' });
    client.leave();
  });
});
