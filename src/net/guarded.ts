// Requests to addresses that strangers name: only to public ones, each resolved and checked anew.
import type { Cancel, Clock } from "../platform/clock.ts";
import { hasFreeDescriptors } from "../platform/descriptors.ts";
import { shorten } from "../platform/text.ts";
import { type AllowEntry, isAllowed } from "./allow-list.ts";
import { exchange, type GuardedMethod, type HttpHop } from "./exchange.ts";
import { dial } from "./http-dial.ts";
import { findSpecialBlock } from "./ip-address.ts";
import {
  blockedResult,
  failUnsent,
  type GuardedOutcome,
  type GuardedReply,
  isRedirect,
} from "./result.ts";
import { TimeLimit } from "./time-limit.ts";
import { checkUrl, hasIpHost, type UrlCheck } from "./url.ts";

const ADDRESSES_MAX = 4;
const DNS_TIMEOUT_MS = 5_000;
const DNS_RETRY_MS = 50;

/** Headers that follow a redirect; none of them can be a secret. */
const HARMLESS_HEADERS = ["accept", "accept-language", "user-agent"];

/** Headers that the guard writes itself, and those for proxies. */
const OWN_HEADERS = new Set(
  (
    "host content-length transfer-encoding accept-encoding connection keep-alive te trailer " +
    "upgrade expect proxy-authorization proxy-connection"
  ).split(" "),
);

export interface GuardedRequest extends Pick<HttpHop, "readPiece"> {
  url: string;
  method: GuardedMethod;
  /** The guard replaces `host`, `accept-encoding` and headers of the connection. */
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** Time for everything: look-up, connection, redirects and the whole reply. */
  timeoutMs: number;
  responseBytesMax: number;
  /** Maximum redirects of a GET to follow, each checked anew; a further one is the reply. */
  redirects?: 0 | 1 | 2 | 3;
  signal?: AbortSignal;
}

export type Resolve = (name: string) => Promise<readonly string[]>;

/** Closed while another process may have taken over the work of this one. */
export interface EgressFence {
  readonly isOpen: boolean;
  /** Waits until it is open; false: `signal` has aborted. */
  pass(signal?: AbortSignal): Promise<boolean>;
}

export interface GuardedOptions {
  clock: Clock;
  /** Passed right before the first byte of each request; absent: always open. */
  fence?: EgressFence;
  /** Called for each request, since a reload may change the list. */
  allow: () => readonly AllowEntry[];
  resolve?: Resolve;
  dial?: typeof dial;
  ca?: string;
}

type Journey = Omit<GuardedRequest, "headers"> & Pick<HttpHop, "headers" | "limit">;

export class GuardedEgress {
  readonly #options: GuardedOptions & { dial: typeof dial };
  readonly #limits = new Set<TimeLimit>();

  constructor(options: GuardedOptions) {
    this.#options = { dial, ...options };
  }

