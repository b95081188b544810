// A service such as embeddings or search: a quota per account, a shared capacity and a backend.
import { accountOf, type Caller, RateLimiter } from "../../access/index.ts";
import type { ReplicasStatus, ServedReplicas } from "../../models/index.ts";
import type { TrustedEgress } from "../../net/index.ts";
import { type Clock, wait } from "../../platform/clock.ts";
import { apiError } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { Metrics } from "../../platform/metrics.ts";
import type { Service } from "../../platform/service.ts";
import { Capacity, type CapacitySize } from "./capacity.ts";

const WINDOW_MS = 60_000;

export interface MeteredBackendOptions {
  egress: TrustedEgress;
  clock: Clock;
  log: Log;
}

export interface MeteredBackend {
  isDown(): boolean;
  /** Absent where no server is asked. */
  status?(): ReplicasStatus;
  start(): void;
  stop(): void;
}

export interface MeteredPlan extends CapacitySize {
  kind: string;
  requests_per_minute: number;
  price?: number | null;
}

export interface MeteredStatus {
  name: string;
  /** `off`: not configured, or switched off by the operator. */
  state: "on" | "down" | "off";
  inUse: number;
  queued: number;
  servers?: ReplicasStatus | undefined;
}

export interface MeteredServiceOptions<P, B> {
  name: string;
  clock: Clock;
  plan: P;
  open(plan: P): B | null;
}

export class MeteredService<P extends MeteredPlan, B extends MeteredBackend> {
  readonly service: Service;
  readonly #options: MeteredServiceOptions<P, B>;
  readonly capacity: Capacity;
  readonly quota: RateLimiter;
  #plan: P;
  #backend: B | null;
  #isStarted = false;

  constructor(options: MeteredServiceOptions<P, B>) {
    const { name, clock, plan, open } = options;
    this.#options = options;
    this.#plan = plan;
    this.#backend = open(plan);
    this.capacity = new Capacity(clock, plan);
    // gateway.errors.rate_limit_exceeded: unlike the limit of every route its window slides.
    this.quota = new RateLimiter(clock, {
      requests_max: plan.requests_per_minute,
      windowMs: WINDOW_MS,
      closingMs: 0,
    });
    this.service = { name, start: () => this.#start(true), stop: () => this.#start(false) };
  }

  get plan(): P {
    return this.#plan;
  }

  /**
   * Does the work within the account's quota and a slot. Throws `service_unavailable` if it is
   * off, `rate_limit_exceeded` or `capacity_exceeded`.
   */
  async use<R>(caller: Caller, signal: AbortSignal, work: (backend: B) => Promise<R>): Promise<R> {
    const backend = this.#requireBackend();
    const account = accountOf(caller);
    const taken = this.quota.take(account);
    if (taken) await taken;
    return this.capacity.use(account, signal, () => work(backend));
  }

  /**
   * Does the same, but waits for quota and slot without a limit. `retryDelay` returns the time
   * until the work is tried again, without a slot meanwhile; null: its result stands.
   */
  async usePatiently<R>(
    caller: Caller,
    signal: AbortSignal,
    work: (backend: B) => Promise<R>,
    retryDelay: (result: R) => number | null,
  ): Promise<R> {
    const account = accountOf(caller);
    const claim = () => {
      this.#requireBackend();
      return this.quota.claim(account);
    };
    for (let waitMs = await claim(); waitMs > 0; waitMs = await claim()) {
      await this.#wait(waitMs, signal);
    }
    for (;;) {
      const backend = this.#requireBackend();
      const done = await this.capacity.tryUse(account, signal, () => work(backend));
      const waitMs = done ? retryDelay(done.result) : this.capacity.freeInMs();
      if (done && waitMs === null) return done.result;
      await this.#wait(waitMs!, signal);
    }
  }

  status(): MeteredStatus {
    const state = this.#backend === null ? "off" : this.#backend.isDown() ? "down" : "on";
    const servers = this.#backend?.status?.();
    return { name: this.#options.name, state, ...this.capacity.status(), servers };
  }

  change(plan: P): void {
    const before = this.#plan;
    this.#plan = plan;
    this.capacity.change(plan);
    this.quota.change(plan.requests_per_minute);
    if (Bun.deepEquals(withoutTerms(before), withoutTerms(plan))) return;
    this.#backend?.stop();
    this.#backend = this.#options.open(plan);
    if (this.#isStarted) this.#backend?.start();
  }

  #start(isStarted: boolean): void {
    this.#isStarted = isStarted;
    if (isStarted) this.#backend?.start();
    else this.#backend?.stop();
  }

  /** gateway.errors.service_unavailable: a request to a service that is off counts nowhere. */
  #requireBackend(): B {
    if (this.#backend) return this.#backend;
    const message = `This service offers no ${this.#options.name}.`;
    throw apiError("service_unavailable", { message });
  }

  async #wait(waitMs: number, signal: AbortSignal): Promise<void> {
    const isOver = await wait(this.#options.clock, waitMs, signal);
    if (!isOver) throw apiError("client_closed_request");
  }
}

/** A backend keeps its state as long as only terms of the service change. */
function withoutTerms<P extends MeteredPlan>(plan: P) {
  return { ...plan, price: 0, max_concurrent: 0, max_queued: 0, requests_per_minute: 0 };
}

export function listServiceReplicas(services: readonly MeteredStatus[]): ServedReplicas[] {
  return services.flatMap(({ name: operation, servers }) =>
    servers ? [{ operation, ...servers }] : [],
  );
}

export function showShared(metrics: Metrics, status: () => readonly MeteredStatus[]): void {
  const show = (name: string, help: string, read: (service: MeteredStatus) => number) =>
    metrics.gauge({ name, help, labels: ["service"] }, (set) => {
      for (const service of status()) {
        if (service.state !== "off") set(read(service), { service: service.name });
      }
    });
  show(
    "wadi_service_up",
    "1: it would answer; 0: by the last check, no replica would.",
    ({ state }) => (state === "on" ? 1 : 0),
  );
  show(
    "wadi_service_requests_in_use",
    "Requests that hold a slot of its shared capacity.",
    ({ inUse }) => inUse,
  );
  show(
    "wadi_service_requests_queued",
    "Requests that wait for one of those slots.",
    ({ queued }) => queued,
  );
}
