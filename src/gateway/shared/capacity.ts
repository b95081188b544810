// The capacity that all accounts share: so many requests at once, a short line, and for the others
// an honest word on when to come back.
import type { Clock } from "../../platform/clock.ts";
import { refuse } from "../../platform/refusal.ts";
import { createWaitingLine } from "../../platform/waiting-line.ts";

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
  free_in_ms(): number;
  /** Another size, in force from the next request on. */
  change(size: CapacitySize): void;
  look(): { in_use: number; queued: number };
}

export function createCapacity(clock: Clock, given: CapacitySize): Capacity {
  let size = given;
  let in_use = 0;
  /** What is worked on, which has its place a moment before it begins, and the sum of when. */
  const begun = { count: 0, at_ms: 0 };
  /** How long requests take lately; null: none has ended yet. */
  let service_ms: number | null = null;
  const line = createWaitingLine<true>(clock, size.max_queued);

  const find = (): true | null => {
    if (in_use >= size.max_concurrent) return null;
    in_use += 1;
    return true;
  };
  const give = (taken_at: number) => {
    const taken_ms = clock.monotonic() - taken_at;
    in_use -= 1;
    begun.count -= 1;
    begun.at_ms -= taken_at;
    service_ms =
      service_ms === null ? taken_ms : service_ms + (taken_ms - service_ms) * NEWEST_PART;
    line.serve();
  };
  /** Where nothing comes to its end any more, the requests before say too little. */
  const guessService_ms = () => {
    const { count, at_ms } = begun;
    const age_ms = count === 0 ? 0 : clock.monotonic() - at_ms / count;
    return Math.max(service_ms ?? 0, age_ms);
  };
  /** gateway.errors.headers.retry_after: in whole seconds. */
  const free_in_ms = () => {
    const turns = (in_use + line.count()) / size.max_concurrent;
    return 1000 * Math.max(1, Math.ceil((turns * guessService_ms()) / 1000));
  };
  const refuseFull = () => {
    // gateway.errors.capacity_exceeded
    return refuse("capacity_exceeded", { headers: { "retry-after": `${free_in_ms() / 1000}` } });
  };

  return {
    async use(account, signal, work) {
      if (signal.aborted) throw refuse("client_closed_request");
      // Where a place is free nobody waits: who gives one back serves the line at once.
      if (!find()) {
        if (size.max_queued === 0) throw refuseFull();
        const waiting = { account, find, isPicky: false, timeout_ms: WAIT_MAX_MS, signal };
        const found = await line.wait(waiting);
        if (found === "left") throw refuse("client_closed_request");
        if (found !== true) throw refuseFull();
      }
      const taken_at = clock.monotonic();
      begun.count += 1;
      begun.at_ms += taken_at;
      try {
        return await work();
      } finally {
        give(taken_at);
      }
    },
    free_in_ms,
    change(other) {
      size = other;
      line.change(other.max_queued);
      line.serve();
    },
    look: () => ({ in_use, queued: line.count() }),
  };
}
