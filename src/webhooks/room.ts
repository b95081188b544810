// How many deliveries may be sent at once, and be claimed ahead of that: some places are out of the
// reach of endpoints that are dead or slow, and some out of the reach of any one account.
import { type Endpoint, RANKS, type Rank } from "./endpoint-state.ts";

/**
 * Of this rank and worse ones together: half of the places are for what is likely to be quick, and
 * a few for those that are known to be.
 */
const PLACES = [64, 56, 32] as const;
/** Claimed and not over, of each rank: a little ahead of the places. */
const HELD = [128, 64, 64] as const;
/**
 * An account has at most so many times what is free: alone three quarters, a second one the same of
 * the rest. Whoever answers quickly until all places are its own, and then no more, holds up nobody
 * else.
 */
const SHARE = 3;

export interface Room {
  /** So many more of an endpoint are claimed, or fewer. */
  hold(endpoint: Endpoint, rank: Rank, count: number): void;
  /** How many more may be claimed, of whomever. */
  countFree(rank: Rank): number;
  /** How many more of an endpoint may be claimed. */
  countFreeFor(endpoint: Endpoint, rank: Rank): number;
  hasPlace(endpoint: Endpoint, rank: Rank): boolean;
  take(endpoint: Endpoint, rank: Rank): void;
  leave(endpoint: Endpoint, rank: Rank): void;
}

export function createRoom(): Room {
  const taken = createCounts();
  const held = createCounts();

  const countFree = (rank: Rank) => HELD[rank] - held.all[rank];
  return {
    hold(endpoint, rank, count) {
      held.add(endpoint, rank, count);
      endpoint.held += count;
    },
    countFree,
    countFreeFor(endpoint, rank) {
      const free = countFree(rank);
      const own = held.of(endpoint)[rank];
      return Math.min(free, Math.ceil((SHARE * free - own) / (SHARE + 1)));
    },
    hasPlace(endpoint, rank) {
      const own = taken.of(endpoint);
      return RANKS.slice(0, rank + 1).every((from) => {
        const free = PLACES[from] - countWorse(taken.all, from);
        return free > 0 && countWorse(own, from) < SHARE * free;
      });
    },
    take: (endpoint, rank) => taken.add(endpoint, rank, 1),
    leave: (endpoint, rank) => taken.add(endpoint, rank, -1),
  };
}

type Counts = Record<Rank, number>;

const NONE: Readonly<Counts> = { 0: 0, 1: 0, 2: 0 };

function countWorse(counts: Counts, from: Rank): number {
  return RANKS.slice(from).reduce((sum: number, rank) => sum + counts[rank], 0);
}

/** Of each rank how many, in all and of each account that has some. */
function createCounts() {
  const all: Counts = { ...NONE };
  const accounts = new Map<string, Counts>();
  // One that is not known yet has one at most: until then it stands for itself.
  const keyOf = ({ account_id, id }: Endpoint) => account_id ?? id;
  return {
    all,
    of: (endpoint: Endpoint): Readonly<Counts> => accounts.get(keyOf(endpoint)) ?? NONE,
    add(endpoint: Endpoint, rank: Rank, count: number) {
      const key = keyOf(endpoint);
      const own = accounts.get(key) ?? { ...NONE };
      own[rank] += count;
      all[rank] += count;
      if (RANKS.every((one) => own[one] === 0)) accounts.delete(key);
      else accounts.set(key, own);
    },
  };
}
