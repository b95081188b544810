// Measures how long a model server has had no requests.
import type { Cancel, Clock } from "../../platform/clock.ts";

export class IdleTimer {
  readonly #clock: Clock;
  #inFlight = 0;
  #upSinceMs = 0;
  #idleSinceMs = 0;
  #cancel: Cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  restart(): void {
    this.#upSinceMs = this.#clock.monotonic();
    this.#idleSinceMs = this.#upSinceMs;
  }

  enter(): void {
    this.#inFlight++;
  }

  leave(): void {
    this.#inFlight--;
    this.#idleSinceMs = this.#clock.monotonic();
  }

  /** Calls `run` once the server has been idle and up long enough, unless `stop` comes first. */
  start(idleStopMs: number, minUpMs: number, run: () => void): void {
    // One timer that checks again costs less than one after each request.
    const check = () => {
      const nowMs = this.#clock.monotonic();
      const idleDueMs = (this.#inFlight > 0 ? nowMs : this.#idleSinceMs) + idleStopMs;
      const dueMs = Math.max(idleDueMs, this.#upSinceMs + minUpMs);
      if (nowMs >= dueMs) run();
      else this.#cancel = this.#clock.after(dueMs - nowMs, check);
    };
    check();
  }

  stop(): void {
    this.#cancel();
  }
}
