// The health of one replica, looked at again and again: whoever does not answer is not asked.

import { OWN_ACCOUNT, type TrustedServer } from "../../net/index.ts";
import { abortAfter, type Cancel, type Clock } from "../../platform/clock.ts";
import type { ModelSettings } from "../../settings/index.ts";
import { fetchText } from "../providers/body.ts";

/** So long a look may take. */
const TIMEOUT_MS = 5_000;
/** So soon it looks again where the last look was not good. */
const DOUBT_MS = 2_000;
/** So many looks in a row without an answer, or with a bad one, and it is not asked any more. */
const MISSES_MAX = 2;
/** Only the status is read. */
const BYTES_MAX = 65_536;

/** `unwell`: it says so · `silent`: it says nothing in time · `refused`: nothing listens. */
export type HealthStatus = "alive" | "unwell" | "silent" | "refused";
export type CheckHealth = (signal: AbortSignal) => Promise<HealthStatus>;

export interface ReplicaHealth {
  isHealthy(): boolean;
  /** A request has met silence: it looks again at once, if it has not just looked. */
  doubt(): void;
  /** Believes it healthy until the next look. */
  forgive(): void;
  start(): void;
  /** Unwatched it is believed healthy: whoever still waits for it would never hear otherwise. */
  stop(): void;
}

export interface ReplicaHealthOptions {
  look: CheckHealth;
  everyMs: number;
  clock: Clock;
  /** How much has been heard of the replica so far, by its requests. */
  countHeard(): number;
  /** It was seen to be there. */
  onAlive(): void;
  onTurn(isHealthy: boolean): void;
  /**
   * What a look threw, or whoever was told of it: it says nothing of the replica, and the next
   * one is not given up.
   */
  onBug(error: unknown): void;
}

/** One that is never looked at: it is always believed healthy. */
export const UNWATCHED: ReplicaHealth = {
  isHealthy: () => true,
  doubt() {},
  forgive() {},
  start() {},
  stop() {},
};

export function createHealth(options: ReplicaHealthOptions): ReplicaHealth {
  const { look, everyMs, clock, countHeard, onAlive, onTurn, onBug } = options;
  let isHealthy = true;
  let misses = 0;
  let lookedAt = 0;
  /** null: it does not watch. */
  let watching: AbortController | null = null;
  /** null: it is looking right now, or does not watch. */
  let cancelNext: Cancel | null = null;

  const judge = (seen: HealthStatus, wasHeard: boolean) => {
    if (seen === "alive") {
      misses = 0;
      onAlive();
    } else if (seen === "silent" && wasHeard) {
      // It answers requests meanwhile: it is busy, not gone.
      misses = 0;
    } else misses += seen === "refused" ? MISSES_MAX : 1;
    const is = misses === 0 || (isHealthy && misses < MISSES_MAX);
    if (is === isHealthy) return;
    isHealthy = is;
    onTurn(is);
  };
  const lookOnce = async (stopped: AbortSignal) => {
    const heard = countHeard();
    const limit = abortAfter(clock, TIMEOUT_MS, stopped);
    try {
      const seen = await look(limit.signal);
      if (!stopped.aborted) judge(seen, countHeard() > heard);
    } catch (error) {
      onBug(error);
    } finally {
      limit.cancel();
    }
  };
  const watch = async (stopped: AbortSignal) => {
    cancelNext = null;
    lookedAt = clock.monotonic();
    await lookOnce(stopped);
    if (stopped.aborted) return;
    const next_ms = misses === 0 ? everyMs : Math.min(DOUBT_MS, everyMs);
    cancelNext = clock.after(next_ms, () => void watch(stopped));
  };

  return {
    isHealthy: () => isHealthy,
    doubt() {
      if (!watching || !cancelNext || clock.monotonic() - lookedAt < DOUBT_MS) return;
      cancelNext();
      void watch(watching.signal);
    },
    forgive() {
      misses = 0;
      if (isHealthy) return;
      isHealthy = true;
      onTurn(true);
    },
    start() {
      if (watching) return;
      watching = new AbortController();
      void watch(watching.signal);
    },
    stop() {
      cancelNext?.();
      cancelNext = null;
      watching?.abort();
      watching = null;
      misses = 0;
      isHealthy = true;
    },
  };
}

/** A provider's servers are not asked how they are unless the operator says where. */
export function isWatched({
  self_hosted,
  upstream,
}: Pick<ModelSettings, "self_hosted" | "upstream">) {
  if (upstream.kind === "stub" || upstream.health_every_ms === 0) return false;
  return self_hosted || upstream.health !== "";
}

/** The route that is asked, behind the server's address without `/v1`. */
export function nameHealth({ health }: { health: string }): string {
  return health || "/health";
}

/** Asks a server how it is; one without such a route says so, and is alive. */
export function createHealthCheck(server: TrustedServer): CheckHealth {
  return async (signal) => {
    const reply = await fetchText(server, { account: OWN_ACCOUNT, bytesMax: BYTES_MAX, signal });
    if (reply.status !== null) return reply.status < 500 ? "alive" : "unwell";
    return reply.failure === "refused" ? "refused" : "silent";
  };
}
