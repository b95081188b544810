// Slots of a model's replicas: how a request finds one or waits for it, uses it and gives it back.
import type { Clock } from "../../platform/clock.ts";
import { FairQueue, type NotServed } from "../../platform/fair-queue.ts";
import type { UpstreamError, UpstreamResult } from "../providers/contract.ts";
import { timeoutError, upstreamError } from "../providers/openai/errors.ts";
import type { BreakerRequest } from "./breaker.ts";
import type { Replica } from "./replica.ts";

export interface ReplicaSlot<S> {
  replica: Replica<S>;
  request: BreakerRequest;
}

/**
 * Sends a request to one server, which has `leftMs` to begin. It calls `onBegin` once part of the
 * answer has been passed on, since no other replica can take over then.
 */
export type CallServer<S, E extends UpstreamResult> = (
  server: S,
  onBegin: () => void,
  leftMs: number,
) => Promise<E | UpstreamError>;

export interface ReplicaSlotsOptions {
  first_token_timeout_ms: number;
  clock: Clock;
}

/** Minimum share of the first-token time that a request gets for its time-out to count. */
const FAIR_PART = 1 / 2;
const WAITING_MAX = 1_000;

export class ReplicaSlots<S> {
  /** Set once the replicas are not used any more; failures then say nothing about them. */
  isStopped = false;
  readonly #replicas: readonly Replica<S>[];
  /** Most models have one server. */
  readonly #only: Replica<S> | null;
  readonly #fairMs: number;
  readonly #queue: FairQueue<ReplicaSlot<S> | UpstreamError>;
  #next = 0;

  constructor(replicas: readonly Replica<S>[], options: ReplicaSlotsOptions) {
    const { first_token_timeout_ms, clock } = options;
    this.#replicas = replicas;
    this.#only = replicas.length === 1 ? replicas[0]! : null;
    this.#fairMs = first_token_timeout_ms * FAIR_PART;
    this.#queue = new FairQueue(clock, WAITING_MAX);
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Takes a slot at a replica that is not among `tried`; null if all fitting ones are full. */
  find(tried: readonly Replica<S>[]): ReplicaSlot<S> | UpstreamError | null {
    const replica = this.#choose(tried);
    if (replica === null || "ok" in replica) return replica;
    replica.claim.inFlight += 1;
    // Second attempts don't move the turn.
    if (tried.length === 0) this.#next = (replica.index + 1) % this.#replicas.length;
    return { replica, request: replica.breaker.begin() };
  }

  async wait(
    account: string,
    tried: readonly Replica<S>[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ReplicaSlot<S> | UpstreamError> {
    const find = () => this.find(tried);
    const isSkippable = tried.length > 0;
    const queued = this.#queue.wait({ account, find, isSkippable, timeoutMs, signal });
    this.#adjust();
    const found = await queued;
    return typeof found === "string" ? UNSERVED[found]() : found;
  }

  /** Sends the request, then releases the slot. */
  async use<E extends UpstreamResult>(
    { replica, request }: ReplicaSlot<S>,
    call: CallServer<S, E>,
    onBegin: () => void,
    leftMs: number,
  ): Promise<E | UpstreamError> {
    let result: UpstreamResult | null = null;
    try {
      const settled = await call(replica.server, onBegin, leftMs);
      result = settled;
      return settled;
    } finally {
      replica.claim.inFlight -= 1;
      // Time spent in our own queue says nothing of the replica.
      const isRushed = leftMs < this.#fairMs && result !== null && isLate(result);
      replica.breaker.end(request, isRushed || this.isStopped ? null : result);
      replica.claim.serve();
      if (result && !result.ok && result.noResponse) replica.health.doubt();
    }
  }

  serve(): void {
    this.#queue.serve();
    this.#adjust();
  }

  /** Requests that wait for one of the replicas, on average. */
  countWaiting(): number {
    return Math.ceil(this.#queue.size / this.#replicas.length);
  }

  #adjust(): void {
    for (const { claim } of this.#replicas) claim.adjust();
  }

  #choose(tried: readonly Replica<S>[]): Replica<S> | UpstreamError | null {
    const only = this.#only;
    if (only && tried.length === 0 && only.claim.isFree) {
      if (only.health.isHealthy && only.breaker.admits()) return only;
    }
    const isNew = (replica: Replica<S>) => tried.length === 0 || !tried.includes(replica);
    const best = this.#findLeastBusy((replica) => replica.breaker.admits() && isNew(replica));
    if (best !== undefined) return best;
    // A caller can make servers fail at will, as with an image that they cannot fetch. As a last
    // resort, replicas that answer with failures get requests, too.
    const last = this.#findLeastBusy((replica) => !replica.breaker.findSilence() && isNew(replica));
    return last === undefined ? explainNone(this.#replicas) : last;
  }

  /** Returns null if one that fits has no free slot now. */
  #findLeastBusy(fits: (replica: Replica<S>) => boolean): Replica<S> | null | undefined {
    const replicas = this.#replicas;
    let best: Replica<S> | null | undefined;
    let isFree = false;
    for (let n = 0; n < replicas.length; n++) {
      const replica = replicas[(this.#next + n) % replicas.length]!;
      const { claim, inFlight, health } = replica;
      if (best && (inFlight > best.inFlight || (inFlight === best.inFlight && isFree))) continue;
      if (!health.isHealthy || !fits(replica)) continue;
      // One that may get a slot from the other processes at once is worth asking for it.
      if (!claim.isFree && !claim.isAskable) best ??= null;
      else [best, isFree] = [replica, claim.isFree];
    }
    return best && !isFree ? null : best;
  }
}

function explainNone(replicas: readonly Replica[]): UpstreamError {
  for (const { health, breaker } of replicas) {
    const silence = health.isHealthy && breaker.findSilence();
    // Fails at once, since an attempt would only wait for the same failure.
    if (silence)
      return upstreamError(silence.code, `it is passed over for a while: ${silence.reason}`);
  }
  // gateway.errors.model_offline
  return upstreamError("model_offline", "none of its servers is healthy");
}

/** The request's own time was over. */
function isLate(result: UpstreamResult): boolean {
  return !result.ok && result.code === "upstream_timeout" && !result.retryable;
}

const UNSERVED: Record<NotServed, () => UpstreamError> = {
  left: () => timeoutError("left"),
  // gateway.errors.upstream_rate_limited
  full: () =>
    upstreamError("upstream_rate_limited", "too many requests wait for its model servers"),
  // gateway.errors.upstream_timeout
  late: () => upstreamError("upstream_timeout", "no model server had a free place in time"),
};
