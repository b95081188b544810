// The capacity that all accounts share: so many requests at once, a short line, and for the others
// an honest word on when to come back.
import type { Clock } from "../../platform/clock.ts";
import { apiError } from "../../platform/errors.ts";
import { FairQueue } from "../../platform/fair-queue.ts";

/** Who waits in the line for longer is told to come back: callers have time-outs of their own. */
const WAIT_MAX_MS = 10_000;
/** How much the newest request says of how long the next ones take. */
const NEWEST_PART = 0.2;

export interface CapacitySize {
  /** Requests that are worked on at once. */
  max_concurrent: number;
  /** Those that wait for their turn. */
  max_queued: number;
}

export interface Capacity {
  /**
   * gateway.limits.shared_capacity: does the work as soon as there is a place, and gives it back
   * whatever comes of it; refuses with `capacity_exceeded` where there is none.
   */
  use<R>(account: string, signal: AbortSignal, work: () => Promise<R>): Promise<R>;
  /** When all that is here now will have had its turn, by how long requests take lately. */
  freeInMs(): number;
  /** Another size, in force from the next request on. */
  change(size: CapacitySize): void;
  look(): { inUse: number; queued: number };
}

export function createCapacity(clock: Clock, given: CapacitySize): Capacity {
  let size = given;
  let inUse = 0;
  /** What is worked on, which has its place a moment before it begins, and the sum of when. */
  const begun = { count: 0, at_ms: 0 };
  /** How long requests take lately; null: none has ended yet. */
  let serviceMs: number | null = null;
  const line = new FairQueue<true>(clock, size.max_queued);

  const find = (): true | null => {
    if (inUse >= size.max_concurrent) return null;
    inUse += 1;
    return true;
  };
  const give = (takenAt: number) => {
    const taken_ms = clock.monotonic() - takenAt;
    inUse -= 1;
    begun.count -= 1;
    begun.at_ms -= takenAt;
    serviceMs = serviceMs === null ? taken_ms : serviceMs + (taken_ms - serviceMs) * NEWEST_PART;
    line.serve();
  };
  /** Where nothing comes to its end any more, the requests before say too little. */
  const guessService_ms = () => {
    const { count, at_ms } = begun;
    const ageMs = count === 0 ? 0 : clock.monotonic() - at_ms / count;
    return Math.max(serviceMs ?? 0, ageMs);
  };
  /** gateway.errors.headers.retry_after: in whole seconds. */
  const freeInMs = () => {
    const turns = (inUse + line.size) / size.max_concurrent;
    return 1000 * Math.max(1, Math.ceil((turns * guessService_ms()) / 1000));
  };
  const refuseFull = () => {
    // gateway.errors.capacity_exceeded
    return apiError("capacity_exceeded", { headers: { "retry-after": `${freeInMs() / 1000}` } });
  };

  return {
    async use(account, signal, work) {
      if (signal.aborted) throw apiError("client_closed_request");
      // Where a place is free nobody waits: who gives one back serves the line at once.
      if (!find()) {
        if (size.max_queued === 0) throw refuseFull();
        const waiting = { account, find, isSkippable: false, timeoutMs: WAIT_MAX_MS, signal };
        const found = await line.wait(waiting);
        if (found === "left") throw apiError("client_closed_request");
        if (found !== true) throw refuseFull();
      }
      const takenAt = clock.monotonic();
      begun.count += 1;
      begun.at_ms += takenAt;
      try {
        return await work();
      } finally {
        give(takenAt);
      }
    },
    freeInMs,
    change(other) {
      size = other;
      line.sizeMax = other.max_queued;
      line.serve();
    },
    look: () => ({ inUse, queued: line.size }),
  };
}
