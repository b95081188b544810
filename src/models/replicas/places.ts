// The places of a model's replicas: how one is found or waited for, used, and given back.
import type { Clock } from "../../platform/clock.ts";
import { createWaitingLine, type Unserved } from "../../platform/waiting-line.ts";
import type { Failure, Outcome } from "../upstream/contract.ts";
import { explainCut } from "../upstream/openai-failure.ts";
import type { Trial } from "./breaker.ts";
import { createChoice } from "./choice.ts";
import type { Replica } from "./replica.ts";

/** A place at a replica, from the moment on at which it is given. */
export interface Place<S> {
  replica: Replica<S>;
  trial: Trial;
}

/**
 * Asks one server, which has `left_ms` to begin. `heard` is called as soon as something of its
 * answer has gone further: from then on nobody else can take over.
 */
export type Run<S, E extends Outcome> = (
  server: S,
  heard: () => void,
  left_ms: number,
) => Promise<E | Failure>;

export interface Places<S> {
  /** null: there is none, and one has to be waited for. */
  find(tried: readonly Replica<S>[]): Place<S> | Failure | null;
  wait(
    account: string,
    tried: readonly Replica<S>[],
    timeout_ms: number,
    signal: AbortSignal,
  ): Promise<Place<S> | Failure>;
  /** Asks the replica, and gives the place back whatever comes of it. */
  use<E extends Outcome>(
    place: Place<S>,
    run: Run<S, E>,
    heard: () => void,
    left_ms: number,
  ): Promise<E | Failure>;
  /** More may be asked now than before, or fewer. */
  serve(): void;
}

/** Who got less than this part of the whole time for its first token is not blamed for it. */
const FAIR_PART = 1 / 2;
/** More would only wait for their time-out; each keeps its request in memory. */
const WAITING_MAX = 1_000;

export interface PlacesOptions {
  /** The places of each; 0: without limit. */
  max_in_flight: number;
  first_token_timeout_ms: number;
  clock: Clock;
  /** True: they are no longer used, and what fails by that says nothing of them. */
  isStopped(): boolean;
}

export function createPlaces<S>(
  replicas: readonly Replica<S>[],
  { max_in_flight, first_token_timeout_ms, clock, isStopped }: PlacesOptions,
): Places<S> {
  const fair_ms = first_token_timeout_ms * FAIR_PART;
  const { choose, passOn } = createChoice(replicas, max_in_flight);
  const line = createWaitingLine<Place<S> | Failure>(clock, WAITING_MAX);

  const find: Places<S>["find"] = (tried) => {
    const chosen = choose(tried);
    if (chosen === null || "ok" in chosen) return chosen;
    chosen.in_flight += 1;
    // A second attempt is nobody's turn.
    if (tried.length === 0) passOn(chosen);
    return { replica: chosen, trial: chosen.breaker.begin() };
  };
  return {
    find,
    async wait(account, tried, timeout_ms, signal) {
      const isPicky = tried.length > 0;
      const found = await line.wait({
        account,
        find: () => find(tried),
        isPicky,
        timeout_ms,
        signal,
      });
      return typeof found === "string" ? UNSERVED[found]() : found;
    },
    async use({ replica, trial }, run, heard, left_ms) {
      let ending: Outcome | null = null;
      try {
        const whole = await run(replica.server, heard, left_ms);
        ending = whole;
        return whole;
      } finally {
        replica.in_flight -= 1;
        // What our own line has used up of the caller's time says nothing of the replica.
        const isRushed = left_ms < fair_ms && ending !== null && isLate(ending);
        replica.breaker.end(trial, isRushed || isStopped() ? null : ending);
        line.serve();
        if (ending && !ending.ok && ending.silent) replica.health.doubt();
      }
    },
    serve: line.serve,
  };
}

/** We gave it up: the time of the request was over. */
function isLate(ending: Outcome): boolean {
  return !ending.ok && ending.code === "upstream_timeout" && !ending.elsewhere;
}

const UNSERVED: Record<Unserved, () => Failure> = {
  left: () => explainCut("left"),
  // gateway.errors.upstream_rate_limited
  full: () => explain("upstream_rate_limited", "too many requests wait for its model servers"),
  // gateway.errors.upstream_timeout
  late: () => explain("upstream_timeout", "no model server had a free place in time"),
};

function explain(code: Failure["code"], why: string): Failure {
  return { ok: false, code, elsewhere: false, why };
}
