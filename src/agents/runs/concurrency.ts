// The places in which runs are executed: so many at once, and accounts take turns.
import type { ClaimQuota } from "./store/claim.ts";

export interface RunSlots {
  /** Something of this account waits. */
  tell(account_id: string): void;
  /** Whom to claim for now; empty: nobody waits, or no place is free. */
  plan(): ClaimQuota[];
  /** How many of each account were claimed: the accounts go to the end of the line. */
  settle(turns: readonly ClaimQuota[], claimed: ReadonlyMap<string, number>): void;
  /** Takes a place without asking: it was free when it was planned, or it is only to let go. */
  take(): void;
  /** Waits for a place, in front of all that wait to be claimed; `signal` takes one at once. */
  comeBack(signal: AbortSignal): Promise<void>;
  give(): void;
}

export function createRunSlots(countMax: () => number): RunSlots {
  /** In the order of their turns. */
  const waiting = new Set<string>();
  /** Told of while a claim was under way: it may have come too late for it. */
  let told = new Set<string>();
  const returning = new Set<() => void>();
  let taken = 0;

  const seatReturning = () => {
    for (const seat of returning) {
      if (taken >= countMax()) return;
      seat();
    }
  };
  return {
    tell(account_id) {
      waiting.add(account_id);
      told.add(account_id);
    },
    plan() {
      // A reload may have made room since the last one went.
      seatReturning();
      let free = countMax() - taken;
      if (free <= 0 || waiting.size === 0) return [];
      told = new Set();
      const turns: ClaimQuota[] = [];
      for (const account_id of waiting) {
        if (turns.length === free) break;
        turns.push({ account_id, runs_max: 0 });
      }
      // One for each, and again from the front while there are places.
      for (let at = 0; free > 0; at = (at + 1) % turns.length, free--) turns[at]!.runs_max += 1;
      return turns;
    },
    settle(turns, claimed) {
      for (const { account_id, runs_max } of turns) {
        const isEmpty = (claimed.get(account_id) ?? 0) < runs_max && !told.has(account_id);
        waiting.delete(account_id);
        if (!isEmpty) waiting.add(account_id);
      }
    },
    take() {
      taken += 1;
    },
    comeBack(signal) {
      return new Promise((resolve) => {
        const seat = () => {
          returning.delete(seat);
          signal.removeEventListener("abort", seat);
          taken += 1;
          resolve();
        };
        returning.add(seat);
        signal.addEventListener("abort", seat, { once: true });
        if (signal.aborted) seat();
        else seatReturning();
      });
    },
    give() {
      taken -= 1;
      seatReturning();
    },
  };
}
