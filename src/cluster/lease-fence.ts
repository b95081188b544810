// The fence of a process: past it begins nothing that others can see, unless its lease is fresh.
// Others may already have taken over the work of a process that was frozen.
import type { Clock } from "../platform/clock.ts";
import { FENCED_AFTER_MS } from "./times.ts";

/** When a heartbeat was sent, by both clocks. */
interface BeatTimes {
  monotonic: number;
  wall: number;
}

export interface LeaseFenceOptions {
  clock: Clock;
  /** Without a guard it is always open: a lock keeps other processes away. */
  isGuarded: boolean;
  /** Asks for a heartbeat at once. */
  onClosed(): void;
}

export class LeaseFence {
  readonly #options: LeaseFenceOptions;
  readonly #waiting = new Set<() => void>();
  #last: BeatTimes | null = null;

  constructor(options: LeaseFenceOptions) {
    this.#options = options;
  }

  /** One clock may stand still while the machine is suspended, and the other may be set back. */
  get isOpen(): boolean {
    const { clock, isGuarded } = this.#options;
    if (!isGuarded) return true;
    if (this.#last === null) return false;
    const { monotonic, wall } = this.#last;
    return Math.max(clock.monotonic() - monotonic, clock.now() - wall) < FENCED_AFTER_MS;
  }

  /** Waits until it is open; false: `signal` has aborted. */
  async pass(signal?: AbortSignal): Promise<boolean> {
    while (!this.isOpen && !signal?.aborted) {
      this.#options.onClosed();
      await this.#awaitRenewal(signal);
    }
    return !signal?.aborted;
  }

  /** Call it before a heartbeat is sent: the lease counts from there, not from the answer. */
  readTimes(): BeatTimes {
    const { clock } = this.#options;
    return { monotonic: clock.monotonic(), wall: clock.now() };
  }

  /** Opens it by a heartbeat that was written. */
  renew(sent: BeatTimes): void {
    this.#last = sent;
    for (const wake of [...this.#waiting]) wake();
  }

  #awaitRenewal(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => {
      this.#waiting.delete(wake);
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    this.#waiting.add(wake);
    signal?.addEventListener("abort", wake, { once: true });
    return promise;
  }
}
