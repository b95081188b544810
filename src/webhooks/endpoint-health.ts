// Health of an endpoint, which sets its order and concurrency; `store/results.ts` disables it.
import type { Clock } from "../platform/clock.ts";
import type { AttemptOutcome } from "./response.ts";

/** In the order in which they are served. */
export const HEALTHS = ["healthy", "new", "failing"] as const;
export type HealthLevel = (typeof HEALTHS)[number];

const QUICK_MS = 1_000;
const CONCURRENCY_MAX = 8;

export interface HealthRecord {
  failing_since: number | null;
  last_success_at: number | null;
}

export class EndpointHealth {
  readonly #clock: Clock;
  readonly #inFlight = new Set<{ startedAt: number }>();
  #concurrency = 1;
  #isFailing = false;
  #isSlow = false;
  #hasSucceeded = false;
  #isTried = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  /** Adopts the record, unless this process has tried the endpoint itself. */
  load({ failing_since, last_success_at }: HealthRecord): void {
    if (this.#isTried) return;
    this.#isFailing = failing_since !== null;
    this.#hasSucceeded = last_success_at !== null;
  }

  begin(): { startedAt: number } {
    const attempt = { startedAt: this.#clock.monotonic() };
    this.#inFlight.add(attempt);
    return attempt;
  }

  /** Allows one more at once after a quick success, and one alone after a failure. */
  end(attempt: { startedAt: number }, outcome: AttemptOutcome | "none"): void {
    this.#inFlight.delete(attempt);
    if (outcome === "none") return;
    this.#isTried = true;
    this.#isFailing = outcome !== "delivered";
    if (this.#isFailing) {
      this.#concurrency = 1;
      return;
    }
    this.#hasSucceeded = true;
    this.#isSlow = this.#clock.monotonic() - attempt.startedAt > QUICK_MS;
    if (!this.#isSlow) this.#concurrency = Math.min(this.#concurrency + 1, CONCURRENCY_MAX);
  }

  get(): HealthLevel {
    if (this.#isFailing || this.#isSlow) return "failing";
    return this.#hasSucceeded ? "healthy" : "new";
  }

  /** The oldest attempt is already slow, so that the next one may be, too. */
  isStalled(): boolean {
    const [oldest] = this.#inFlight;
    return oldest !== undefined && this.#clock.monotonic() - oldest.startedAt > QUICK_MS;
  }
}
