// Tests that no callback runs before dial has returned, and that abandoned connections end.
import { expect, spyOn, test } from "bun:test";
import { type DialOptions, dial } from "../../src/net/http-dial.ts";
import type { Cancel } from "../../src/platform/clock.ts";
import { createManualClock, type ManualClock } from "../support/clock.ts";
import { listenRaw } from "./raw-server.ts";

interface Dialled {
  events: string[];
  /** Settles with the first event other than the end of the attempt. */
  first: Promise<void>;
  clock: ManualClock;
  cancel: Cancel;
}

/** Dials, and collects the events; "inside" marks those before dial has returned. */
function dialAt(
  hostname: string,
  port: number,
  more: Partial<DialOptions> = {},
  isSecure = false,
): Dialled {
  const clock = createManualClock();
  const events: string[] = [];
  let isInside = true;
  const first = Promise.withResolvers<void>();
  const tell = (what: string) => {
    events.push(isInside ? `inside: ${what}` : what);
    if (what !== "over") first.resolve();
  };
  const target = { hostname, port, isSecure, ca: undefined };
  const cancel = dial(target, {
    clock,
    timeoutMs: 5_000,
    onOpen(connection) {
      connection.close();
      tell("open");
    },
    onFailure: tell,
    onEnd: () => tell("over"),
    onFree() {},
    onGone() {},
    onSurplus() {},
    onBug: (bug) => tell(`bug: ${bug}`),
    ...more,
  });
  isInside = false;
  return { events, first: first.promise, clock, cancel };
}

/** As Bun fails for a missing route, a lack of descriptors, a closed firewall. */
function failInside(code: string) {
  return spyOn(Bun, "connect").mockImplementation(((options: { socket: Bun.SocketHandler }) => {
    const error = Object.assign(new Error("Failed to connect"), { code });
    options.socket.connectError?.({} as Bun.Socket, error);
    return Promise.reject(error);
  }) as typeof Bun.connect);
}

for (const code of ["ENETUNREACH", "EACCES", "EMFILE", "EADDRNOTAVAIL", "ECONNREFUSED"]) {
  test(`a failure inside the call, ${code}, is reported after it`, async () => {
    using _ = failInside(code);
    const { events, first } = dialAt("127.0.0.1", 1);
    expect(events).toEqual([]);
    await first;
    expect(events).toEqual(["over", "refused"]);
  });
}

test("the broadcast of loopback fails inside the call, and is reported after it", async () => {
  const { events, first } = dialAt("127.255.255.255", 8_000);
  expect(events).toEqual([]);
  await first;
  expect(events).toEqual(["over", "refused"]);
});

test("a known name fails like an unknown one", async () => {
  for (let time = 0; time < 3; time += 1) {
    const { events, first } = dialAt("localhost", 1);
    await first;
    expect(events).toEqual(["over", "refused"]);
  }
});

test("an error that Bun throws becomes a failure", async () => {
  const { events, first } = dialAt("", 1);
  await first;
  expect(events).toEqual(["over", "other"]);
});

test("an error of a callback is reported as a bug and ends only its attempt", async () => {
  using server = listenRaw(() => {});
  const throwNow = () => {
    throw new Error("oops");
  };
  for (const [port, name] of [
    [1, "onFailure"],
    [server.port, "onOpen"],
    [1, "onEnd"],
    [server.port, "onEnd"],
  ] as const) {
    const { events, first } = dialAt("127.0.0.1", port, { [name]: throwNow });
    await first;
    expect(events.filter((one) => one !== "over")).toEqual(["bug: Error: oops"]);
  }
});

/** A socket of Bun whose events the test sends. */
function connectByHand(authorized = true) {
  let handler: Bun.SocketHandler | undefined;
  const asked: unknown[] = [];
  const connect = spyOn(Bun, "connect").mockImplementation(((given: {
    socket: Bun.SocketHandler;
  }) => {
    handler = given.socket;
    asked.push(given);
    return new Promise(() => undefined);
  }) as typeof Bun.connect);
  const ended: string[] = [];
  const terminate = () => void ended.push("terminated");
  const usable = { terminate, authorized, setNoDelay() {}, end() {} };
  const socket = usable as unknown as Bun.Socket;
  return {
    ...{ ended, asked },
    open: () => handler!.open!(socket),
    shake: (isTrusted: boolean, doubt: Error | null) =>
      handler!.handshake!(socket, isTrusted, doubt),
    close: () => handler!.close!(socket),
    [Symbol.dispose]: () => connect.mockRestore(),
  };
}

for (const isSecure of [false, true]) {
  const over = isSecure ? "TLS" : "TCP";
  test(`a connection over ${over} that opens after its attempt was given up is ended`, async () => {
    using hand = connectByHand();
    const { events, cancel, clock } = dialAt("192.0.2.1", 443, {}, isSecure);
    await clock.advance(0);
    cancel();
    hand.open();
    expect(hand.ended).toEqual(["terminated"]);
    hand.close();
    expect(events).toEqual(["over"]);
    expect(clock.pending()).toBe(0);
  });
}

test("a connection that does not prove its name in time is ended", async () => {
  using hand = connectByHand();
  const { events, clock } = dialAt("192.0.2.1", 443, {}, true);
  await clock.advance(0);
  hand.open();
  await clock.advance(5_000);
  expect([events, hand.ended]).toEqual([["timeout"], ["terminated"]]);
  hand.close();
  expect(events).toEqual(["timeout", "over"]);
});

test.each([
  [true, null, true, "open"],
  [false, null, true, "tls"],
  [true, "expired", true, "tls"],
  [true, null, false, "tls"],
] as const)(
  "a certificate with trust %p, doubt %p and authorization %p: %s",
  async (isTrusted, doubt, authorized, event) => {
    using hand = connectByHand(authorized);
    const { events, clock } = dialAt("192.0.2.1", 443, {}, true);
    await clock.advance(0);
    // The environment of the process cannot turn this off.
    expect(hand.asked).toMatchObject([{ tls: { rejectUnauthorized: true } }]);
    hand.open();
    hand.shake(isTrusted, doubt === null ? null : new Error(doubt));
    expect(events.filter((one) => one !== "over")).toEqual([event]);
    expect(hand.ended).toEqual(event === "tls" ? ["terminated"] : []);
    hand.close();
  },
);
