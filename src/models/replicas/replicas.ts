// Replicas of one model as one: requests wait for a slot, and others take over after failures.
import type { CompletionStats, UpstreamError, UpstreamResult } from "../providers/contract.ts";
import { Replica, type ReplicaOptions, type ReplicaServer } from "./replica.ts";
import {
  type CallServer,
  type ReplicaSlot,
  ReplicaSlots,
  type ReplicaSlotsOptions,
} from "./slots.ts";

export interface ReplicaRequest {
  account: string;
  signal: AbortSignal;
}

/** `first_token_timeout_ms` bounds the whole request: its wait and all attempts. */
export type ReplicasOptions = Omit<ReplicaOptions, "onChange" | "countWaiting"> &
  ReplicaSlotsOptions;

/** Requests and health of a model's replicas. */
export interface ReplicasStatus {
  /** Empty for a search engine. */
  model: string;
  /** Requests that wait for a slot at any of them. */
  waiting: number;
  replicas: readonly ReplicaStatus[];
}

export interface ReplicaStatus {
  /** Host and port, with a number where several replicas have the same. */
  name: string;
  isUp: boolean;
  inFlight: number;
  isBreakerOpen: boolean;
}

/** Maximum failed replies of a request; failed connections do not count. */
const FAILED_REPLIES_MAX = 3;

export class Replicas<S> {
  readonly #options: ReplicasOptions;
  readonly #replicas: readonly Replica<S>[];
  readonly #slots: ReplicaSlots<S>;

  constructor(servers: readonly ReplicaServer<S>[], options: ReplicasOptions) {
    this.#options = options;
    const shared = {
      ...options,
      onChange: () => this.#slots.serve(),
      countWaiting: () => this.#slots.countWaiting(),
    };
    const seen = new Map<string, number>();
    this.#replicas = servers.map((server, index) => {
      const { name } = server;
      const times = (seen.get(name) ?? 0) + 1;
      seen.set(name, times);
      const label = times === 1 ? name : `${name}#${times}`;
      return new Replica(server, { index, label }, shared);
    });
    this.#slots = new ReplicaSlots(this.#replicas, options);
  }

  async call<E extends UpstreamResult>(
    { account, signal }: ReplicaRequest,
    call: CallServer<S, E>,
  ): Promise<(E | UpstreamError) & CompletionStats> {
    const { clock, first_token_timeout_ms, max_in_flight } = this.#options;
    const startedAt = clock.monotonic();
    const leftMs = () => first_token_timeout_ms - (clock.monotonic() - startedAt);
    let hasBegun = false;
    let asked: ReplicaSlot<S> | null = null;
    const onBegin = () => {
      hasBegun = true;
      // The first chunk of a stream shows that its server is alive.
      asked!.replica.breaker.noteLife(asked!.request);
    };
    let result: ((E | UpstreamError) & CompletionStats) | null = null;
    let tried: readonly Replica<S>[] = [];
    let attempts = 0;
    let answers = 0;
    let waitedMs = 0;
    let inFlight = 0;
    let left = first_token_timeout_ms;
    for (;;) {
      let slot = this.#slots.find(tried);
      if (slot === null) {
        const since = clock.monotonic();
        slot = await this.#slots.wait(account, tried, left, signal);
        waitedMs += clock.monotonic() - since;
        left = leftMs();
      }
      if ("ok" in slot) {
        // The last replica's failure says more, unless the caller left.
        if (!result || slot.code === "client_closed_request") result = slot;
        break;
      }
      asked = slot;
      inFlight = slot.replica.inFlight;
      attempts += 1;
      result = await this.#slots.use(slot, call, onBegin, left);
      if (result.ok || hasBegun || !result.retryable || signal.aborted) break;
      if (!result.noResponse) answers += 1;
      left = leftMs();
      if (answers >= FAILED_REPLIES_MAX || left <= 0) break;
      tried = [...tried, slot.replica];
    }
    result.attempts = attempts;
    if (asked) {
      result.replica = asked.replica.name;
      result.inFlight = inFlight;
      if (max_in_flight > 0) result.inFlightMax = max_in_flight;
    }
    if (waitedMs > 0) result.waitedMs = Math.round(waitedMs);
    return result;
  }

  isDown(): boolean {
    return this.#replicas.every(({ health }) => !health.isHealthy);
  }

  status(): ReplicasStatus {
    const replicas = this.#replicas.map(({ label, health, inFlight, breaker }) => ({
      name: label,
      isUp: health.isHealthy,
      inFlight,
      isBreakerOpen: breaker.isOpen,
    }));
    return { model: this.#options.model ?? "", waiting: this.#slots.waiting, replicas };
  }

  /** Forgets failures, since their servers have just been started. */
  forgive(): void {
    for (const { breaker, health } of this.#replicas) {
      breaker.close();
      health.forgive();
    }
    this.#slots.serve();
  }

  start(): void {
    this.#slots.isStopped = false;
    for (const { claim, health } of this.#replicas) {
      claim.start();
      health.start();
    }
  }

  stop(): void {
    this.#slots.isStopped = true;
    for (const { claim, health } of this.#replicas) {
      claim.isStopped = true;
      health.stop();
    }
  }
}
