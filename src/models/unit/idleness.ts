// How long nobody has needed a unit that is up, and when it may therefore be stopped.
import type { Cancel, Clock } from "../../platform/clock.ts";
import type { UnitPlan } from "./plan.ts";

export class Idleness {
  readonly #clock: Clock;
  #in_flight = 0;
  #up_since_ms = 0;
  #idle_since_ms = 0;
  #cancel: Cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It has come up just now. */
  rise(): void {
    this.#up_since_ms = this.#clock.monotonic();
    this.#idle_since_ms = this.#up_since_ms;
  }

  enter(requests: number): void {
    this.#in_flight += requests;
  }

  leave(): void {
    this.#in_flight--;
    if (this.#in_flight === 0) this.#idle_since_ms = this.#clock.monotonic();
  }

  /** Calls `run` once it has been idle and up for long enough, with nothing in flight. */
  guard({ idle_stop_ms, min_up_ms }: UnitPlan, run: () => void): void {
    this.rest();
    // One timer that looks again, rather than a new one after each request.
    const judge = () => {
      const now_ms = this.#clock.monotonic();
      const isBusy = this.#in_flight > 0;
      const idle_at_ms = (isBusy ? now_ms : this.#idle_since_ms) + idle_stop_ms;
      const due_ms = Math.max(idle_at_ms, this.#up_since_ms + min_up_ms);
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
