// The line before scarce places: accounts take turns, and nobody waits for ever.
import type { Clock } from "./clock.ts";

/** Why nothing was found: the caller left, the line is full, or the time to wait is over. */
export type NotServed = "left" | "full" | "late";

export interface QueuedRequest<Found> {
  account: string;
  /** Takes a place if there is one; null: there is none for it. */
  find(): Found | null;
  /** Others may find a place where this one does not. */
  isPicky: boolean;
  timeout_ms: number;
  signal: AbortSignal;
}

export interface FairQueue<Found> {
  /** What was found, or why it is no longer waited for. */
  wait(waiting: QueuedRequest<Found>): Promise<Found | NotServed>;
  /** A place may have become free: whoever's turn it is takes it, at once. */
  serve(): void;
  /** How many wait. */
  count(): number;
  /** Another most, in force for who comes next. */
  change(waiting_max: number): void;
}

interface QueueEntry<Found> {
  waiting: QueuedRequest<Found>;
  settle(outcome: Found | NotServed): void;
  /** `failed`: by a bug of its own, which is no concern of whoever made room. */
  find(): Found | null | "failed";
}

/** `remove` takes it out of the line. */
function openEntry<Found>(
  clock: Clock,
  waiting: QueuedRequest<Found>,
  remove: (entry: QueueEntry<Found>) => void,
) {
  const { signal, timeout_ms } = waiting;
  const { promise: outcome, resolve, reject } = Promise.withResolvers<Found | NotServed>();
  const forget = () => {
    cancel();
    signal.removeEventListener("abort", leave);
    remove(entry);
  };
  const entry: QueueEntry<Found> = {
    waiting,
    settle(outcome) {
      forget();
      resolve(outcome);
    },
    find() {
      try {
        return waiting.find();
      } catch (bug) {
        forget();
        reject(bug);
        return "failed";
      }
    },
  };
  const leave = () => entry.settle("left");
  const cancel = clock.after(timeout_ms, () => entry.settle("late"));
  signal.addEventListener("abort", leave, { once: true });
  return { entry, outcome };
}

/** At most `waiting_max` wait: in a full line the newest of the longest account gives way. */
export function createFairQueue<Found>(clock: Clock, waiting_max: number): FairQueue<Found> {
  /** Who waits for each account, in the order in which they came; the next account stands first. */
  const accounts = new Map<string, Set<QueueEntry<Found>>>();
  let size = 0;
  let sizeMax = waiting_max;

  const add = (entry: QueueEntry<Found>) => {
    const { account } = entry.waiting;
    const line = accounts.get(account);
    if (line) line.add(entry);
    else accounts.set(account, new Set([entry]));
    size += 1;
  };
  const remove = (entry: QueueEntry<Found>) => {
    const { account } = entry.waiting;
    const line = accounts.get(account);
    if (!line?.delete(entry)) return;
    size -= 1;
    if (line.size === 0) accounts.delete(account);
  };
  /** In a full line the newest of the longest account gives way, so that nobody fills it alone. */
  const makeRoom = (account: string): boolean => {
    let longest = accounts.get(account) ?? new Set();
    // With its new one, whoever comes must not be the longest itself.
    let length = longest.size + 1;
    for (const line of accounts.values()) {
      if (line.size > length) [longest, length] = [line, line.size];
    }
    const newest = [...longest].at(-1);
    if (!newest || newest.waiting.account === account) return false;
    newest.settle("full");
    return true;
  };
  /** Who had the turn goes to the end; null: nobody finds a place. */
  const serveNext = (): boolean => {
    for (const [account, line] of accounts) {
      for (const entry of line) {
        const found = entry.find();
        if (found === "failed") return true;
        if (found === null) {
          if (entry.waiting.isPicky) continue;
          return false;
        }
        accounts.delete(account);
        accounts.set(account, line);
        entry.settle(found);
        return true;
      }
    }
    return false;
  };

  return {
    wait(waiting) {
      const { account, signal } = waiting;
      if (signal.aborted) return Promise.resolve("left");
      if (size >= sizeMax && !makeRoom(account)) return Promise.resolve("full");
      const { entry, outcome } = openEntry(clock, waiting, remove);
      add(entry);
      return outcome;
    },
    serve() {
      while (size > 0 && serveNext());
    },
    count: () => size,
    change(otherMax) {
      sizeMax = otherMax;
    },
  };
}
