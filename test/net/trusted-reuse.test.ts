// Tests that a surplus reply reaches no other account, and that connections have a maximum age.
import { expect, test } from "bun:test";
import type { Exchange } from "../../src/net/index.ts";
import { createTrustedEgress } from "../../src/net/trusted.ts";
import type { Log } from "../../src/platform/log.ts";
import { createManualClock } from "../support/clock.ts";
import { createAsker } from "./asker.ts";
import { listenRaw, plainReply, type RawSocket } from "./raw-server.ts";

const whole = { body: "ok", end: "whole" };
const other = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nother";
const HOUR_MS = 3_600_000;

test("accounts share no connection, and each reuses its own", async () => {
  const seen: number[] = [];
  using server = listenRaw((socket) => {
    seen.push(socket.connection);
    socket.say(plainReply);
  });
  const { ask, rest } = createAsker();
  for (const account of ["one", "two", "", "one", "two", ""]) {
    expect(await ask(server.origin, { account }).ended).toMatchObject(whole);
    await rest();
  }
  expect(seen).toEqual([1, 2, 3, 1, 2, 3]);
});

test("a connection rests for a turn, and is closed after a premature reply", async () => {
  const sockets: RawSocket[] = [];
  let notify = () => {};
  using server = listenRaw((socket) => {
    sockets.push(socket);
    notify();
  });
  const { ask, rest, clock } = createAsker();
  /** The reply takes this long; returns the number of its connection. */
  const answer = async (after_ms: number) => {
    const come = new Promise<void>((resolve) => {
      notify = resolve;
    });
    const { ended } = ask(server.origin);
    await come;
    await clock.advance(after_ms);
    sockets.at(-1)!.say(plainReply);
    expect(await ended).toMatchObject(whole);
    return sockets.at(-1)!.connection;
  };
  expect(await answer(300)).toBe(1);
  // Under half as well, but the first reply of a connection follows no other.
  expect(await answer(149)).toBe(2);
  await rest();
  expect(await answer(150)).toBe(2);
  await rest();
  // Under half of the shortest: it may belong to an earlier request, whose connection ends.
  expect(await answer(74)).toBe(2);
  await rest();
  expect(await answer(75)).toBe(1);
  await rest();
  expect(await answer(300)).toBe(1);
});

test("a connection that was paused at the end of a reply reads the next one", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const { ask, rest } = createAsker();
  const pause = { onBody: (exchange: () => Exchange) => exchange().pause() };
  for (const options of [pause, {}]) {
    expect(await ask(server.origin, options).ended).toMatchObject(whole);
    await rest();
  }
  expect(server.connections).toBe(1);
});

const SURPLUS: [title: string, answer: (socket: RawSocket) => void][] = [
  ["in one piece with a reply", (socket) => socket.say(plainReply + other)],
  ["after a chunked reply", (socket) => socket.say(`${CHUNKS}${other}`)],
  ["with only its first byte", (socket) => socket.say(`${plainReply}H`)],
  [
    "after a reply",
    (socket) => {
      socket.say(plainReply);
      setImmediate(() => socket.say(other));
    },
  ],
];
const CHUNKS = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
for (const [title, answer] of SURPLUS) {
  test(`surplus ${title} stops all reuse for an hour, with one log line`, async () => {
    let isOdd = false;
    using server = listenRaw((socket) => (isOdd ? answer(socket) : socket.say(plainReply)));
    const lines: string[] = [];
    const { ask, rest, clock } = createAsker({ log: createLog(lines) });
    const askAs = async (account: string) => {
      expect(await ask(server.origin, { account }).ended).toMatchObject(whole);
      await rest();
    };
    await askAs("one");
    isOdd = true;
    await askAs("two");
    await server.closed;
    await askAs("two");
    isOdd = false;
    expect(server.connections).toBe(3);
    await askAs("one");
    await askAs("one");
    expect(server.connections).toBe(5);
    expect(lines).toEqual([
      `net: a server sent surplus bytes; its connections are not reused for an hour 127.0.0.1:${server.port}`,
    ]);
    await clock.advance(HOUR_MS / 2);
    await askAs("one");
    await askAs("one");
    expect(server.connections).toBe(7);
    await clock.advance(HOUR_MS);
    await askAs("one");
    await askAs("one");
    expect(server.connections).toBe(8);
  });
}

test("surplus bytes of one server do not affect another", async () => {
  using odd = listenRaw((socket) => socket.say(plainReply + other));
  using well = listenRaw((socket) => socket.say(plainReply));
  const { ask, rest } = createAsker();
  for (const origin of [well.origin, odd.origin, well.origin]) {
    await ask(origin).ended;
    await rest();
  }
  expect(well.connections).toBe(1);
});

