// The rate limiters of a process by name, so that another process can continue their counters.
import type { LimiterState, LimitRule, RateLimiter } from "./rate-limit.ts";

export type LimitStates = Readonly<Record<string, LimiterState>>;

export class LimiterGroup {
  readonly #limiters: Readonly<Record<string, RateLimiter>>;
  #isShared = false;

  constructor(limiters: Readonly<Record<string, RateLimiter>>) {
    this.#limiters = limiters;
  }

  export(): LimitStates {
    const entries = Object.entries(this.#limiters);
    return Object.fromEntries(entries.map(([name, limiter]) => [name, limiter.export()]));
  }

  import(states: LimitStates): void {
    for (const [name, limiter] of Object.entries(this.#limiters)) {
      limiter.import(states[name] ?? []);
    }
  }

  /** Counts a request for another process; see `RateLimiter.claim`. */
  async claim(limiter: string, name: string): Promise<number> {
    // A limit that only the other version knows restricts nothing here.
    return this.#limiters[limiter]?.claim(name) ?? 0;
  }

  /** Counts in all of them where all processes do; a takeover changes nothing then. */
  share(claim: (limiter: string, name: string, rule: LimitRule) => Promise<number | null>): void {
    this.#isShared = true;
    for (const [limiter, one] of Object.entries(this.#limiters)) {
      one.follow((name, rule) => claim(limiter, name, rule));
    }
  }

  /** Lets another process count in all of them; null counts here again. */
  follow(claim: ((limiter: string, name: string) => Promise<number>) | null): void {
    if (this.#isShared) return;
    for (const [limiter, one] of Object.entries(this.#limiters)) {
      one.follow(claim && ((name) => claim(limiter, name)));
    }
  }
}
