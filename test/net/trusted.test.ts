// Tests the trusted egress with servers that close, break, stall and flood.
import { expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { findClosedPort } from "../support/ports.ts";
import { createAsker } from "./asker.ts";
import { listenRaw, plainReply, type RawSocket } from "./raw-server.ts";

test("sequential requests share one connection", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const { ask, egress, rest } = createAsker();
  for (let round = 0; round < 3; round += 1) {
    expect(await ask(server.origin).ended).toMatchObject({ body: "ok", end: "whole" });
    await rest();
  }
  expect(server.connections).toBe(1);
  egress.close();
  await server.closed;
});

test("a request is sent whole: its line, the host, its headers byte by byte, its body as UTF-8", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const { egress, ask } = createAsker();
  await ask(`${server.origin}/v1/chat?a=1`, { headers: { "x-team": "é" }, body: "é€😀" }).ended;
  const body = Buffer.from("é€😀");
  expect(Buffer.from(server.bytes[0]!)).toEqual(
    Buffer.concat([
      Buffer.from(
        `POST /v1/chat?a=1 HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\n` +
          `x-team: é\r\ncontent-length: ${body.length}\r\n\r\n`,
        "latin1",
      ),
      body,
    ]),
  );
  egress.close();
});

test("a header with a line break is never sent", () => {
  const { egress, ask } = createAsker();
  for (const value of ["a\r\nx-evil: 1", "a\nb", "a\0b", "€"]) {
    expect(() => ask("http://127.0.0.1:1/", { headers: { "x-a": value } })).toThrow("x-a");
    const headers = { "x-a": value };
    const open = () => egress.open("http://127.0.0.1:1/", { headers, connectTimeoutMs: 1 });
    expect(open).toThrow("x-a");
  }
  expect(() => ask("http://127.0.0.1:1/", { headers: { "x a": "1" } })).toThrow("x a");
});

test("a request whose pooled connection broke before a reply is resent once on a new one", async () => {
  for (const end of ["break", "end"] as const) {
    using server = listenRaw(answerFirstOf((connection) => connection >= 1, end));
    const { ask, rest } = createAsker();
    await ask(server.origin).ended;
    await rest();
    expect(await ask(server.origin).ended).toMatchObject({ body: "ok", end: "whole" });
    expect([server.connections, server.pieces.length]).toEqual([2, 3]);
  }
});

test("a request that was processed before its pooled connection broke is not resent", async () => {
  const taken = Promise.withResolvers<RawSocket>();
  using server = listenRaw((socket) => {
    if (socket.piece === 1) socket.say(plainReply);
    else taken.resolve(socket);
  });
  const { ask, clock, rest } = createAsker();
  await ask(server.origin).ended;
  await rest();
  const { ended } = ask(server.origin);
  const socket = await taken.promise;
  await clock.advance(500);
  socket.break();
  expect((await ended).end).toBe("reset");
  expect([server.connections, server.pieces.length]).toEqual([1, 2]);
});

test("an endless handshake is aborted at its timeout or when its caller leaves", async () => {
  for (const leaves of [false, true]) {
    const greeted = Promise.withResolvers<void>();
    using server = listenRaw(() => greeted.resolve());
    const { ask, clock } = createAsker();
    const { ended, exchange } = ask(server.origin.replace("http:", "https:"));
    await greeted.promise;
    if (leaves) exchange.cut();
    else {
      await clock.advance(5_000);
      expect((await ended).end).toBe("timeout");
    }
    await server.closed;
    expect([server.connections, clock.pending()]).toEqual([1, 0]);
  }
});

test("a request that breaks a second time fails", async () => {
  using server = listenRaw(answerFirstOf((connection) => connection === 1, "break"));
  const { ask, rest } = createAsker();
  await ask(server.origin).ended;
  await rest();
  expect((await ask(server.origin).ended).end).toBe("reset");
  expect([server.connections, server.pieces.length]).toEqual([2, 3]);
});

test("the resent request uses no other pooled connection", async () => {
  const both: RawSocket[] = [];
  using server = listenRaw((socket) => {
    if (socket.piece > 1) return socket.break();
    both.push(socket);
    if (both.length >= 2) for (const waiting of both.splice(0, 2)) waiting.say(plainReply);
    if (socket.connection > 2) socket.say(plainReply);
  });
  const { ask, rest } = createAsker();
  await Promise.all([ask(server.origin).ended, ask(server.origin).ended]);
  await rest();
  expect((await ask(server.origin).ended).body).toBe("ok");
  expect([server.connections, server.pieces.length]).toEqual([3, 4]);
});

test("a request whose fresh connection broke is not resent", async () => {
  using server = listenRaw((socket) => socket.break());
  const { ask } = createAsker();
  expect((await ask(server.origin).ended).end).toBe("reset");
  expect([server.connections, server.pieces.length]).toEqual([1, 1]);
});

