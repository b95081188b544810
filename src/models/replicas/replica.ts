// One replica of those that answer the same: its server, and all that decides whether it is asked.
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { type Breaker, createBreaker } from "./breaker.ts";
import { type CheckHealth, createHealth, type ReplicaHealth, UNWATCHED } from "./health.ts";

export interface ReplicaServer<S> {
  /** Host and port, for the operator's log only. */
  name: string;
  /** What asks it. */
  server: S;
  /** null: its health is not looked at. */
  look: CheckHealth | null;
}

export interface Replica<S = unknown> {
  index: number;
  server: S;
  breaker: Breaker;
  health: ReplicaHealth;
  inFlight: number;
}

export interface ReplicaOptions {
  /** What it is, for the log; left out: a model server. */
  who?: string;
  /** The model's id, for the log; left out: it has none. */
  model?: string;
  health_every_ms: number;
  clock: Clock;
  log: Log;
  /** More may be asked now than before, or fewer. */
  onChange(): void;
}

export function createReplica<S>(
  { name, server, look }: ReplicaServer<S>,
  index: number,
  { who = "model server", model, health_every_ms, clock, log, onChange }: ReplicaOptions,
): Replica<S> {
  const fields = { model, upstream: name };
  const breaker = createBreaker({
    clock,
    onTurn(isOpen) {
      if (isOpen) log.warn(`a ${who} fails again and again; others are asked first`, fields);
      else log.info(`a ${who} has recovered from its failures`, fields);
    },
    onOpen(openMs) {
      onChange();
      clock.after(openMs, onChange);
    },
    onHeard: onChange,
  });
  if (!look) {
    return { index, server, breaker, health: UNWATCHED, inFlight: 0 };
  }
  const health = createHealth({
    look,
    everyMs: health_every_ms,
    clock,
    countHeard: breaker.countHeard,
    onAlive: () => breaker.hear(),
    onBug: (error) => log.error("the health of a server could not be judged", { ...fields, error }),
    onTurn(isHealthy) {
      if (isHealthy) log.info(`a ${who} is healthy again`, fields);
      else log.warn(`a ${who} is not healthy and is not asked`, fields);
      onChange();
    },
  });
  return { index, server, breaker, health, inFlight: 0 };
}
