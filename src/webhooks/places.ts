// The places in which deliveries are sent: few for each endpoint, and endpoints take turns.
import type { Clock } from "../platform/clock.ts";
import type { Agenda } from "./agenda.ts";
import {
  type Endpoint,
  isStalling,
  type Lane,
  learn,
  type Rank,
  rankOf,
} from "./endpoint-state.ts";
import { createRoom } from "./room.ts";
import type { Claimed } from "./store/claim.ts";
import { createTurns, type Turns } from "./turns.ts";

/** A delivery that has taken a place. */
export interface Seat {
  claimed: Claimed;
  begun_at: number;
  rank: Rank;
  endpoint: Endpoint;
}

export interface Places extends Turns {
  /** Takes a place for what is next; null: nothing is, or there is none for it. */
  take(): Seat | null;
  /** Gives a place back; null: nothing was learned of the endpoint. */
  leave(seat: Seat, came: { is_success: boolean; took_ms: number } | null): void;
  /** What has not begun, which is forgotten here. */
  clear(): Claimed[];
}

export function createPlaces(clock: Clock, agenda: Agenda): Places {
  /** In the order of their turns. */
  const ready = new Set<Lane>();
  const room = createRoom();

  /** How a delivery of the lane would be sent now; null: it has no place. */
  const findRank = (lane: Lane): Rank | null => {
    const { endpoint } = lane;
    const isFull = endpoint.underway.size >= endpoint.places;
    if (isFull || endpoint.is_resting) return null;
    const rank = isStalling(endpoint, clock) ? 2 : rankOf(lane);
    return room.hasPlace(endpoint, rank) ? rank : null;
  };
  const sit = (lane: Lane, rank: Rank): Seat => {
    const { endpoint } = lane;
    const { claimed, rank: claim_rank } = lane.ready.shift()!;
    ready.delete(lane);
    if (lane.ready.length > 0) ready.add(lane);
    // From now on it is held where its place is.
    room.hold(endpoint, claim_rank, -1);
    room.hold(endpoint, rank, 1);
    room.take(endpoint, rank);
    const seat: Seat = { claimed, begun_at: clock.monotonic(), rank, endpoint };
    endpoint.underway.add(seat);
    return seat;
  };
  return {
    ...createTurns({ clock, agenda, room, ready }),
    take() {
      for (const lane of ready) {
        const rank = findRank(lane);
        if (rank !== null) return sit(lane, rank);
      }
      return null;
    },
    leave(seat, came) {
      const { endpoint, rank } = seat;
      endpoint.underway.delete(seat);
      room.leave(endpoint, rank);
      room.hold(endpoint, rank, -1);
      if (came) learn(endpoint, came);
      agenda.file(endpoint);
    },
    clear() {
      const all = [...ready].flatMap(({ endpoint, ready: waiting }) =>
        waiting.splice(0).map(({ claimed, rank }) => {
          room.hold(endpoint, rank, -1);
          return claimed;
        }),
      );
      ready.clear();
      return all;
    },
  };
}
