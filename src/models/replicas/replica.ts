// One of several replicas that answer alike: its server, and whether it gets requests.
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { Breaker } from "./breaker.ts";
import { type CheckHealth, ReplicaHealth } from "./health.ts";

export interface ReplicaServer<S> {
  name: string;
  server: S;
  check: CheckHealth | null;
}

export interface ReplicaOptions {
  who?: string;
  model?: string;
  health_every_ms: number;
  clock: Clock;
  log: Log;
  onChange(): void;
}

export class Replica<S = unknown> {
  readonly index: number;
  readonly server: S;
  readonly breaker: Breaker;
  readonly health: ReplicaHealth;
  inFlight = 0;

  constructor({ name, server, check }: ReplicaServer<S>, index: number, options: ReplicaOptions) {
    const { who = "model server", model, health_every_ms, clock, log, onChange } = options;
    const fields = { model, upstream: name };
    this.index = index;
    this.server = server;
    this.breaker = new Breaker({
      clock,
      onTurn(isOpen) {
        if (isOpen) log.warn(`a ${who} fails again and again; others are asked first`, fields);
        else log.info(`a ${who} has recovered from its failures`, fields);
      },
      onChange,
    });
    this.health = new ReplicaHealth({
      check,
      everyMs: health_every_ms,
      clock,
      countLife: () => this.breaker.signsOfLife,
      onAlive: () => this.breaker.noteLife(),
      onBug: (error) => log.error("replica: health check failed", { ...fields, error }),
      onTurn(isHealthy) {
        if (isHealthy) log.info(`a ${who} is healthy again`, fields);
        else log.warn(`a ${who} is not healthy and is not asked`, fields);
        onChange();
      },
    });
  }
}
