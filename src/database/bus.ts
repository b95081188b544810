// The bus of wake-ups: a commit says "look again", and listeners read for themselves.
import type { Notification } from "./store.ts";

export interface Bus {
  listen(channel: string, run: (id: string | null) => void): () => void;
  publish(told: readonly Notification[]): void;
  /** Another process wrote, nobody knows what: every listener looks again, with null for the id. */
  publishUnknown(): void;
}

export function createBus(report: (failure: unknown) => void): Bus {
  const channels = new Map<string, Set<(id: string | null) => void>>();
  const wake = (channel: string, id: string | null) => {
    // A copy: a listener may leave, or listen again, while it is being called.
    for (const run of [...(channels.get(channel) ?? [])]) {
      try {
        run(id);
      } catch (failure) {
        // One listener's bug must not keep the others asleep.
        report(failure);
      }
    }
  };
  return {
    listen(channel, run) {
      const listeners = channels.get(channel) ?? new Set();
      channels.set(channel, listeners.add(run));
      return () => {
        listeners.delete(run);
      };
    },
    publish(told) {
      for (const [channel, id] of told) wake(channel, id);
    },
    publishUnknown() {
      for (const channel of channels.keys()) wake(channel, null);
    },
  };
}
