// One of several replicas that answer alike: its server, and whether it gets requests.
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { Breaker } from "./breaker.ts";
import { type CheckHealth, ReplicaHealth } from "./health.ts";
import { SlotClaim, type SlotClaimOptions } from "./slot-claim.ts";

export interface ReplicaServer<S> {
  name: string;
  server: S;
  check: CheckHealth | null;
}

export interface ReplicaOptions extends Omit<SlotClaimOptions, "name"> {
  /** Kind of server, as the log names it. */
  what?: string;
  model?: string;
  health_every_ms: number;
  clock: Clock;
  log: Log;
}

export interface ReplicaPlace {
  index: number;
  /** Name with a number where other replicas of the model have the same. */
  label: string;
}

export class Replica<S = unknown> {
  readonly index: number;
  readonly name: string;
  readonly label: string;
  readonly server: S;
  readonly breaker: Breaker;
  readonly health: ReplicaHealth;
  readonly claim: SlotClaim;

  constructor(
    { name, server, check }: ReplicaServer<S>,
    place: ReplicaPlace,
    options: ReplicaOptions,
  ) {
    const { what = "model server", model, health_every_ms, clock, log, onChange } = options;
    const fields = { what, model, upstream: name };
    this.index = place.index;
    this.label = place.label;
    this.name = name;
    this.server = server;
    this.claim = new SlotClaim({ ...options, name: `replica:${model}:${place.label}` });
    this.breaker = new Breaker({
      clock,
      onTurn(isOpen) {
        if (isOpen) log.warn("replica: repeated failures, others are asked first", fields);
        else log.info("replica: recovered from its failures", fields);
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
        if (isHealthy) log.info("replica: healthy again", fields);
        else log.warn("replica: not healthy, no longer asked", fields);
        onChange();
      },
    });
  }

  get inFlight(): number {
    return this.claim.inFlight;
  }
}
