// Several replicas of one model: who is asked, who waits for a place, and who takes over.
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { CompletionStats, UpstreamError, UpstreamResult } from "../providers/contract.ts";
import { createReplica, type Replica, type ReplicaServer } from "./replica.ts";
import { type CallServer, createReplicaSlots, type ReplicaSlot } from "./slots.ts";

/** Who asks for something: the account in whose turn a place is taken. */
export interface ReplicaRequest {
  account: string;
  signal: AbortSignal;
}

export interface Replicas<S> {
  /** Asks one of them, and another where that one fails in a way that another may not. */
  ask<E extends UpstreamResult>(
    wish: ReplicaRequest,
    run: CallServer<S, E>,
  ): Promise<(E | UpstreamError) & CompletionStats>;
  /** True: none of them would answer. */
  isDown(): boolean;
  /** Forgets what was held against them: their unit has just been started. */
  forgive(): void;
  start(): void;
  stop(): void;
}

export interface ReplicasOptions {
  /** What they are, for the log; left out: model servers. */
  who?: string;
  /** The model's id, for the log; left out: they have none. */
  model?: string;
  /** The places of each replica; 0: without limit. */
  max_in_flight: number;
  /** 0: never. */
  health_every_ms: number;
  /** The whole request has so long: waiting for a place, and every replica that is asked. */
  first_token_timeout_ms: number;
  clock: Clock;
  log: Log;
}

/** What so many servers answer with a failure is not carried on to the others. */
const ANSWERS_MAX = 3;

/** Joins replicas into one. */
export function createReplicas<S>(
  servers: readonly ReplicaServer<S>[],
  options: ReplicasOptions,
): Replicas<S> {
  const { clock, first_token_timeout_ms } = options;
  let isStopped = false;
  const replicas = servers.map((server, index) =>
    createReplica(server, index, { ...options, onChange: () => places.serve() }),
  );
  const places = createReplicaSlots(replicas, { ...options, isStopped: () => isStopped });

  const ask = async <E extends UpstreamResult>(
    { account, signal }: ReplicaRequest,
    run: CallServer<S, E>,
  ) => {
    const began = clock.monotonic();
    let isHeard = false;
    let asked: ReplicaSlot<S> | null = null;
    const hear = () => {
      isHeard = true;
      // A long stream shows all the while that its server is there.
      asked!.replica.breaker.hear(asked!.trial);
    };
    let ending: ((E | UpstreamError) & CompletionStats) | null = null;
    let tried: readonly Replica<S>[] = [];
    let attempts = 0;
    let answers = 0;
    let waited_ms = 0;
    let left_ms = first_token_timeout_ms;
    for (;;) {
      let place = places.find(tried);
      if (place === null) {
        const since = clock.monotonic();
        place = await places.wait(account, tried, left_ms, signal);
        waited_ms += clock.monotonic() - since;
        left_ms = first_token_timeout_ms - (clock.monotonic() - began);
      }
      if ("ok" in place) {
        // Whoever left while waiting left; else what the last replica said is told.
        if (!ending || place.code === "client_closed_request") ending = place;
        break;
      }
      asked = place;
      attempts += 1;
      ending = await places.use(place, run, hear, left_ms);
      if (ending.ok || isHeard || !ending.retryable || signal.aborted) break;
      if (!ending.noResponse) answers += 1;
      left_ms = first_token_timeout_ms - (clock.monotonic() - began);
      if (answers >= ANSWERS_MAX || left_ms <= 0) break;
      tried = [...tried, place.replica];
      if (tried.length === replicas.length) break;
    }
    ending.attempts = attempts;
    if (waited_ms > 0) ending.waitedMs = (ending.waitedMs ?? 0) + Math.round(waited_ms);
    return ending;
  };
  return {
    ask,
    isDown: () => replicas.every(({ health }) => !health.isHealthy()),
    forgive() {
      for (const { breaker, health } of replicas) {
        breaker.close();
        health.forgive();
      }
      places.serve();
    },
    start() {
      isStopped = false;
      for (const { health } of replicas) health.start();
    },
    stop() {
      isStopped = true;
      for (const { health } of replicas) health.stop();
    },
  };
}
