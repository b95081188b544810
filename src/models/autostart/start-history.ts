// What is kept of one unit from start to start of the program; that it cannot be kept stops nobody.

import type { Bound } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import { addStart, learnStart, type ManagedServerState, type managedServerStore } from "./store.ts";

export interface StartHistory {
  /** True: we had put it to sleep, and have not seen it wake or go away since. */
  recall(): Promise<boolean>;
  note(state: ManagedServerState, is_put_down: boolean): Promise<void>;
  /** Keeps how long a start took; how long they usually take. */
  learn(start_ms: number): number;
}

export type StartHistoryStore = Pick<Bound<typeof managedServerStore>, "find" | "note" | "learn">;

/** Writes come one after another, so that the last state is the one that stands. */
export function createStartHistory(
  id: string,
  notes: StartHistoryStore,
  clock: Clock,
  onFailure: (failure: unknown) => void,
): StartHistory {
  let recent_starts_ms: number[] = [];
  let last: Promise<void> = Promise.resolve();
  const write = (run: () => Promise<void>) => {
    last = last.then(run).catch(onFailure);
    return last;
  };
  return {
    async recall() {
      try {
        const row = await notes.find(id);
        recent_starts_ms = row?.recent_starts_ms ?? [];
        return row?.is_put_down ?? false;
      } catch (failure) {
        onFailure(failure);
        return false;
      }
    },
    note(state, is_put_down) {
      const now = clock.now();
      return write(() => notes.note(id, state, is_put_down, now));
    },
    learn(start_ms) {
      const now = clock.now();
      recent_starts_ms = addStart(recent_starts_ms, start_ms);
      void write(() => notes.learn(id, start_ms, now));
      return learnStart({ recent_starts_ms })!;
    },
  };
}
