// Ends requests to model servers: at time-outs, and when their callers leave.
import type { Cancel, Clock } from "../../platform/clock.ts";
import type { CompleteAttempt, Completion, OnChunk, UpstreamError } from "./contract.ts";
import { type TimeoutReason, timeoutError } from "./openai/errors.ts";

/** Time limits of one request; calls `onCut` at most once. */
export class RequestTimeouts {
  readonly #clock: Clock;
  readonly #caller: AbortSignal;
  readonly #onCut: (reason: TimeoutReason) => void;
  #hasBegun = false;
  #isHeld = false;
  #allowedMs: number;
  #deadline: number;
  #cancel: Cancel;

  constructor(
    clock: Clock,
    caller: AbortSignal,
    timeoutMs: number,
    onCut: (reason: TimeoutReason) => void,
  ) {
    this.#clock = clock;
    this.#caller = caller;
    this.#onCut = onCut;
    this.#allowedMs = timeoutMs;
    this.#deadline = clock.monotonic() + timeoutMs;
    this.#cancel = this.#schedule();
    caller.addEventListener("abort", this.#leave, { once: true });
  }

  /** The reply has begun: its next part must arrive within `timeoutMs`. */
  allow(timeoutMs: number): void {
    this.#hasBegun = true;
    this.#allowedMs = timeoutMs;
    this.#setDeadline(timeoutMs);
  }

  /** The caller holds the reply back and must read on within `timeoutMs`. */
  hold(timeoutMs: number): void {
    this.#isHeld = true;
    this.#setDeadline(timeoutMs);
  }

  /** The caller reads again, so the server's time-out runs again. */
  release(): void {
    this.#isHeld = false;
    this.#setDeadline(this.#allowedMs);
  }

  end(): void {
    this.#cancel();
    this.#caller.removeEventListener("abort", this.#leave);
  }

  readonly #leave = () => this.#cut("left");

  #cut(reason: TimeoutReason): void {
    this.end();
    this.#onCut(reason);
  }

  /** One timer that checks again costs less than one for each of a stream's thousand chunks. */
  #schedule(): Cancel {
    const pauseMs = Math.max(1, this.#deadline - this.#clock.monotonic());
    return this.#clock.after(pauseMs, () => {
      if (this.#clock.monotonic() < this.#deadline) this.#cancel = this.#schedule();
      else this.#cut(this.#isHeld ? "deaf" : this.#hasBegun ? "stalled" : "late");
    });
  }

  #setDeadline(timeoutMs: number): void {
    const next = this.#clock.monotonic() + timeoutMs;
    const isSooner = next < this.#deadline;
    this.#deadline = next;
    if (!isSooner) return;
    this.#cancel();
    this.#cancel = this.#schedule();
  }
}

/** Ends a completion at once when its caller leaves, even while `onChunk` holds it back. */
export function abortOnDisconnect<E = OnChunk>(
  complete: CompleteAttempt<E>,
  explain: () => UpstreamError = () => timeoutError("left"),
): CompleteAttempt<E> {
  return async (request, onChunk, signal) => {
    if (signal.aborted) return explain();
    const left = Promise.withResolvers<Completion>();
    const leave = () => left.resolve(explain());
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([left.promise, complete(request, onChunk, signal)]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  };
}
