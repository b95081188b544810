// The way out to addresses that strangers name: only to public ones, and only where we looked.

import type { Clock } from "../platform/clock.ts";
import { shorten } from "../platform/text.ts";
import { findSpecialBlock } from "./addresses.ts";
import { isAllowed } from "./allow.ts";
import type { AllowEntry } from "./allow-entry.ts";
import { exchange, type HttpHop } from "./exchange.ts";
import { dial } from "./http-dial.ts";
import { findAddresses, type Resolve } from "./resolver.ts";
import {
  blockedResult,
  failUnsent,
  type GuardedOutcome,
  type GuardedReply,
  isRedirect,
} from "./result.ts";
import { createTimeLimit, type TimeLimit } from "./time-limit.ts";
import { checkUrl, type UrlCheck } from "./url.ts";

/**
 * Further addresses of a name are not tried, so that no name makes us knock at a thousand doors.
 */
const ADDRESSES_MAX = 4;

/** What goes along when a redirect is followed: nothing that could be a secret. */
const HARMLESS_HEADERS = ["accept", "accept-language", "user-agent"];

/** These say how the bytes travel, which is the guard's own affair, or speak to proxies. */
const OWN_HEADERS = new Set([
  ...["host", "content-length", "transfer-encoding", "accept-encoding"],
  ...["connection", "keep-alive", "te", "trailer", "upgrade", "expect"],
  ...["proxy-authorization", "proxy-connection"],
]);

export interface GuardedRequest {
  url: string;
  method: "GET" | "POST";
  /** `host`, `accept-encoding` and what rules the connection are the guard's own. */
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** For everything together: name, connection, redirects, and the reading of the reply. */
  timeout_ms: number;
  response_bytes_max: number;
  /**
   * How many redirects of a GET are followed, each judged anew; one that is not followed is the
   * reply.
   */
  redirects?: 0 | 1 | 2 | 3;
  signal?: AbortSignal;
}

export interface GuardedEgress {
  /** Judges a URL's text when it is registered; its name is resolved only when it is called. */
  judge(text: string): UrlCheck;
  /**
   * Sends one request; whatever fails outside of us is a value. Throws a TypeError for a header
   * that cannot be sent, which names it and quotes nothing.
   */
  request(ask: GuardedRequest): Promise<GuardedOutcome>;
  /** Gives up what is under way. */
  close(): void;
}

export interface GuardedOptions {
  clock: Clock;
  /** Asked at every request, since a reload may change it. */
  allow: () => readonly AllowEntry[];
  /** Every address of a name, IPv4 and IPv6. */
  resolve?: Resolve;
  dial?: typeof dial;
  /** Trusted beside the usual authorities. */
  ca?: string;
}

/** Opens the guarded way out; tests replace the name resolution and the internet behind it. */
export function createGuardedEgress(options: GuardedOptions): GuardedEgress {
  const { clock, allow, resolve } = options;
  const dialling = { dial, ...options };
  const under_way = new Set<TimeLimit>();

  async function request(ask: GuardedRequest): Promise<GuardedOutcome> {
    const redirects = ask.redirects ?? 0;
    if (redirects > 0 && ask.method !== "GET") throw new Error("Only a GET follows redirects.");
    const limit = createTimeLimit(clock, ask.timeout_ms, ask.signal);
    under_way.add(limit);
    try {
      return await follow({ ...ask, headers: dressHeaders(ask.headers), limit }, redirects);
    } finally {
      limit.release();
      under_way.delete(limit);
    }
  }

  async function follow(ask: SendRequest, redirects: number): Promise<GuardedOutcome> {
    let { url: text, headers } = ask;
    for (let left = redirects; ; left -= 1) {
      const list = allow();
      const verdict = checkUrl(text, list);
      if (!verdict.ok) {
        return blockedResult(
          left < redirects ? `It redirects elsewhere. ${verdict.why}` : verdict.why,
        );
      }
      const outcome = await attempt({ ...ask, url: verdict.url, headers }, list);
      const next = left > 0 && outcome.ok ? findRedirect(outcome) : null;
      if (next === null) return outcome;
      text = next;
      headers = keepHarmless(headers);
    }
  }

  /**
   * Looks the name up anew, checks every address of it, and goes to the first that can be reached.
   */
  async function attempt(hop: HttpHop, list: readonly AllowEntry[]): Promise<GuardedOutcome> {
    const { url, limit } = hop;
    const addresses = await findAddresses(url, { clock, limit, resolve });
    if (limit.ended !== null) return failUnsent(limit.ended, url);
    const special = isAllowed(url, list) ? null : firstSpecialBlock(addresses);
    if (special !== null) {
      const host = shorten(url.host);
      return blockedResult(`${host} resolves to an address that is not public (${special}).`);
    }
    let outcome: GuardedOutcome = failUnsent("dns", url);
    for (const address of addresses.slice(0, ADDRESSES_MAX)) {
      outcome = await exchange(dialling, hop, address);
      // What was sent, or may have been, is never sent again.
      const isUnreachable = !outcome.ok && !outcome.sent && outcome.code !== "tls";
      if (!isUnreachable || limit.ended !== null) break;
    }
    return outcome;
  }

  return {
    judge: (text) => checkUrl(text, allow()),
    request,
    close() {
      for (const limit of under_way) limit.end();
    },
  };
}

type SendRequest = Omit<GuardedRequest, "headers"> & Pick<HttpHop, "headers" | "limit">;

/** Names in lower case, so that no other spelling of one gets past the guard's own. */
function dressHeaders(given: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = { accept: "*/*", "user-agent": "wadi" };
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase();
    if (!OWN_HEADERS.has(key)) headers[key] = value.trim();
  }
  return headers;
}

function keepHarmless(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => HARMLESS_HEADERS.includes(name));
  return Object.fromEntries(kept);
}

/** One address that is not public condemns the name: its owner could choose which one we get. */
function firstSpecialBlock(addresses: readonly string[]): string | null {
  return addresses.map(findSpecialBlock).find((block) => block !== null) ?? null;
}

/** Where a reply sends us, without a fragment, which is the reader's and never sent. */
function findRedirect(reply: GuardedReply): string | null {
  if (!isRedirect(reply)) return null;
  const location = reply.headers.get("location")!;
  const next = URL.parse(location, reply.url);
  if (next === null) return location;
  next.hash = "";
  return next.href;
}
