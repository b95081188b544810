// The way out to addresses that strangers name: only to public ones, and only where we looked.
import type { AllowEntry } from "../allow-entry.ts";
import { findSpecialBlock } from "./addresses.ts";
import { isAllowed } from "./allow.ts";
import { exchange, explainEnd, type Fetch, type Hop, type Limits } from "./exchange.ts";
import {
  failUnsent,
  forbid,
  type GuardedOutcome,
  type GuardedReply,
  shortenHost,
} from "./outcome.ts";
import { hasIpHost, judgeUrl, type UrlVerdict } from "./url.ts";

const dns_timeout_ms = 5_000;
/**
 * Further addresses of a name are not tried, so that no name makes us knock at a thousand doors.
 */
const addresses_max = 4;

/** What goes along when a redirect is followed: nothing that could be a secret. */
const harmlessHeaders = ["accept", "accept-language", "user-agent"];

export interface GuardedRequest {
  url: string;
  method: "GET" | "POST";
  /** `host`, `accept-encoding` and what rules the connection are the guard's own. */
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
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
  judge(text: string): UrlVerdict;
  /** Sends one request; whatever fails outside of us is a value. */
  request(ask: GuardedRequest): Promise<GuardedOutcome>;
  /** Closes the idle connections; requests in flight finish. */
  close(): void;
}

export interface GuardedOptions {
  /** Asked at every request, since a reload may change it. */
  allow: () => readonly AllowEntry[];
  /** Every address of a name, IPv4 and IPv6. */
  resolve?: (name: string) => Promise<readonly string[]>;
  fetch?: Fetch;
  deadline?: (timeout_ms: number) => AbortSignal;
}

/** Opens the guarded way out; tests replace the name resolution, the connection and the clock. */
export function createGuardedEgress(options: GuardedOptions): GuardedEgress {
  // A pool of its own, in which nothing lies that the trusted way opened.
  const session = new Bun.FetchSession({ proxy: false, keepAlive: { idleTimeout: 8 } });
  const { allow, resolve = lookUp, fetch = session.fetch } = options;
  const { deadline = (timeout_ms) => AbortSignal.timeout(timeout_ms) } = options;

  async function request(ask: GuardedRequest): Promise<GuardedOutcome> {
    const redirects = ask.redirects ?? 0;
    if (redirects > 0 && ask.method !== "GET") throw new Error("Only a GET follows redirects.");
    const limits = joinLimits(deadline(ask.timeout_ms), ask.signal);
    let { url: text } = ask;
    let headers = new Headers(ask.headers);
    for (let left = redirects; ; left -= 1) {
      const list = allow();
      const verdict = judgeUrl(text, list);
      if (!verdict.ok) {
        return forbid(left < redirects ? `It redirects elsewhere. ${verdict.why}` : verdict.why);
      }
      const outcome = await attempt({ ...ask, url: verdict.url, headers, limits }, list);
      const next = left > 0 && outcome.ok ? findRedirect(outcome) : null;
      if (next === null) return outcome;
      text = next;
      headers = new Headers([...headers].filter(([name]) => harmlessHeaders.includes(name)));
    }
  }

  /**
   * Looks the name up anew, checks every address of it, and goes to the first that can be reached.
   */
  async function attempt(hop: Hop, list: readonly AllowEntry[]): Promise<GuardedOutcome> {
    let addresses: readonly string[];
    try {
      addresses = await findAddresses(hop);
    } catch (error) {
      const { limits, url } = hop;
      return failUnsent(limits.either.aborted ? explainEnd(error, limits) : "dns", url);
    }
    const special = isAllowed(hop.url, list) ? null : firstSpecialBlock(addresses);
    if (special !== null) {
      const host = shortenHost(hop.url);
      return forbid(`${host} resolves to an address that is not public (${special}).`);
    }
    let outcome: GuardedOutcome = failUnsent("dns", hop.url);
    for (const address of addresses.slice(0, addresses_max)) {
      outcome = await exchange(fetch, hop, address);
      if (outcome.ok || outcome.code !== "refused") break;
    }
    return outcome;
  }

  async function findAddresses({ url, limits }: Hop): Promise<readonly string[]> {
    if (hasIpHost(url)) return [url.hostname.replace(/^\[|\]$/g, "")];
    return untilAborted(
      resolve(url.hostname),
      AbortSignal.any([limits.either, deadline(dns_timeout_ms)]),
    );
  }

  return { judge: (text) => judgeUrl(text, allow()), request, close: () => session.close() };
}

async function lookUp(name: string): Promise<string[]> {
  return (await Bun.dns.lookup(name)).map((answer) => answer.address);
}

function joinLimits(deadline: AbortSignal, caller: AbortSignal | undefined): Limits {
  const either = caller === undefined ? deadline : AbortSignal.any([deadline, caller]);
  return { caller, either };
}

/** One address that is not public condemns the name: its owner could choose which one we get. */
function firstSpecialBlock(addresses: readonly string[]): string | null {
  return addresses.map(findSpecialBlock).find((block) => block !== null) ?? null;
}

/** Where a reply sends us, without a fragment, which is the reader's and never sent. */
function findRedirect(reply: GuardedReply): string | null {
  const location = reply.headers.get("location");
  if (location === null || ![301, 302, 303, 307, 308].includes(reply.status)) return null;
  const next = URL.parse(location, reply.url);
  if (next === null) return location;
  next.hash = "";
  return next.href;
}

/** Settles with the work or, as a look-up cannot be called off, as soon as the signal fires. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const leave = () => reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  return promise;
}
