// Requests to servers that the operator's own file names: HTTP/1.1 over pools of connections.
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { ReplyListener } from "./http-connection.ts";
import { IdleConnections } from "./http-idle.ts";
import { type Exchange, Pool } from "./http-pool.ts";
import { writeHeaders, writeRequest } from "./http-request.ts";

type Headers = Readonly<Record<string, string>>;

export interface TrustedServerOptions {
  headers: Headers;
  connectTimeoutMs: number;
}

/**
 * A server that gets many requests; its address and headers are read once. Accounts share no
 * connection, so that no fault of a server shows one account a reply to another.
 */
export interface TrustedServer {
  /** Sends a POST for an account; the listener gets no call before this returns. */
  post(body: string, headers: Headers, listener: ReplyListener, account: string): Exchange;
  get(headers: Headers, listener: ReplyListener, account: string): Exchange;
}

/** Account of the program's own requests, such as health checks. */
export const OWN_ACCOUNT = "";

export interface TrustedEgress {
  /** Opens a server by the URL of its requests; redirects are replies, and no proxy is used. */
  open(url: string, options: TrustedServerOptions): TrustedServer;
  close(): void;
}

export interface TrustedOptions {
  clock: Clock;
  log?: Log;
  ca?: string;
}

export function createTrustedEgress({ clock, log, ca }: TrustedOptions): TrustedEgress {
  const pools = new Map<string, Pool>();
  const idle = new IdleConnections(clock);

  const findPool = ({ origin, protocol, hostname, port }: URL): Pool => {
    const known = pools.get(origin);
    if (known) return known;
    const isSecure = protocol === "https:";
    const target = { hostname, port: Number(port || (isSecure ? 443 : 80)), isSecure, ca };
    const pool = new Pool(target, { clock, log, idle });
    pools.set(origin, pool);
    return pool;
  };
  return {
    open(address, { headers, connectTimeoutMs }) {
      const url = new URL(address);
      const pool = findPool(url);
      const target = ` ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
      const fixed = target + writeHeaders(headers);
      const post = `POST${fixed}`;
      const get = `GET${fixed}`;
      const send = (bytes: Buffer, own: Headers, listener: ReplyListener, account: string) =>
        pool.send({ bytes, account, id: own["x-request-id"], connectTimeoutMs }, listener);
      return {
        post: (body, own, listener, account) =>
          send(writeRequest(post + writeHeaders(own), body), own, listener, account),
        get: (own, listener, account) =>
          send(Buffer.from(`${get}${writeHeaders(own)}\r\n`, "latin1"), own, listener, account),
      };
    },
    close() {
      for (const pool of pools.values()) pool.close();
    },
  };
}
