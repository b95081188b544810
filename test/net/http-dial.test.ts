// Holds that nothing is called back before a dialling has returned, however Bun fails.
import { expect, spyOn, test } from "bun:test";
import { type DialOptions, dial } from "../../src/net/http-dial.ts";
import { createManualClock } from "../support/clock.ts";
import { listenRaw } from "./raw-server.ts";

interface Dialled {
  told: string[];
  /** Settles with the first thing that is told, other than that the attempt is over. */
  first: Promise<void>;
}

/** Dials, and says what was told; "inside": before the dialling had returned. */
function dialAt(hostname: string, port: number, more: Partial<DialOptions> = {}): Dialled {
  const told: string[] = [];
  let isInside = true;
  const first = Promise.withResolvers<void>();
  const tell = (what: string) => {
    told.push(isInside ? `inside: ${what}` : what);
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
  return { told, first: first.promise };
}

/** As Bun does it for the codes of a missing route, a lack of descriptors, a closed firewall. */
function failInside(code: string) {
  return spyOn(Bun, "connect").mockImplementation(((options: { socket: Bun.SocketHandler }) => {
    const error = Object.assign(new Error("Failed to connect"), { code });
    options.socket.connectError?.({} as Bun.Socket, error);
    return Promise.reject(error);
  }) as typeof Bun.connect);
}

for (const code of ["ENETUNREACH", "EACCES", "EMFILE", "EADDRNOTAVAIL", "ECONNREFUSED"]) {
  test(`a failure inside the call, ${code}, is told after it`, async () => {
    using _ = failInside(code);
    const { told, first } = dialAt("127.0.0.1", 1);
    expect(told).toEqual([]);
    await first;
    expect(told).toEqual(["over", "refused"]);
  });
}

test("the broadcast of loopback fails inside the call, and is told after it", async () => {
  const { told, first } = dialAt("127.255.255.255", 8_000);
  expect(told).toEqual([]);
  await first;
  expect(told).toEqual(["over", "refused"]);
});

test("a name that is known by then fails like one that is not", async () => {
  for (let time = 0; time < 3; time += 1) {
    const { told, first } = dialAt("localhost", 1);
    await first;
    expect(told).toEqual(["over", "refused"]);
  }
});

test("an error that Bun throws becomes a failure", async () => {
  const { told, first } = dialAt("", 1);
  await first;
  expect(told).toEqual(["over", "other"]);
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
    const { told, first } = dialAt("127.0.0.1", port, { [name]: throwNow });
    await first;
    expect(told.filter((one) => one !== "over")).toEqual(["bug: Error: oops"]);
  }
});
