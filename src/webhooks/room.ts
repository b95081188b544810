// How many deliveries may be sent at once, and be claimed ahead of that: some places are out of the
// reach of endpoints that are dead or slow.
import { type Endpoint, RANKS, type Rank } from "./endpoint-state.ts";

/**
 * Of this rank and worse ones together: half of the places are for what is likely to be quick, and
 * a few for those that are known to be.
 */
const PLACES = [64, 56, 32] as const;
/** Claimed and not over, of each rank: a little ahead of the places. */
const HELD = [128, 64, 64] as const;

export interface Room {
  /** So many more of an endpoint are claimed, or fewer. */
  hold(endpoint: Endpoint, rank: Rank, count: number): void;
  /** How many more may be claimed. */
  countFree(rank: Rank): number;
  hasPlace(rank: Rank): boolean;
  take(rank: Rank): void;
  leave(rank: Rank): void;
}

export function createRoom(): Room {
  const taken: Record<Rank, number> = { 0: 0, 1: 0, 2: 0 };
  const held: Record<Rank, number> = { 0: 0, 1: 0, 2: 0 };
  const countWorse = (from: Rank) =>
    RANKS.slice(from).reduce((sum: number, rank) => sum + taken[rank], 0);
  return {
    hold(endpoint, rank, count) {
      held[rank] += count;
      endpoint.held += count;
    },
    countFree: (rank) => HELD[rank] - held[rank],
    hasPlace: (rank) => RANKS.slice(0, rank + 1).every((from) => countWorse(from) < PLACES[from]),
    take(rank) {
      taken[rank] += 1;
    },
    leave(rank) {
      taken[rank] -= 1;
    },
  };
}
