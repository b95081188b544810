// Wake-ups: a commit says "look again", and listeners read for themselves.
import type { Notification, WakeListener } from "./store.ts";

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

  isHeard(channel: string): boolean {
    return (this.#channels.get(channel)?.size ?? 0) > 0;
  }

  publish(notifications: readonly Notification[], isOwn = true): void {
    for (const [channel, id] of notifications) this.#wake(channel, id, isOwn);
  }

  /** Wakes every listener without an id, after writes whose notifications are unknown. */
  publishUnknown(): void {
    for (const channel of this.#channels.keys()) this.#wake(channel, null, false);
  }

  #wake(channel: string, id: string | null, isOwn: boolean): void {
    // Copied, because listeners may leave or listen again while they run.
    for (const run of [...(this.#channels.get(channel) ?? [])]) {
      try {
        run(id, isOwn);
      } catch (failure) {
        // One listener's bug must not keep the others asleep.
        this.#report(failure);
      }
    }
  }
}
