// The open connections that no request uses: each rests before its next one, and few are kept long.
import type { Cancel, Clock } from "../platform/clock.ts";
import type { HttpConnection } from "./http-connection.ts";

/** Time after which an unused connection is closed; uvicorn closes after 5 s, and we are told. */
const IDLE_MS = 30_000;
/** Maximum kept connections to one origin, and in all; the longest unused ones are closed. */
const ORIGIN_MAX = 2_048;
const IDLE_MAX = 4_096;
/** Maximum requests and age of one connection: whatever is wrong with it ends with it. */
const REQUESTS_MAX = 1_000;
const AGE_MAX_MS = 600_000;
/**
 * Share of the shortest reply time of a server. A reply that comes sooner may have been sent before
 * its request: its connection is closed, since the request's own reply is still to come.
 */
const QUICK_SHARE = 0.5;

/** The idle connections to one server, and how quickly it replies. */
export interface IdleOrigin {
  /** By account; the last used last. Empty lists are forgotten. */
  rested: Map<string, IdleMember[]>;
  count: number;
  shortestReplyMs: number;
}

/** A connection and what is known of its use. */
export interface IdleMember {
  connection: HttpConnection;
  origin: IdleOrigin;
  /** Whose requests alone it carries. */
  account: string;
  openedAt: number;
  requests: number;
  askedAt: number;
  unusedSince: number;
  state: "used" | "resting" | "rested";
}

export function createIdleOrigin(): IdleOrigin {
  return { rested: new Map(), count: 0, shortestReplyMs: 0 };
}

/** All of them, of every server. */
export class IdleConnections {
  readonly #clock: Clock;
  /** The longest unused first. */
  readonly #all = new Set<IdleMember>();
  #resting: IdleMember[] = [];
  #cancelSweep: Cancel | null = null;
  #cancelWake: Cancel | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One that may be used: the last that was, so that the others of a burst can be closed. */
  take(origin: IdleOrigin, account: string): IdleMember | undefined {
    const member = origin.rested.get(account)?.at(-1);
    if (member) this.drop(member);
    return member;
  }

  /** Its reply is whole: it is kept for a next request, or closed. */
  keep(member: IdleMember): void {
    const now = this.#clock.monotonic();
    const { origin, openedAt, requests } = member;
    const isSpent = requests >= REQUESTS_MAX || now - openedAt >= AGE_MAX_MS;
    if (isSpent || !countReply(member, now)) {
      member.connection.close();
      return;
    }
    member.unusedSince = now;
    member.state = "resting";
    origin.count++;
    this.#all.add(member);
    this.#resting.push(member);
    this.#cancelSweep ??= this.#clock.after(IDLE_MS, () => this.#sweep());
    this.#cancelWake ??= this.#clock.after(0, () => this.#wake());
    if (origin.count > ORIGIN_MAX) this.#closeLongest((one) => one.origin === origin);
    else if (this.#all.size > IDLE_MAX) this.#closeLongest(() => true);
  }

  /** It is used, or closed. */
  drop(member: IdleMember): void {
    const { origin, account, state } = member;
    if (state === "used") return;
    member.state = "used";
    this.#all.delete(member);
    origin.count--;
    if (state === "resting") return;
    const list = origin.rested.get(account)!;
    if (list.at(-1) === member) list.pop();
    else list.splice(list.indexOf(member), 1);
    if (list.length === 0) origin.rested.delete(account);
  }

  closeOrigin(origin: IdleOrigin): void {
    for (const member of [...this.#all]) if (member.origin === origin) this.#close(member);
    if (this.#all.size > 0) return;
    this.#cancelSweep?.();
    this.#cancelWake?.();
    this.#cancelSweep = this.#cancelWake = null;
    this.#resting = [];
  }

  /**
   * A timer fires behind what was read in its turn. So whatever a server had sent by then was seen,
   * also where the process had stood still.
   */
  #wake(): void {
    const resting = this.#resting;
    this.#resting = [];
    this.#cancelWake = null;
    for (const member of resting) {
      if (member.state !== "resting") continue;
      member.state = "rested";
      const { rested } = member.origin;
      const list = rested.get(member.account);
      if (list) list.push(member);
      else rested.set(member.account, [member]);
    }
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    this.#cancelSweep = null;
    for (const member of this.#all) {
      const leftMs = member.unusedSince + IDLE_MS - now;
      if (leftMs > 0) {
        this.#cancelSweep = this.#clock.after(leftMs, () => this.#sweep());
        return;
      }
      this.#close(member);
    }
  }

  #closeLongest(isMeant: (member: IdleMember) => boolean): void {
    const longest = this.#all.values().find(isMeant);
    if (longest) this.#close(longest);
  }

  #close(member: IdleMember): void {
    this.drop(member);
    member.connection.close();
  }
}

/** False: the reply came too soon. The first request of a connection has none before it. */
function countReply({ origin, requests, askedAt }: IdleMember, now: number): boolean {
  const tookMs = now - askedAt;
  const { shortestReplyMs } = origin;
  if (requests > 1 && tookMs < shortestReplyMs * QUICK_SHARE) return false;
  if (shortestReplyMs === 0 || tookMs < shortestReplyMs) origin.shortestReplyMs = tookMs;
  return true;
}