  /** Validates a URL's text when it is registered; its name is resolved only for a request. */
  validate(text: string): UrlCheck {
    return checkUrl(text, this.#options.allow());
  }

  /**
   * Sends one request; failures outside of us are values. Throws a TypeError that names a header
   * which cannot be sent, and quotes nothing.
   */
  async request(request: GuardedRequest): Promise<GuardedOutcome> {
    const { redirects = 0, method, timeoutMs, signal } = request;
    if (redirects > 0 && method !== "GET") throw new Error("Only a GET follows redirects.");
    const limit = new TimeLimit(this.#options.clock, timeoutMs, signal);
    this.#limits.add(limit);
    try {
      const headers = prepareHeaders(request.headers);
      return await this.#follow({ ...request, headers, limit }, redirects);
    } finally {
      limit.release();
      this.#limits.delete(limit);
    }
  }

  close(): void {
    for (const limit of this.#limits) limit.end();
  }

  async #follow(journey: Journey, redirects: number): Promise<GuardedOutcome> {
    let { url: text, headers } = journey;
    for (let left = redirects; ; left -= 1) {
      const allow = this.#options.allow();
      const check = checkUrl(text, allow);
      if (!check.ok) {
        const origin = left < redirects ? "It redirects elsewhere. " : "";
        return blockedResult(origin + check.reason);
      }
      const outcome = await this.#send({ ...journey, url: check.url, headers }, allow);
      const next = left > 0 && outcome.ok ? findRedirect(outcome) : null;
      if (next === null) return outcome;
      text = next;
      headers = keepHarmless(headers);
    }
  }

  async #send(hop: HttpHop, allow: readonly AllowEntry[]): Promise<GuardedOutcome> {
    const { url, limit } = hop;
    const addresses = await findAddresses(url, limit, this.#options);
    if (limit.ended !== null) return failUnsent(limit.ended, url);
    const special = isAllowed(url, allow) ? null : findFirstSpecialBlock(addresses);
    if (special !== null) {
      const host = shorten(url.host);
      return blockedResult(`${host} resolves to an address that is not public (${special}).`);
    }
    let outcome: GuardedOutcome = failUnsent("dns", url);
    for (const address of addresses.slice(0, ADDRESSES_MAX)) {
      outcome = await this.#exchange(hop, address);
      // A request that may have been sent is never sent again.
      const isUnreachable = !outcome.ok && !outcome.sent && outcome.code !== "tls";
      if (!isUnreachable || limit.ended !== null) break;
    }
    return outcome;
  }

  /** Dials again where the fence was closed when the connection was open: nothing was sent. */
  async #exchange(hop: HttpHop, address: string): Promise<GuardedOutcome> {
    const { fence } = this.#options;
    const { limit, url } = hop;
    for (;;) {
      if (fence && !fence.isOpen) await passFence(fence, limit);
      if (limit.ended !== null) return failUnsent(limit.ended, url);
      const outcome = await exchange(this.#options, hop, address);
      if (outcome !== null) return outcome;
    }
  }
}

/** Waits until the fence is open or the limit ends. */
async function passFence(fence: EgressFence, limit: TimeLimit): Promise<void> {
  const ended = new AbortController();
  const forget = limit.onEnd(() => ended.abort());
  await fence.pass(ended.signal);
  forget();
}

async function findAddresses(
  url: URL,
  limit: TimeLimit,
  { clock, resolve = lookUp }: Pick<GuardedOptions, "clock" | "resolve">,
): Promise<readonly string[]> {
  if (hasIpHost(url)) return [url.hostname.replace(/^\[|\]$/g, "")];
  if (limit.ended !== null) return [];
  const found = Promise.withResolvers<readonly string[]>();
  // A look-up cannot be cancelled, only abandoned.
  const giveUp = () => found.resolve([]);
  const cancelTimer = clock.after(DNS_TIMEOUT_MS, giveUp);
  const forgetLimit = limit.onEnd(giveUp);
  let cancelRetry: Cancel = () => {};
  const start = () => {
    resolve(url.hostname)
      .then((addresses) => [...new Set(addresses)])
      .then(found.resolve, () => {
        // A look-up needs descriptors, and does not report that it lacked them.
        if (hasFreeDescriptors(1)) return giveUp();
        cancelRetry = clock.after(DNS_RETRY_MS, start);
      });
  };
  start();
  try {
    return await found.promise;
  } finally {
    cancelTimer();
    cancelRetry();
    forgetLimit();
  }
}

async function lookUp(name: string): Promise<string[]> {
  return (await Bun.dns.lookup(name)).map((answer) => answer.address);
}

/** Lower-cases names, so that no spelling gets past the guard's own headers. */
function prepareHeaders(given: Record<string, string>): Record<string, string> {
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

/** One private address refuses the name: its owner could choose which address we get. */
function findFirstSpecialBlock(addresses: readonly string[]): string | null {
  return addresses.map(findSpecialBlock).find((block) => block !== null) ?? null;
}

function findRedirect(reply: GuardedReply): string | null {
  if (!isRedirect(reply)) return null;
  const location = reply.headers.get("location")!;
  const next = URL.parse(location, reply.url);
  if (next === null) return location;
  next.hash = "";
  return next.href;
}
