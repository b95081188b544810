// Sends one request to one address that was checked, and reads its reply up to a limit.
import type { Cancel, Clock } from "../platform/clock.ts";
import { guardCallback } from "../platform/error-boundary.ts";
import { portOf } from "./allow.ts";
import { createBodyBuffer } from "./body-buffer.ts";
import type { HttpConnection, ReplyListener } from "./http-connection.ts";
import type { dial } from "./http-dial.ts";
import type { ReplyHead } from "./http-head.ts";
import { writeHeaders, writeRequest } from "./http-request.ts";
import { failUnderway, failUnsent, type GuardedOutcome } from "./result.ts";
import type { EndedBy, TimeLimit } from "./time-limit.ts";
import { hasIpHost } from "./url.ts";

/** A name may have further addresses, which are to have their turn. */
const CONNECT_TIMEOUT_MS = 5_000;

/** How connections are opened. */
export interface ConnectionFactory {
  dial: typeof dial;
  clock: Clock;
  /** Trusted beside the usual authorities. */
  ca?: string;
}

/** One request of possibly several: a redirect makes another. */
export interface HttpHop {
  method: "GET" | "POST";
  url: URL;
  /** By names in lower case. */
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  response_bytes_max: number;
  limit: TimeLimit;
}

/**
 * Connects to the address and to nothing else, with the certificate checked against the URL's name.
 * Each request has a connection of its own: one that is used again may be closed by its server just
 * then, and nobody could say whether the request had arrived.
 */
export function exchange(
  dialling: ConnectionFactory,
  hop: HttpHop,
  address: string,
): Promise<GuardedOutcome> {
  const { url, limit } = hop;
  const request = writeHop(hop);
  const { promise, resolve, reject } = Promise.withResolvers<GuardedOutcome>();
  let connection: HttpConnection | null = null;
  let head: ReplyHead | null = null;
  const body = createBodyBuffer(hop.response_bytes_max, () => head?.length ?? null);
  const settle = (outcome: GuardedOutcome) => {
    forget();
    resolve(outcome);
  };
  /** What a callback of ours threw is told to whoever waits for the outcome. */
  const fail = (bug: unknown) => {
    forget();
    cancelDial();
    connection?.cut(listener);
    reject(bug);
  };
  const settleReply = (truncated: boolean) => {
    const { status, header } = head!;
    const get = (name: string) => header(name.toLowerCase());
    const headers = { get, has: (name: string) => get(name) !== null };
    settle({ ok: true, url: url.href, status, headers, body: body.read(), truncated });
  };
  const listener: ReplyListener = {
    onHead(given) {
      head = given;
    },
    onBody(bytes) {
      if (body.take(bytes)) return;
      connection!.cut(listener);
      settleReply(true);
    },
    onEnd: () => settleReply(false),
    onFailure: (failure) => settle(failUnderway(failure, url, head?.status ?? null)),
    onBug: fail,
  };
  const giveUp = (why: EndedBy) => {
    cancelDial();
    if (!connection) return settle(failUnsent(why, url));
    connection.cut(listener);
    settle(failUnderway(why, url, head?.status ?? null));
  };
  const forget: Cancel = limit.onEnd(guardCallback(fail, giveUp));
  const { dial, clock, ca } = dialling;
  const server_name = hasIpHost(url) ? undefined : url.hostname;
  const isSecure = url.protocol === "https:";
  const cancelDial = dial(
    { hostname: address, server_name, port: portOf(url), isSecure, ca },
    {
      clock,
      timeout_ms: CONNECT_TIMEOUT_MS,
      onOpen(made) {
        connection = made;
        made.send(request, listener);
      },
      onFailure: (failure) => settle(failUnsent(failure, url)),
      onEnd() {},
      onFree: (done) => done.close(),
      onGone() {},
      // Nothing is sent over it again: what came too much reaches nobody.
      onSurplus() {},
      onBug: fail,
    },
  );
  return promise;
}

function writeHop({ method, url, headers, body }: HttpHop): Buffer {
  const first = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  // Compressed replies are never unpacked here: 0.4 MB on the wire can be 400 MB.
  const own = "accept-encoding: identity\r\nconnection: close\r\n";
  const head = `${first}${writeHeaders(headers)}${own}`;
  if (method === "GET") return Buffer.from(`${head}\r\n`, "latin1");
  return writeRequest(head, body ?? "");
}
