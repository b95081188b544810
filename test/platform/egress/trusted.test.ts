// Holds the operator's way out against servers that redirect, compress, stall and break.
import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { createTrustedEgress } from "../../../src/platform/egress/trusted.ts";
import { listenRaw, plainReply, type RawSocket } from "./raw-server.ts";

const post = { method: "POST", body: "x" } as const;

test("requests after each other share one connection", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const egress = createTrustedEgress();
  for (let round = 0; round < 3; round += 1) {
    expect(await (await egress.fetch(server.origin, post)).text()).toBe("ok");
  }
  expect(server.connections).toBe(1);
  egress.close();
  await server.closed;
});

test("a POST whose pooled connection broke before an answer is sent once more on a new one", async () => {
  using server = listenRaw(answerFirstOf((connection) => connection >= 1));
  const egress = createTrustedEgress();
  await (await egress.fetch(server.origin, post)).text();
  expect(await (await egress.fetch(server.origin, post)).text()).toBe("ok");
  expect([server.connections, server.pieces.length]).toEqual([2, 3]);
});

test("a POST that breaks a second time is given up", async () => {
  using server = listenRaw(answerFirstOf((connection) => connection === 1));
  const egress = createTrustedEgress();
  await (await egress.fetch(server.origin, post)).text();
  await expect(egress.fetch(server.origin, post)).rejects.toMatchObject({ code: "ECONNRESET" });
  expect([server.connections, server.pieces.length]).toEqual([2, 3]);
});

test("the second sending trusts no other pooled connection", async () => {
  const both: RawSocket[] = [];
  using server = listenRaw((socket) => {
    if (socket.piece > 1) return socket.break();
    both.push(socket);
    if (both.length >= 2) for (const waiting of both.splice(0, 2)) waiting.say(plainReply);
    if (socket.connection > 2) socket.say(plainReply);
  });
  const egress = createTrustedEgress();
  const first = [egress.fetch(server.origin, post), egress.fetch(server.origin, post)];
  for (const reply of await Promise.all(first)) await reply.text();
  expect(await (await egress.fetch(server.origin, post)).text()).toBe("ok");
  expect([server.connections, server.pieces.length]).toEqual([3, 4]);
});

test("a GET is left to Bun, which sends it once more by itself", async () => {
  using server = listenRaw(answerFirstOf((connection) => connection === 1));
  const egress = createTrustedEgress();
  await (await egress.fetch(server.origin)).text();
  await expect(egress.fetch(server.origin)).rejects.toMatchObject({ code: "ECONNRESET" });
  expect([server.connections, server.pieces.length]).toEqual([2, 3]);
});

test("a POST whose fresh connection broke is not sent again", async () => {
  using server = listenRaw((socket) => socket.break());
  const egress = createTrustedEgress();
  await expect(egress.fetch(server.origin, post)).rejects.toMatchObject({ code: "ECONNRESET" });
  expect([server.connections, server.pieces.length]).toEqual([1, 1]);
});

test("a reply that breaks off after its head is not asked for again", async () => {
  using server = listenRaw((socket) => {
    if (socket.piece === 1) return socket.say(plainReply);
    socket.say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    socket.end();
  });
  const egress = createTrustedEgress();
  await (await egress.fetch(server.origin, post)).text();
  const reply = await egress.fetch(server.origin, post);
  await expect(reply.text()).rejects.toMatchObject({ code: "ECONNRESET" });
  expect([server.connections, server.pieces.length]).toEqual([1, 2]);
});

test("an abort rejects with its reason and closes the connection", async () => {
  const asked = Promise.withResolvers<void>();
  using server = listenRaw(() => asked.resolve());
  const leaving = new AbortController();
  const reply = createTrustedEgress().fetch(server.origin, { ...post, signal: leaving.signal });
  await asked.promise;
  leaving.abort(new Error("the caller left"));
  await expect(reply).rejects.toThrow("the caller left");
  await server.closed;
});

test("redirects are handed back, compressed replies are unpacked, proxies are ignored", async () => {
  using proxy = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("proxy") });
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/away": () => Response.redirect("/packed"),
      "/packed": () => new Response(gzipSync("plain"), { headers: { "content-encoding": "gzip" } }),
    },
  });
  const egress = createTrustedEgress();
  process.env.HTTP_PROXY = proxy.url.href;
  try {
    expect((await egress.fetch(`${server.url}away`)).status).toBe(302);
    expect(await (await egress.fetch(`${server.url}packed`)).text()).toBe("plain");
  } finally {
    delete process.env.HTTP_PROXY;
  }
});

/** Answers the first request of each connection that `isWell` and breaks it at the next one. */
function answerFirstOf(isWell: (connection: number) => boolean): (socket: RawSocket) => void {
  return (socket) => {
    if (socket.piece === 1 && isWell(socket.connection)) socket.say(plainReply);
    else socket.break();
  };
}
