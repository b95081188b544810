// The way out to servers that the operator's own file names: HTTP/1.1 over pools of connections.
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { ReplyListener } from "./http-connection.ts";
import { IdleConnections } from "./http-idle.ts";
import { type Exchange, Pool } from "./http-pool.ts";
import { writeHeaders, writeRequest } from "./http-request.ts";

export interface ServerOptions {
  /** Sent with every request, beside `host`, `content-length` and those of the request. */
  headers: Readonly<Record<string, string>>;
  connect_timeout_ms: number;
}

/**
 * A server that is asked again and again; its address and headers are read once. No two accounts
 * share a connection, so that no fault of a server tells one what it had to say to the other.
 */
export interface TrustedServer {
  /** Sends a POST for an account; its listener hears nothing before this has returned. */
  post(
    body: string,
    headers: Readonly<Record<string, string>>,
    listener: ReplyListener,
    account: string,
  ): Exchange;
  /** Sends a GET, in the same way. */
  get(
    headers: Readonly<Record<string, string>>,
    listener: ReplyListener,
    account: string,
  ): Exchange;
}

/** The account of what the program asks by itself, such as a server's health. */
export const OWN_ACCOUNT = "";

export interface TrustedEgress {
  /** `url` is where requests go; redirects are handed back, and no proxy is asked. */
  open(url: string, options: ServerOptions): TrustedServer;
  /** Closes the idle connections; requests in flight finish. */
  close(): void;
}

export interface TrustedOptions {
  clock: Clock;
  /** Left out: nobody reads one, as where a command asks a few questions. */
  log?: Log;
  /** Trusted beside the usual authorities. */
  ca?: string;
}

/** Opens the trusted way out; models on one server share an account's connections. */
export function createTrustedEgress({ clock, log, ca }: TrustedOptions): TrustedEgress {
  const pools = new Map<string, Pool>();
  const idle = new IdleConnections(clock);

  const choosePool = ({ origin, protocol, hostname, port }: URL): Pool => {
    const isSecure = protocol === "https:";
    const known = pools.get(origin);
    if (known) return known;
    const target = { hostname, port: Number(port || (isSecure ? 443 : 80)), isSecure, ca };
    const pool = new Pool(target, { clock, log, idle });
    pools.set(origin, pool);
    return pool;
  };
  return {
    open(address, { headers, connect_timeout_ms }) {
      const url = new URL(address);
      const pool = choosePool(url);
      const target = ` ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
      const fixed = target + writeHeaders(headers);
      const post = `POST${fixed}`;
      const get = `GET${fixed}`;
      return {
        post(body, own, listener, account) {
          const bytes = writeRequest(post + writeHeaders(own), body);
          return pool.send({ bytes, account, id: idOf(own), connect_timeout_ms }, listener);
        },
        get(own, listener, account) {
          const bytes = Buffer.from(`${get}${writeHeaders(own)}\r\n`, "latin1");
          return pool.send({ bytes, account, id: idOf(own), connect_timeout_ms }, listener);
        },
      };
    },
    close() {
      for (const pool of pools.values()) pool.close();
    },
  };
}

function idOf(headers: Readonly<Record<string, string>>): string | null {
  return headers["x-request-id"] ?? null;
}
