// Plans for whom to claim, and puts what was claimed where it waits for a place.
import type { Clock } from "../platform/clock.ts";
import type { Agenda } from "./agenda.ts";
import { isStalling, type Lane, noteStanding, RANKS, type Rank } from "./endpoint-state.ts";
import type { Room } from "./room.ts";
import type { Taken, Turn } from "./store/claim.ts";

/** Of one claim. */
const TURNS_MAX = 64;

export interface Turns {
  /** For whom to claim now; each is settled by `give` or `forgo`. */
  plan(): Turn[];
  give(turns: readonly Turn[], taken: readonly Taken[]): void;
  forgo(turns: readonly Turn[]): void;
}

export interface TurnsOptions {
  clock: Clock;
  agenda: Agenda;
  room: Room;
  /** Lanes of which something is claimed and has not begun. */
  ready: Set<Lane>;
}

export function createTurns({ clock, agenda, room, ready }: TurnsOptions): Turns {
  const begin = (lane: Lane, rank: Rank): Turn | null => {
    const { endpoint, number } = lane;
    // Whoever answers quickly never waits for the database.
    const ahead = rank === 0 && !isStalling(endpoint, clock) ? 2 : 1;
    const count = Math.min(
      room.countFreeFor(endpoint, rank),
      ahead * endpoint.places - endpoint.held,
    );
    if (count <= 0) return null;
    Object.assign(lane, { is_claiming: true, claim_rank: rank });
    lane.told_at = Number.POSITIVE_INFINITY;
    room.hold(endpoint, rank, count);
    agenda.file(endpoint);
    return { webhook_id: endpoint.id, lane: number, count };
  };
  /** What was planned for it is no longer kept free. */
  const end = (turn: Turn): Lane => {
    const lane = agenda.laneOf(turn);
    room.hold(lane.endpoint, lane.claim_rank, -turn.count);
    lane.is_claiming = false;
    return lane;
  };
  const fill = (
    lane: Lane,
    { rows, next_at, standing }: Pick<Taken, "rows" | "next_at" | "standing">,
  ) => {
    lane.due_at = Math.min(next_at ?? Number.POSITIVE_INFINITY, lane.told_at);
    if (standing) noteStanding(lane.endpoint, standing);
    // Nothing of it is held here while that is not known: nothing is held under two names.
    lane.endpoint.account_id ??= rows[0]?.account_id ?? null;
    for (const claimed of rows) lane.ready.push({ claimed, rank: lane.claim_rank });
    room.hold(lane.endpoint, lane.claim_rank, rows.length);
    if (lane.ready.length > 0) ready.add(lane);
  };
  return {
    plan() {
      const turns: Turn[] = [];
      const due = agenda.listDue();
      for (const rank of RANKS) {
        for (const lane of due[rank]!) {
          if (room.countFree(rank) <= 0 || turns.length === TURNS_MAX) break;
          const turn = begin(lane, rank);
          if (turn) turns.push(turn);
        }
      }
      return turns;
    },
    give(turns, all) {
      const given = new Map(all.map((one) => [agenda.laneOf(one), one]));
      for (const turn of turns) {
        const lane = end(turn);
        fill(lane, given.get(lane) ?? { rows: [], next_at: null, standing: null });
        agenda.file(lane.endpoint);
      }
    },
    forgo(turns) {
      for (const turn of turns) agenda.file(end(turn).endpoint);
    },
  };
}
