// What is due: of each endpoint when, as far as this process has been told.
import type { Clock } from "../platform/clock.ts";
import { type Endpoint, type Lane, noteStanding, RANKS, rankOf } from "./endpoint-state.ts";
import { createKnownEndpoints } from "./known-endpoints.ts";
import type { DuePlace, Waiting } from "./store/claim.ts";

/** What is due by the clock is looked for no more often. */
const SCAN_EVERY_MS = 100;

export interface Agenda {
  laneOf(place: DuePlace): Lane;
  /** To be called whenever something of the endpoint changed that says where its lanes belong. */
  file(endpoint: Endpoint): void;
  /** Something of an endpoint that was not tried yet is due. */
  tell(webhook_id: string): void;
  /** Something of an endpoint may be due that nobody has any more. */
  recall(webhook_id: string): void;
  /** The endpoint is another than before, or what it needs is: it is looked at anew. */
  wake(webhook_id: string): void;
  /** What waits of an endpoint, by the database. */
  see(waiting: Waiting): void;
  /** Something of a lane is due then. */
  expect(place: DuePlace, at: number): void;
  /** Nothing can be sent to it until it is looked at anew. */
  rest(webhook_id: string): void;
  /** Lanes in which something is due and not claimed yet, of each rank in the order of turns. */
  listDue(): readonly Iterable<Lane>[];
  /** When something is due next, by the wall clock; Infinity: nobody knows of anything. */
  soonest(): number;
}

export function createAgenda(clock: Clock): Agenda {
  const find = createKnownEndpoints();
  const due = RANKS.map(() => new Set<Lane>());
  const later = new Set<Lane>();
  let soonest_at = Number.POSITIVE_INFINITY;
  let scanned_at = Number.NEGATIVE_INFINITY;

  /** Where a lane belongs; null: nowhere for now. */
  const findSet = (lane: Lane): Set<Lane> | null => {
    if (lane.is_claiming || lane.endpoint.is_resting) return null;
    if (lane.due_at === Number.POSITIVE_INFINITY) return null;
    if (lane.due_at <= clock.now()) return due[rankOf(lane)]!;
    soonest_at = Math.min(soonest_at, lane.due_at);
    return later;
  };
  const fileLane = (lane: Lane) => {
    const set = findSet(lane);
    // Where it is right it keeps its turn.
    if (set?.has(lane)) return;
    for (const one of due) one.delete(lane);
    later.delete(lane);
    set?.add(lane);
  };
  const file = ({ lanes }: Endpoint) => lanes.forEach(fileLane);
  const expectAt = (lane: Lane, at: number) => {
    if (lane.is_claiming) lane.told_at = Math.min(lane.told_at, at);
    if (at >= lane.due_at) return;
    lane.due_at = at;
    fileLane(lane);
  };
  const scan = () => {
    const isSoon = clock.monotonic() - scanned_at < SCAN_EVERY_MS;
    if (isSoon || soonest_at > clock.now()) return;
    scanned_at = clock.monotonic();
    soonest_at = Number.POSITIVE_INFINITY;
    for (const lane of [...later]) fileLane(lane);
  };
  const recall = (webhook_id: string) => {
    for (const lane of find(webhook_id).lanes) expectAt(lane, Number.NEGATIVE_INFINITY);
  };
  return {
    laneOf: ({ webhook_id, lane }) => find(webhook_id).lanes[lane],
    file,
    tell: (webhook_id) => expectAt(find(webhook_id).lanes[0], Number.NEGATIVE_INFINITY),
    recall,
    wake(webhook_id) {
      find(webhook_id).is_resting = false;
      recall(webhook_id);
      file(find(webhook_id));
    },
    see({ id, first_due_at, retry_due_at, ...standing }) {
      const endpoint = find(id);
      endpoint.is_resting = false;
      noteStanding(endpoint, standing);
      if (first_due_at !== null) expectAt(endpoint.lanes[0], first_due_at);
      if (retry_due_at !== null) expectAt(endpoint.lanes[1], retry_due_at);
      file(endpoint);
    },
    expect: ({ webhook_id, lane }, at) => expectAt(find(webhook_id).lanes[lane], at),
    rest(webhook_id) {
      const endpoint = find(webhook_id);
      endpoint.is_resting = true;
      file(endpoint);
    },
    listDue() {
      scan();
      return due;
    },
    soonest: () => soonest_at,
  };
}
