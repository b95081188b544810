// The places of a model's replicas: how one is found or waited for, used, and given back.
import type { Clock } from "../../platform/clock.ts";
import { FairQueue, type NotServed } from "../../platform/fair-queue.ts";
import type { UpstreamError, UpstreamResult } from "../providers/contract.ts";
import { timeoutError } from "../providers/openai/errors.ts";
import type { BreakerTrial } from "./breaker.ts";
import { createChoice } from "./choice.ts";
import type { Replica } from "./replica.ts";

/** A place at a replica, from the moment on at which it is given. */
export interface ReplicaSlot<S> {
  replica: Replica<S>;
  trial: BreakerTrial;
}

/**
 * Asks one server, which has `left_ms` to begin. `heard` is called as soon as something of its
 * answer has gone further: from then on nobody else can take over.
 */
export type CallServer<S, E extends UpstreamResult> = (
  server: S,
  heard: () => void,
  left_ms: number,
) => Promise<E | UpstreamError>;

export interface ReplicaSlots<S> {
  /** null: there is none, and one has to be waited for. */
  find(tried: readonly Replica<S>[]): ReplicaSlot<S> | UpstreamError | null;
  wait(
    account: string,
    tried: readonly Replica<S>[],
    timeout_ms: number,
    signal: AbortSignal,
  ): Promise<ReplicaSlot<S> | UpstreamError>;
  /** Asks the replica, and gives the place back whatever comes of it. */
  use<E extends UpstreamResult>(
    place: ReplicaSlot<S>,
    run: CallServer<S, E>,
    heard: () => void,
    left_ms: number,
  ): Promise<E | UpstreamError>;
  /** More may be asked now than before, or fewer. */
  serve(): void;
}

/** Who got less than this part of the whole time for its first token is not blamed for it. */
const FAIR_PART = 1 / 2;
/** More would only wait for their time-out; each keeps its request in memory. */
const WAITING_MAX = 1_000;

export interface ReplicaSlotsOptions {
  /** The places of each; 0: without limit. */
  max_in_flight: number;
  first_token_timeout_ms: number;
  clock: Clock;
  /** True: they are no longer used, and what fails by that says nothing of them. */
  isStopped(): boolean;
}

export function createReplicaSlots<S>(
  replicas: readonly Replica<S>[],
  { max_in_flight, first_token_timeout_ms, clock, isStopped }: ReplicaSlotsOptions,
): ReplicaSlots<S> {
  const fairMs = first_token_timeout_ms * FAIR_PART;
  const { choose, passOn } = createChoice(replicas, max_in_flight);
  const line = new FairQueue<ReplicaSlot<S> | UpstreamError>(clock, WAITING_MAX);

  const find: ReplicaSlots<S>["find"] = (tried) => {
    const chosen = choose(tried);
    if (chosen === null || "ok" in chosen) return chosen;
    chosen.inFlight += 1;
    // A second attempt is nobody's turn.
    if (tried.length === 0) passOn(chosen);
    return { replica: chosen, trial: chosen.breaker.begin() };
  };
  return {
    find,
    async wait(account, tried, timeout_ms, signal) {
      const found = await line.wait({
        account,
        find: () => find(tried),
        isSkippable: tried.length > 0,
        timeoutMs: timeout_ms,
        signal,
      });
      return typeof found === "string" ? UNSERVED[found]() : found;
    },
    async use({ replica, trial }, run, heard, left_ms) {
      let ending: UpstreamResult | null = null;
      try {
        const whole = await run(replica.server, heard, left_ms);
        ending = whole;
        return whole;
      } finally {
        replica.inFlight -= 1;
        // What our own line has used up of the caller's time says nothing of the replica.
        const isRushed = left_ms < fairMs && ending !== null && isLate(ending);
        replica.breaker.end(trial, isRushed || isStopped() ? null : ending);
        line.serve();
        if (ending && !ending.ok && ending.noResponse) replica.health.doubt();
      }
    },
    serve: () => line.serve(),
  };
}

/** We gave it up: the time of the request was over. */
function isLate(ending: UpstreamResult): boolean {
  return !ending.ok && ending.code === "upstream_timeout" && !ending.retryable;
}

const UNSERVED: Record<NotServed, () => UpstreamError> = {
  left: () => timeoutError("left"),
  // gateway.errors.upstream_rate_limited
  full: () => explain("upstream_rate_limited", "too many requests wait for its model servers"),
  // gateway.errors.upstream_timeout
  late: () => explain("upstream_timeout", "no model server had a free place in time"),
};

function explain(code: UpstreamError["code"], why: string): UpstreamError {
  return { ok: false, code, retryable: false, reason: why };
}
