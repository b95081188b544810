// The places in which runs are executed: so many at once, and accounts take turns.
import type { Turn } from "./store/claim.ts";

export interface Places {
  /** Something of this account waits. */
  tell(account_id: string): void;
  /** Whom to claim for now; empty: nobody waits, or no place is free. */
  plan(): Turn[];
  /** How many of each account were claimed. */
  settle(turns: readonly Turn[], claimed: ReadonlyMap<string, number>): void;
  /** A run that is executed already wants its place back; `run` is called when it has one. */
  queue(run: () => void): () => void;
  /** Takes a place without asking: it was free when it was planned. */
  take(): void;
  give(): void;
}

export function createPlaces(countMax: () => number): Places {
  /** In the order of their turns. */
  const waiting = new Set<string>();
  /** Told of while a claim was under way: it may have come too late for it. */
  let told = new Set<string>();
  const returning = new Set<() => void>();
  let taken = 0;
  return {
    tell(account_id) {
      waiting.add(account_id);
      told.add(account_id);
    },
    plan() {
      // Who has begun comes first.
      for (const run of returning) {
        if (taken >= countMax()) return [];
        returning.delete(run);
        taken += 1;
        run();
      }
      let free = countMax() - taken;
      told = new Set();
      const accounts = [...waiting].slice(0, Math.max(0, free));
      const turns = accounts.map((account_id) => ({ account_id, runs_max: 0 }));
      while (free > 0 && turns.length > 0) {
        for (const turn of turns) if (free-- > 0) turn.runs_max += 1;
      }
      return turns;
    },
    settle(turns, claimed) {
      for (const { account_id, runs_max } of turns) {
        const isEmpty = (claimed.get(account_id) ?? 0) < runs_max && !told.has(account_id);
        waiting.delete(account_id);
        if (!isEmpty) waiting.add(account_id);
      }
    },
    queue(run) {
      returning.add(run);
      return () => void returning.delete(run);
    },
    take() {
      taken += 1;
    },
    give() {
      taken -= 1;
    },
  };
}
