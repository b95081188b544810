// A guarded egress for tests, with a simulated name resolution and internet.
import { readAllowEntry } from "../../src/net/allow-list.ts";
import { GuardedEgress, type GuardedOptions, type GuardedRequest } from "../../src/net/guarded.ts";
import { dial } from "../../src/net/http-dial.ts";
import { createManualClock } from "../support/clock.ts";
import { findClosedPort } from "../support/ports.ts";
import { listenRaw, plainReply } from "./raw-server.ts";

/** A request as most tests send it. */
export const ask = {
  method: "POST",
  headers: {},
  body: "{}",
  timeoutMs: 15_000,
  responseBytesMax: 65_536,
} as const satisfies Partial<GuardedRequest>;

export const get = { ...ask, method: "GET", body: undefined } as const;

/**
 * A guard with these allowed places, on a stopped clock; it never queries the real
 * name servers.
 */
export function guard(
  allowed: readonly string[],
  options: Partial<GuardedOptions> = {},
): GuardedEgress {
  const allow = allowed.map(readAllowEntry);
  const resolve = async () => ["127.0.0.1"];
  return new GuardedEgress({
    ...{ clock: createManualClock(), resolve, allow: () => allow },
    ...options,
  });
}

export interface Internet {
  /** Targets of connections, as `https://ADDRESS:PORT as NAME`. */
  dialled: string[];
  /** What was sent over them. */
  requests: string[];
  dial: typeof dial;
  [Symbol.dispose](): void;
}

/**
 * A simulated internet: records the dialled addresses and answers, in plain text, for
 * all of them but those without a listener.
 */
export function pretendInternet(
  answer: (request: string) => string = () => plainReply,
  isDead: (address: string) => boolean = () => false,
): Internet {
  const server = listenRaw((socket) => socket.say(answer(server.pieces.at(-1)!)));
  const closed_port = findClosedPort();
  const dialled: string[] = [];
  return {
    dialled,
    requests: server.pieces,
    dial(target, options) {
      const { hostname, port, isSecure, serverName: server_name } = target;
      dialled.push(`${isSecure ? "https" : "http"}://${hostname}:${port} as ${server_name}`);
      const place = { port: isDead(hostname) ? closed_port : server.port, isSecure: false };
      return dial({ ...target, hostname: "127.0.0.1", ...place }, options);
    },
    [Symbol.dispose]: server[Symbol.dispose],
  };
}
