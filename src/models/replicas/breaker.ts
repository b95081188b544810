// Circuit breaker of one replica: after many failures it is passed over, and then tried again.
import type { Cancel, Clock } from "../../platform/clock.ts";
import type { UpstreamError, UpstreamResult } from "../providers/contract.ts";

const FAILURES_MAX = 5;
const WINDOW_MS = 60_000;
const OPEN_MS = 30_000;
const SUCCESSES_NEEDED = 2;

export interface BreakerRequest {
  isTrial: boolean;
  /** Signs of life of the replica before the request began. */
  signsOfLife: number;
}

export interface BreakerOptions {
  clock: Clock;
  onTurn(isOpen: boolean): void;
  /** Called when more requests may be admitted, unless an end of a request is the cause. */
  onChange(): void;
}

/** `answered`: alive, but perhaps not working · `unknown`: says nothing about the replica. */
type ReplicaSign = "good" | "bad" | "answered" | "unknown";

export class Breaker {
  readonly #options: BreakerOptions;
  /** Times of recent failures, oldest first. */
  #failures: number[] = [];
  #state: { kind: "closed" } | { kind: "open"; until: number } = { kind: "closed" };
  /** The trial under way, until its replica shows a sign of life. */
  #trial: BreakerRequest | null = null;
  #successes = 0;
  #signsOfLife = 0;
  /** Failures in a row without any sign of life. */
  #silences = 0;
  #lastSilence: UpstreamError | null = null;
  #cancel: Cancel = () => {};

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** The replica is passed over, or is being tried again. */
  get isOpen(): boolean {
    return this.#state.kind === "open";
  }

  get signsOfLife(): number {
    return this.#signsOfLife;
  }

  /** Tests if a request is admitted; without admission, a replica is only the last resort. */
  admits(): boolean {
    return this.#state.kind === "closed" || (!this.#trial && this.#isHalfOpen());
  }

  /** Returns the failure of a replica that has been silent for long, or null. */
  findSilence(): UpstreamError | null {
    return this.#silences >= FAILURES_MAX ? this.#lastSilence : null;
  }

  begin(): BreakerRequest {
    const isTrial = !this.#trial && this.#isHalfOpen();
    const request = { isTrial, signsOfLife: this.#signsOfLife };
    if (isTrial) this.#trial = request;
    return request;
  }

  /** Ends a request; the result is null if it says nothing about the replica. */
  end(request: BreakerRequest, result: UpstreamResult | null): void {
    if (this.#trial === request) this.#trial = null;
    const sign = result ? readSign(result) : "unknown";
    if (!result || sign === "unknown") return;
    if (result.ok || !result.noResponse) this.noteLife();
    else if (result.noResponse === "surely" && this.#signsOfLife === request.signsOfLife) {
      this.#silences += 1;
      this.#lastSilence = result;
    }
    if (sign === "bad") this.#noteFailure(request.isTrial);
    // Another trial may have failed meanwhile, and older successes prove nothing.
    else if (sign === "good" && request.isTrial && this.#isHalfOpen()) {
      if (++this.#successes >= SUCCESSES_NEEDED) this.close();
    }
  }

  noteLife(request?: BreakerRequest): void {
    this.#signsOfLife += 1;
    this.#silences = 0;
    if (!request || this.#trial !== request) return;
    // The trial's answer may take long, so the next request may be a trial too.
    this.#trial = null;
    this.#options.onChange();
  }

  close(): void {
    const wasOpen = this.#state.kind === "open";
    this.#state = { kind: "closed" };
    this.#failures = [];
    this.#trial = null;
    this.#silences = 0;
    if (wasOpen) this.#options.onTurn(false);
  }

  #isHalfOpen(): boolean {
    return this.#state.kind === "open" && this.#options.clock.monotonic() >= this.#state.until;
  }

  #noteFailure(isTrial: boolean): void {
    if (this.#state.kind === "open") {
      // Only trials count; requests from before, or sent as a last resort, change nothing.
      if (isTrial) this.#open();
      return;
    }
    const now = this.#options.clock.monotonic();
    this.#failures = this.#failures.filter((failedAt) => now - failedAt < WINDOW_MS);
    this.#failures.push(now);
    if (this.#failures.length >= FAILURES_MAX) this.#open();
  }

  #open(): void {
    const { clock, onTurn, onChange } = this.#options;
    const wasClosed = this.#state.kind === "closed";
    this.#state = { kind: "open", until: clock.monotonic() + OPEN_MS };
    this.#failures = [];
    this.#successes = 0;
    if (wasClosed) onTurn(true);
    this.#cancel();
    this.#cancel = clock.after(OPEN_MS, onChange);
  }
}

function readSign(result: UpstreamResult): ReplicaSign {
  if (result.ok) return "good";
  const { code, retryable } = result;
  if (code === "client_closed_request") return "unknown";
  // Overload is temporary, and an invalid request would fail at every replica.
  if (code === "upstream_rate_limited") return "answered";
  return retryable || code === "upstream_timeout" ? "bad" : "answered";
}
