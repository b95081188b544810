// The open connections that no request uses: each rests before its next one, and few are kept long.
import type { Cancel, Clock } from "../clock.ts";
import type { Connection } from "./http-connection.ts";

/** Time after which an unused connection is closed; uvicorn closes after 5 s, and we are told. */
const IDLE_MS = 30_000;
/** Maximum kept connections to one origin, and in all; the longest unused ones are closed. */
const ORIGIN_MAX = 2_048;
const IDLE_MAX = 4_096;
/** Shortest rest before the next request: what a server sends too much mostly comes at once. */
const REST_MS = 20;
/**
 * A reply too many may come in the turn of the next request, and end it soon. Its own reply comes
 * when replies usually do, with a half more to be sure: until then nobody else asks.
 */
const USUAL_FACTOR = 1.5;
/** Maximum requests and age of one connection: whatever is wrong with it ends with it. */
const REQUESTS_MAX = 1_000;
const AGE_MAX_MS = 600_000;

/** A connection and what its pool knows of it. */
export interface Member {
  connection: Connection;
  origin: string;
  /** Whose requests alone it carries. */
  account: string;
  opened_at: number;
  requests: number;
  asked_at: number;
  /** What its replies take; one that took longer counts at once, one that was quicker by half. */
  usual_ms: number;
  unused_since: number;
  rests_until: number;
}

/** All of them, of every server. */
export class IdleConnections {
  readonly #clock: Clock;
  /** The longest unused first. */
  readonly #all = new Set<Member>();
  readonly #counts = new Map<string, number>();
  readonly #resting = new Set<Member>();
  /** By origin and account; the last used last. Empty lists are forgotten. */
  readonly #rested = new Map<string, Member[]>();
  #cancelSweep: Cancel | null = null;
  #cancelWake: Cancel | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One that may be used: the last that was, so that a rush's surplus can go. */
  take(origin: string, account: string): Member | undefined {
    const member = this.#rested.get(nameList(origin, account))?.at(-1);
    if (member) this.drop(member);
    return member;
  }

  /** Its reply is whole: it is kept for a next request, or closed. */
  keep(member: Member): void {
    const now = this.#clock.monotonic();
    const { origin, opened_at, requests } = member;
    if (requests >= REQUESTS_MAX || now - opened_at >= AGE_MAX_MS) {
      member.connection.close();
      return;
    }
    const took_ms = now - member.asked_at;
    const { usual_ms } = member;
    member.unused_since = now;
    member.rests_until = now + Math.max(REST_MS, USUAL_FACTOR * usual_ms - took_ms);
    member.usual_ms = Math.max(took_ms, (usual_ms + took_ms) / 2);
    const count = (this.#counts.get(origin) ?? 0) + 1;
    this.#counts.set(origin, count);
    this.#all.add(member);
    this.#resting.add(member);
    this.#cancelSweep ??= this.#clock.after(IDLE_MS, () => this.#sweep());
    this.#cancelWake ??= this.#clock.after(REST_MS, () => this.#wake());
    if (count > ORIGIN_MAX) this.#closeLongest((one) => one.origin === origin);
    else if (this.#all.size > IDLE_MAX) this.#closeLongest(() => true);
  }

  /** It is used, or closed. */
  drop(member: Member): void {
    if (!this.#all.delete(member)) return;
    const { origin, account } = member;
    const left = this.#counts.get(origin)! - 1;
    if (left > 0) this.#counts.set(origin, left);
    else this.#counts.delete(origin);
    if (this.#resting.delete(member)) return;
    const name = nameList(origin, account);
    const list = this.#rested.get(name)!;
    list.splice(list.lastIndexOf(member), 1);
    if (list.length === 0) this.#rested.delete(name);
  }

  closeOrigin(origin: string): void {
    for (const member of [...this.#all]) if (member.origin === origin) this.#close(member);
    if (this.#all.size > 0) return;
    this.#cancelSweep?.();
    this.#cancelWake?.();
    this.#cancelSweep = this.#cancelWake = null;
  }

  /**
   * A timer fires behind what was read in its turn. So whatever a server had sent by then was seen,
   * also where the process had stood still for longer than any rest.
   */
  #wake(): void {
    const now = this.#clock.monotonic();
    for (const member of this.#resting) {
      if (now < member.rests_until) continue;
      this.#resting.delete(member);
      const name = nameList(member.origin, member.account);
      const list = this.#rested.get(name);
      if (list) list.push(member);
      else this.#rested.set(name, [member]);
    }
    const isDone = this.#resting.size === 0;
    this.#cancelWake = isDone ? null : this.#clock.after(REST_MS, () => this.#wake());
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    this.#cancelSweep = null;
    for (const member of this.#all) {
      const left_ms = member.unused_since + IDLE_MS - now;
      if (left_ms > 0) {
        this.#cancelSweep = this.#clock.after(left_ms, () => this.#sweep());
        return;
      }
      this.#close(member);
    }
  }

  #closeLongest(isMeant: (member: Member) => boolean): void {
    const longest = this.#all.values().find(isMeant);
    if (longest) this.#close(longest);
  }

  #close(member: Member): void {
    this.drop(member);
    member.connection.close();
  }
}

function nameList(origin: string, account: string): string {
  return `${origin} ${account}`;
}
