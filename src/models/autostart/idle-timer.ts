// How long nobody has needed a unit that is up, and when it may therefore be stopped.
import type { Cancel, Clock } from "../../platform/clock.ts";
import type { StartPlan } from "./plan.ts";

export class IdleTimer {
  readonly #clock: Clock;
  #inFlight = 0;
  #upSinceMs = 0;
  #idleSinceMs = 0;
  #cancel: Cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It has come up just now. */
  rise(): void {
    this.#upSinceMs = this.#clock.monotonic();
    this.#idleSinceMs = this.#upSinceMs;
  }

  enter(requests: number): void {
    this.#inFlight += requests;
  }

  leave(): void {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#idleSinceMs = this.#clock.monotonic();
  }

  /** Calls `run` once it has been idle and up for long enough, with nothing in flight. */
  guard({ idle_stop_ms, min_up_ms }: StartPlan, run: () => void): void {
    this.rest();
    // One timer that looks again, rather than a new one after each request.
    const judge = () => {
      const now_ms = this.#clock.monotonic();
      const isBusy = this.#inFlight > 0;
      const idleAtMs = (isBusy ? now_ms : this.#idleSinceMs) + idle_stop_ms;
      const due_ms = Math.max(idleAtMs, this.#upSinceMs + min_up_ms);
      if (!isBusy && now_ms >= due_ms) run();
      else this.#cancel = this.#clock.after(due_ms - now_ms, judge);
    };
    judge();
  }

  /** Waits for nothing any more. */
  rest(): void {
    this.#cancel();
  }
}