test("a truncated reply is no surplus", async () => {
  using server = listenRaw((socket) => socket.say(plainReply.replace(": 2", ": 9")));
  const lines: string[] = [];
  const { ask } = createAsker({ log: createLog(lines) });
  const { ended } = ask(server.origin, { onBody: (exchange) => exchange().cut() });
  await server.closed;
  expect([Bun.peek.status(ended), lines]).toEqual(["pending", []]);
});

const echo = (id: string) => plainReply.replace("\r\n", `\r\nX-Request-Id: ${id}\r\n`);

test("a reply with the id of another request is rejected", async () => {
  let answer = "";
  using server = listenRaw((socket) => socket.say(answer));
  const { ask, rest, clock } = createAsker();
  const askFor = async (id: string, replied: string) => {
    answer = echo(replied);
    const { end } = await ask(server.origin, { headers: { "x-request-id": id } }).ended;
    await rest();
    return end;
  };
  expect(await askFor("a-1", "a-1")).toBe("whole");
  expect(await askFor("a-2", "A-2")).toBe("whole");
  expect(await askFor("a-3", "a-2")).toBe("other");
  // Knowledge from one reply is forgotten, and nothing is reused.
  expect(await askFor("a-4", "b-4")).toBe("whole");
  expect(server.connections).toBe(2);
  await clock.advance(HOUR_MS);
  for (const n of [5, 6]) expect(await askFor(`a-${n}`, `b-${n}`)).toBe("whole");
  expect(server.connections).toBe(3);
});

test("the second reply of a connection is compared with its request", async () => {
  using server = listenRaw((socket) => socket.say(echo("a-1")));
  const { ask, rest } = createAsker();
  const askFor = (id: string) => ask(server.origin, { headers: { "x-request-id": id } }).ended;
  expect(await askFor("a-1")).toMatchObject(whole);
  await rest();
  expect(await askFor("a-2")).toMatchObject({ end: "other" });
});

test("the first reply of a connection is accepted, whatever its id", async () => {
  let answer = echo("a-1");
  using server = listenRaw((socket) => socket.say(answer));
  const { ask } = createAsker();
  const askFor = (id: string, account: string) =>
    ask(server.origin, { account, headers: { "x-request-id": id } }).ended;
  expect(await askFor("a-1", "one")).toMatchObject(whole);
  answer = echo("own-2");
  expect(await askFor("a-2", "two")).toMatchObject(whole);
  expect(server.connections).toBe(2);
});

test("a server with ids of its own keeps its connection", async () => {
  using server = listenRaw((socket) => socket.say(echo(`own-${socket.piece}`)));
  const { ask, rest } = createAsker();
  for (const id of ["a-1", "a-2", "a-3"]) {
    expect(await ask(server.origin, { headers: { "x-request-id": id } }).ended).toMatchObject(
      whole,
    );
    await rest();
  }
  expect(server.connections).toBe(1);
});

test("a connection carries a thousand requests", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const { ask, rest, egress } = createAsker();
  for (let round = 0; round < 1_001; round += 1) {
    await ask(server.origin).ended;
    await rest();
  }
  expect(server.connections).toBe(2);
  egress.close();
});

test("a connection is not reused after ten minutes", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const { ask, clock } = createAsker();
  for (let round = 0; round <= 24; round += 1) {
    await ask(server.origin).ended;
    await clock.advance(25_000);
  }
  expect(server.connections).toBe(1);
  await ask(server.origin).ended;
  expect(server.connections).toBe(2);
});

test("a listener that throws ends its own request only", async () => {
  using server = listenRaw((socket) => socket.say(plainReply));
  const bug = new Error("a bug");
  const throwNow = () => {
    throw bug;
  };
  const egress = createTrustedEgress({ clock: createManualClock() });
  const callbacks = { onHead() {}, onBody() {}, onEnd() {}, onFailure() {} };
  for (const [origin, listener] of [
    [server.origin, { ...callbacks, onHead: throwNow }],
    [server.origin, { ...callbacks, onBody: throwNow }],
    [server.origin, { ...callbacks, onEnd: throwNow }],
    ["http://127.255.255.255:8000", { ...callbacks, onFailure: throwNow }],
    ["http://127.0.0.1:1", { ...callbacks, onFailure: throwNow }],
  ] as const) {
    const heard = new Promise((onBug) => {
      const opened = egress.open(origin, { headers: {}, connectTimeoutMs: 5_000 });
      opened.post("x", {}, { ...listener, onBug }, "account-1");
    });
    expect(await heard).toBe(bug);
  }
  egress.close();
});

function createLog(lines: string[]): Log {
  const add = (message: string, { upstream }: { upstream?: string } = {}) => {
    lines.push(`${message} ${upstream}`);
  };
  return { info: add, warn: add, error: add };
}
