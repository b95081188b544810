// Tests that no callback runs before dial has returned, whatever Bun's failure.
import { expect, spyOn, test } from "bun:test";
import { type DialOptions, dial } from "../../src/net/http-dial.ts";
import { createManualClock } from "../support/clock.ts";
import { listenRaw } from "./raw-server.ts";

interface Dialled {
  events: string[];
  /** Settles with the first event other than the end of the attempt. */
  first: Promise<void>;
}

/** Dials, and collects the events; "inside" marks those before dial has returned. */
function dialAt(hostname: string, port: number, more: Partial<DialOptions> = {}): Dialled {
  const events: string[] = [];
  let isInside = true;
  const first = Promise.withResolvers<void>();
  const tell = (what: string) => {
    events.push(isInside ? `inside: ${what}` : what);
    if (what !== "over") first.resolve();
  };
  const target = { hostname, port, isSecure: false, ca: undefined };
  dial(target, {
    clock: createManualClock(),
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
  return { events, first: first.promise };
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
