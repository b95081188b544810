// What a process knows of an endpoint while it sends to it: how far it is trusted, what is due.
import type { Clock } from "../platform/clock.ts";
import type { Claimed, LaneNumber, Standing } from "./store/claim.ts";

/** 0: it takes events, and quickly; 1: nobody knows yet; 2: it fails or is slow, or a retry. */
export type Rank = 0 | 1 | 2;
export const RANKS = [0, 1, 2] as const satisfies readonly Rank[];

/** Whoever takes longer is slow, were it only for now. */
const QUICK_MS = 1_000;
const PLACES_MAX = 8;

export interface Endpoint {
  readonly id: string;
  /** Known from its first claim on. */
  account_id: string | null;
  /** How many may be sent to it at once. */
  places: number;
  is_failing: boolean;
  is_slow: boolean;
  has_succeeded: boolean;
  /** This process has sent to it: it knows better than the database. */
  is_tried: boolean;
  /** Nothing can be sent to it for now. */
  is_resting: boolean;
  /** Claimed, or planned to be, and not over. */
  held: number;
  /** The longest first. */
  readonly underway: Set<{ begun_at: number }>;
  readonly lanes: readonly [Lane, Lane];
}

/** Of an endpoint what was not tried yet, or what was. */
export interface Lane {
  readonly endpoint: Endpoint;
  readonly number: LaneNumber;
  /** By the wall clock; Infinity: nobody knows of anything that waits. */
  due_at: number;
  /** Of what came while a claim was under way, which may have missed it. */
  told_at: number;
  is_claiming: boolean;
  /** At its last claim. */
  claim_rank: Rank;
  readonly ready: { claimed: Claimed; rank: Rank }[];
}

export function createEndpoint(id: string): Endpoint {
  const createLane = (number: LaneNumber): Lane => ({
    ...{ endpoint, number, due_at: Number.POSITIVE_INFINITY },
    ...{ told_at: Number.POSITIVE_INFINITY, is_claiming: false, ready: [] },
    claim_rank: 2,
  });
  const endpoint: Endpoint = {
    ...{ id, account_id: null, places: 1, is_failing: false, is_slow: false, has_succeeded: false },
    ...{ is_tried: false, is_resting: false, held: 0, underway: new Set() },
    get lanes() {
      return lanes;
    },
  };
  const lanes = [createLane(0), createLane(1)] as const;
  return endpoint;
}

/** What the database says of it. */
export function noteStanding(
  endpoint: Endpoint,
  { failing_since, last_success_at }: Standing,
): void {
  if (endpoint.is_tried) return;
  endpoint.is_failing = failing_since !== null;
  endpoint.has_succeeded = last_success_at !== null;
}

/** It takes one more at once for each quick success, and after a failure one until a success. */
export function learn(
  endpoint: Endpoint,
  { is_success, took_ms }: { is_success: boolean; took_ms: number },
): void {
  endpoint.is_tried = true;
  endpoint.is_failing = !is_success;
  if (!is_success) {
    endpoint.places = 1;
    return;
  }
  endpoint.has_succeeded = true;
  endpoint.is_slow = took_ms > QUICK_MS;
  if (!endpoint.is_slow) endpoint.places = Math.min(endpoint.places + 1, PLACES_MAX);
}

export function rankOf({ endpoint, number }: Lane): Rank {
  if (number === 1 || endpoint.is_failing || endpoint.is_slow) return 2;
  return endpoint.has_succeeded ? 0 : 1;
}

/** Something has been under way for so long that the next would have to wait, too. */
export function isStalling({ underway }: Endpoint, clock: Clock): boolean {
  for (const { begun_at } of underway) return clock.monotonic() - begun_at > QUICK_MS;
  return false;
}
