// Bounds one piece of work by time and by its caller, and tells which of them ended it.
import type { Cancel, Clock } from "../platform/clock.ts";

export type EndedBy = "timeout" | "aborted";

export class TimeLimit {
  #ended: EndedBy | null = null;
  readonly #callbacks = new Set<(endedBy: EndedBy) => void>();
  readonly #caller: AbortSignal | undefined;
  readonly #cancelTimer: Cancel;
  readonly #abort = () => this.#finish("aborted");

  constructor(clock: Clock, timeoutMs: number, caller: AbortSignal | undefined) {
    this.#caller = caller;
    this.#cancelTimer = clock.after(timeoutMs, () => this.#finish("timeout"));
    caller?.addEventListener("abort", this.#abort, { once: true });
    if (caller?.aborted) this.#abort();
  }

  get ended(): EndedBy | null {
    return this.#ended;
  }

  onEnd(run: (endedBy: EndedBy) => void): Cancel {
    this.#callbacks.add(run);
    return () => this.#callbacks.delete(run);
  }

  end(): void {
    this.#abort();
  }

  release(): void {
    this.#cancelTimer();
    this.#caller?.removeEventListener("abort", this.#abort);
  }

  #finish(endedBy: EndedBy): void {
    if (this.#ended !== null) return;
    this.#ended = endedBy;
    this.release();
    for (const run of this.#callbacks) run(endedBy);
    this.#callbacks.clear();
  }
}
