// Wake-ups: a commit says "look again", and listeners read for themselves.
import type { Notification } from "./store.ts";

type WakeListener = (id: string | null) => void;

export class Bus {
  readonly #report: (failure: unknown) => void;
  readonly #channels = new Map<string, Set<WakeListener>>();

  constructor(report: (failure: unknown) => void) {
    this.#report = report;
  }

  listen(channel: string, run: WakeListener): () => void {
    const listeners = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, listeners.add(run));
    return () => {
      listeners.delete(run);
    };
  }

  publish(notifications: readonly Notification[]): void {
    for (const [channel, id] of notifications) this.#wake(channel, id);
  }

  /** Wakes every listener without an id, after writes whose notifications are unknown. */
  publishUnknown(): void {
    for (const channel of this.#channels.keys()) this.#wake(channel, null);
  }

  #wake(channel: string, id: string | null): void {
    // Copied, because listeners may leave or listen again while they run.
    for (const run of [...(this.#channels.get(channel) ?? [])]) {
      try {
        run(id);
      } catch (failure) {
        // One listener's bug must not keep the others asleep.
        this.#report(failure);
      }
    }
  }
}