test("a reply that breaks off after its first byte is not requested again", async () => {
  for (const start of ["H", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"]) {
    using server = listenRaw((socket) => {
      if (socket.piece === 1) return socket.say(plainReply);
      socket.say(start);
      socket.end();
    });
    const { ask, rest } = createAsker();
    await ask(server.origin).ended;
    await rest();
    expect((await ask(server.origin).ended).end).toBe("reset");
    expect([server.connections, server.pieces.length]).toEqual([1, 2]);
  }
});

test("a reply without a length is whole where its connection ends, and not where it breaks", async () => {
  for (const [end, outcome] of [
    ["end", "whole"],
    ["break", "reset"],
  ] as const) {
    const taken = Promise.withResolvers<RawSocket>();
    using server = listenRaw((socket) => {
      socket.say("HTTP/1.1 200 OK\r\n\r\nhalf");
      taken.resolve(socket);
    });
    const { first, ended } = createAsker().ask(server.origin);
    await first;
    (await taken.promise)[end]();
    expect(await ended).toMatchObject({ body: "half", end: outcome });
  }
});

test("a cut closes the connection at once, and its listener gets nothing more", async () => {
  const asked = Promise.withResolvers<void>();
  using server = listenRaw(() => asked.resolve());
  const { exchange, ended } = createAsker().ask(server.origin);
  await asked.promise;
  exchange.cut();
  await server.closed;
  expect(Bun.peek.status(ended)).toBe("pending");
});

test("closing the egress aborts running requests, and sends no queued ones", async () => {
  const asked = Promise.withResolvers<void>();
  using server = listenRaw(() => asked.resolve());
  const { ask, egress } = createAsker();
  const running = ask(server.origin);
  await asked.promise;
  const dialling = ask(server.origin);
  egress.close();
  expect((await running.ended).end).toBe("other");
  expect((await dialling.ended).end).toBe("other");
  await server.closed;
  expect(server.pieces).toHaveLength(1);
});

test("a cut before the connection prevents it", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const { ask } = createAsker();
  const { exchange, ended } = ask(server.origin);
  exchange.cut();
  expect(await ask(server.origin).ended).toMatchObject({ end: "whole" });
  expect([server.connections, Bun.peek.status(ended)]).toEqual([1, "pending"]);
});

test("a cut during the connection prevents the request", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const { ask } = createAsker();
  const { exchange, ended } = ask(server.origin);
  queueMicrotask(exchange.cut);
  await server.closed;
  expect([server.pieces, Bun.peek.status(ended)]).toEqual([[], "pending"]);
});

test("a cut after the end does not affect the connection's next request", async () => {
  const asked = Promise.withResolvers<RawSocket>();
  using server = listenRaw((socket) => {
    if (socket.piece === 1) socket.say(plainReply);
    else asked.resolve(socket);
  });
  const { ask, rest } = createAsker();
  const first = ask(server.origin);
  await first.ended;
  await rest();
  const second = ask(server.origin);
  first.exchange.cut();
  first.exchange.pause();
  (await asked.promise).say(plainReply);
  expect(await second.ended).toMatchObject({ body: "ok", end: "whole" });
});

const CLOSING: [title: string, reply: string, body: string][] = [
  ["that says so", "HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 2\r\n\r\nok", "ok"],
  ["of HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok"],
  ["followed by more bytes", `${plainReply}HTTP/1.1 200 OK\r\n\r\n`, "ok"],
];
for (const [title, reply, body] of CLOSING) {
  test(`a connection is not reused after a reply ${title}`, async () => {
    using server = listenRaw((socket) => socket.say(reply));
    const { ask } = createAsker();
    expect(await ask(server.origin).ended).toMatchObject({ body, end: "whole" });
    await server.closed;
    expect(await ask(server.origin).ended).toMatchObject({ body, end: "whole" });
    expect(server.connections).toBe(2);
  });
}

test("unsolicited bytes close the connection", async () => {
  using server = listenRaw((socket) => {
    socket.say(plainReply);
    setImmediate(() => socket.say("HTTP/1.1 200 OK\r\n"));
  });
  const { ask } = createAsker();
  await ask(server.origin).ended;
  await server.closed;
});

test("an idle connection is closed after 30 seconds, a reused one later", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const { ask, clock } = createAsker();
  await ask(server.origin).ended;
  await clock.advance(29_000);
  await ask(server.origin).ended;
  await clock.advance(29_999);
  await ask(server.origin).ended;
  expect(server.connections).toBe(1);
  await clock.advance(30_000);
  await server.closed;
  expect(clock.pending()).toBe(0);
});

test("three hundred requests run concurrently", async () => {
  const all: RawSocket[] = [];
  using server = listenRaw((socket) => {
    if (all.push(socket) === 300) for (const one of all) one.say(plainReply);
  });
  const { ask, egress } = createAsker();
  const heard = await Promise.all(Array.from({ length: 300 }, () => ask(server.origin).ended));
  expect(heard.every(({ end }) => end === "whole")).toBe(true);
  egress.close();
});

