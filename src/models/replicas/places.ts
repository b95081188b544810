// The places of a model's replicas: how one is found or waited for, used, and given back.
import type { Clock } from "../../platform/clock.ts";
import type { Ask, Attempt, Ending, Failure } from "../upstream/contract.ts";
import type { Trial } from "./breaker.ts";
import { createChoice } from "./choice.ts";
import { createLine } from "./line.ts";
import type { Replica } from "./replica.ts";

/** A place at a replica, from the moment on at which it is given. */
export interface Place {
  replica: Replica;
  trial: Trial;
}

export interface Places {
  /** null: there is none, and one has to be waited for. */
  find(tried: readonly Replica[]): Place | Failure | null;
  wait(
    ask: Ask,
    tried: readonly Replica[],
    timeout_ms: number,
    signal: AbortSignal,
  ): Promise<Place | Failure>;
  /** Asks the replica, and gives the place back whatever comes of it. */
  use(place: Place, ...asked: Parameters<Attempt>): Promise<Ending>;
  /** More may be asked now than before, or fewer. */
  serve(): void;
}

/** Who got less than this part of the whole time for its first token is not blamed for it. */
const FAIR_PART = 1 / 2;

export interface PlacesOptions {
  /** The places of each; 0: without limit. */
  max_in_flight: number;
  first_token_timeout_ms: number;
  clock: Clock;
}

export function createPlaces(
  replicas: readonly Replica[],
  { max_in_flight, first_token_timeout_ms, clock }: PlacesOptions,
): Places {
  const fair_ms = first_token_timeout_ms * FAIR_PART;
  const { choose, passOn } = createChoice(replicas, max_in_flight);
  const line = createLine<Place | Failure>(clock);

  const find: Places["find"] = (tried) => {
    const chosen = choose(tried);
    if (chosen === null || "ok" in chosen) return chosen;
    chosen.in_flight += 1;
    // A second attempt is nobody's turn.
    if (tried.length === 0) passOn(chosen);
    return { replica: chosen, trial: chosen.breaker.begin() };
  };
  return {
    find,
    wait: ({ account }, tried, timeout_ms, signal) =>
      line.wait({
        account,
        find: () => find(tried),
        isPicky: tried.length > 0,
        timeout_ms,
        signal,
      }),
    async use({ replica, trial }, ...asked) {
      let ending: Ending | null = null;
      try {
        ending = await replica.answer(...asked);
      } finally {
        replica.in_flight -= 1;
        const [, , , first_token_ms = first_token_timeout_ms] = asked;
        // What our own line has used up of the caller's time says nothing of the replica.
        const isRushed = first_token_ms < fair_ms && ending !== null && isLate(ending);
        replica.breaker.end(trial, isRushed ? null : ending);
        line.serve();
      }
      if (!ending.ok && ending.silent) replica.health.doubt();
      return ending;
    },
    serve: line.serve,
  };
}

/** We gave it up: the time of the request was over. */
function isLate(ending: Ending): boolean {
  return !ending.ok && ending.code === "upstream_timeout" && !ending.elsewhere;
}
