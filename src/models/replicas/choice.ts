// Which of a model's replicas is asked next: the one with the fewest requests in flight that may.
import type { UpstreamError } from "../providers/contract.ts";
import type { Replica } from "./replica.ts";

export interface Choice<S> {
  /**
   * null: some may be asked, and none of them has a free place. A failure: none may be asked at
   * all, or all have been.
   */
  choose(tried: readonly Replica<S>[]): Replica<S> | UpstreamError | null;
  /** Among equals they take turns: who comes behind this one is next. */
  passOn(chosen: Replica): void;
}

/** `max_in_flight` is the places of each; 0: without limit. */
export function createChoice<S>(replicas: readonly Replica<S>[], max_in_flight: number): Choice<S> {
  const places = max_in_flight === 0 ? Number.POSITIVE_INFINITY : max_in_flight;
  let turn = 0;

  const only = replicas.length === 1 ? replicas[0]! : null;

  /** undefined: none is fit; null: those that are fit are full. */
  const find = (isFit: (replica: Replica<S>) => boolean): Replica<S> | null | undefined => {
    let best: Replica<S> | null | undefined;
    for (let n = 0; n < replicas.length; n++) {
      const replica = replicas[(turn + n) % replicas.length]!;
      if (best && replica.inFlight >= best.inFlight) continue;
      if (!replica.health.isHealthy() || !isFit(replica)) continue;
      if (replica.inFlight < places) best = replica;
      else best ??= null;
    }
    return best;
  };
  return {
    choose(tried) {
      // Most models have one server, and it is well: one look is all that a request costs.
      if (only && tried.length === 0 && only.inFlight < places) {
        if (only.health.isHealthy() && only.breaker.mayAsk()) return only;
      }
      const isNew = (replica: Replica<S>) => tried.length === 0 || !tried.includes(replica);
      const best = find((replica) => replica.breaker.mayAsk() && isNew(replica));
      if (best !== undefined) return best;
      // A caller can make some servers fail at will, as with an image that they cannot fetch: one
      // that answers, if only with failures, is asked for want of others, lest all go short.
      const last = find((replica) => !replica.breaker.findSilence() && isNew(replica));
      return last === undefined ? explainNone(replicas) : last;
    },
    passOn({ index }) {
      turn = (index + 1) % replicas.length;
    },
  };
}

function explainNone(replicas: readonly Replica[]): UpstreamError {
  for (const { health, breaker } of replicas) {
    const silence = health.isHealthy() && breaker.findSilence();
    // The same again, without the wait for it; an attempt would have nothing new to say.
    if (!silence) continue;
    const why = `it is passed over for a while: ${silence.reason}`;
    return { ok: false, code: silence.code, retryable: false, reason: why };
  }
  // gateway.errors.model_offline
  const why = "none of its servers is healthy";
  return { ok: false, code: "model_offline", retryable: false, reason: why };
}