test("thousands of connections that fail one after the other are no bound for the next", async () => {
  const { ask, egress } = createAsker();
  const url = `http://127.0.0.1:${findClosedPort()}/`;
  const ends = new Set<string>();
  // Together more than may be under way at once.
  for (let round = 0; round < 33; round += 1) {
    const asked = Array.from({ length: 256 }, () => ask(url).ended);
    for (const { end } of await Promise.all(asked)) ends.add(end);
  }
  expect([...ends]).toEqual(["refused"]);
  egress.close();
});

test("a body of 8 MB is sent in pieces to a server that reads slowly", async () => {
  const body = "é€😀.".repeat(800_000);
  const size = Buffer.byteLength(body);
  let received = 0;
  using server = listenRaw((socket) => {
    received += socket.size;
    if (received > size) socket.say(plainReply);
  });
  const { ask } = createAsker();
  expect(await ask(server.origin, { body }).ended).toMatchObject({ body: "ok", end: "whole" });
  const sent = Buffer.concat(server.bytes).toString();
  expect(sent.slice(sent.indexOf("\r\n\r\n") + 4) === body).toBe(true);
});

test("a reply before the end of the request is received, and the connection closed", async () => {
  using server = listenRaw((socket) => {
    socket.pause();
    if (socket.piece === 1) socket.say("HTTP/1.1 413 No\r\ncontent-length: 2\r\n\r\nno");
  });
  const { ask } = createAsker();
  const { ended } = ask(server.origin, { body: "x".repeat(16_000_000) });
  expect(await ended).toMatchObject({ head: { status: 413 }, body: "no", end: "whole" });
  await server.closed;
});

test("a pending listener holds the server back, until it resolves", async () => {
  const size = 64 * 1024 * 1024;
  const piece = Buffer.alloc(65_536, "x");
  let sent = 0;
  const stopped = Promise.withResolvers<void>();
  const pump = (socket: Bun.Socket) => {
    for (let written = piece.length; sent < size && written === piece.length; sent += written) {
      written = socket.write(piece);
    }
    stopped.resolve();
  };
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
        pump(socket);
      },
      drain: pump,
    },
  });
  const { ask } = createAsker();
  const asked = ask(`http://127.0.0.1:${listener.port}`, {
    onBody: (exchange) => exchange().pause(),
  });
  await asked.first;
  await stopped.promise;
  // No more than the bytes in flight arrive: the kernel's buffers are full.
  const turns = async () => {
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  await turns();
  const held = asked.heard.body.length;
  await turns();
  expect([asked.heard.body.length, held < size / 2]).toEqual([held, true]);
  const goOn = setInterval(() => asked.exchange.resume(), 0);
  const { body, end } = await asked.ended;
  clearInterval(goOn);
  expect([body.length, end]).toEqual([size, "whole"]);
  listener.stop(true);
});

test("a server that times out is distinguished from one that refuses", async () => {
  const { ask, clock } = createAsker();
  expect((await ask(`http://127.0.0.1:${findClosedPort()}`).ended).end).toBe("refused");
  expect((await ask("http://nowhere.invalid/").ended).end).toBe("dns");
  const { ended } = ask("http://127.0.0.1:1/");
  await clock.advance(0);
  expect((await ended).end).toBe("refused");
  expect(clock.pending()).toBe(0);
});

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === "::1");

for (const [hostname, host] of [
  ["127.0.0.1", "localhost"],
  ["::1", "[::1]"],
  ["::1", "localhost"],
] as const) {
  test.skipIf(hostname === "::1" && !hasIpv6)(
    `a server on ${hostname} is reached as ${host}`,
    async () => {
      using server = Bun.serve({ hostname, port: 0, fetch: () => new Response("ok") });
      const { ended } = createAsker().ask(`http://${host}:${server.port}/`);
      expect(await ended).toMatchObject({ body: "ok", end: "whole" });
    },
  );
}

test("proxies are ignored, and redirects returned", async () => {
  using proxy = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("proxy") });
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.redirect("/elsewhere"),
  });
  process.env.HTTP_PROXY = proxy.url.href;
  try {
    const { head } = await createAsker().ask(server.url.href).ended;
    expect([head?.status, head?.header("location")]).toEqual([302, "/elsewhere"]);
  } finally {
    delete process.env.HTTP_PROXY;
  }
});

/** Answers the first request of each connection that `isWell` and breaks it at the next one. */
function answerFirstOf(isWell: (connection: number) => boolean, end: "break" | "end") {
  return (socket: RawSocket) => {
    if (socket.piece === 1 && isWell(socket.connection)) socket.say(plainReply);
    else socket[end]();
  };
}
