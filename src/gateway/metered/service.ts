// What embeddings and search have in common: a quota for each account, a capacity that all share,
// and something behind it that other settings may exchange.
import { accountOf, type Caller, RateLimiter } from "../../access/index.ts";
import type { TrustedEgress } from "../../net/index.ts";
import { type Clock, wait } from "../../platform/clock.ts";
import { ApiError, apiError } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { Service } from "../../platform/service.ts";
import { type Capacity, type CapacitySize, createCapacity } from "./capacity.ts";

/** What a supply is opened with, beside its settings. */
export interface MeteredBackendOptions {
  egress: TrustedEgress;
  clock: Clock;
  log: Log;
}

/** What answers. */
export interface MeteredBackend {
  /** True: it is known that nobody would answer now. */
  isDown(): boolean;
  start(): void;
  /** Requests under way go on. */
  stop(): void;
}

export interface MeteredPlan extends CapacitySize {
  kind: string;
  requests_per_minute: number;
  /** Left out: it has none. */
  price?: number | null;
}

/** How it stands. */
export interface MeteredStatus {
  name: string;
  /** `off`: the operator has not set it up, or has switched it off. */
  state: "on" | "down" | "off";
  /** Requests that are being worked on, and those that wait for their turn. */
  inUse: number;
  queued: number;
}

export interface MeteredService<P extends MeteredPlan, S extends MeteredBackend> {
  /**
   * Does a valid request's work: takes it from the account's quota, waits for a place, and asks
   * what is behind it. Refuses with `service_unavailable` where it is off, `rate_limit_exceeded`
   * or `capacity_exceeded`.
   */
  use<R>(caller: Caller, signal: AbortSignal, work: (supply: S) => Promise<R>): Promise<R>;
  /**
   * The same for who has time: waits for its account's quota and for a place, as long as it takes,
   * and is counted once. Refuses with `service_unavailable`, or `client_closed_request` where the
   * signal ended the waiting. `again`: how long to wait, without a place, until the work is to be
   * done once more; null: its outcome stands.
   */
  usePatiently<R>(
    caller: Caller,
    signal: AbortSignal,
    work: (supply: S) => Promise<R>,
    again: (outcome: R) => number | null,
  ): Promise<R>;
  /** The settings in force. */
  plan(): P;
  look(): MeteredStatus;
  /** Other settings, in force from the next request on. */
  change(plan: P): void;
  service: Service;
}

export interface MeteredServiceOptions<P, S> {
  /** For people and figures. */
  name: string;
  clock: Clock;
  plan: P;
  /** Opens what a plan says; it is started by itself. null: off. */
  open(plan: P): S | null;
}

const WINDOW_MS = 60_000;

export function createMeteredService<P extends MeteredPlan, S extends MeteredBackend>({
  name,
  clock,
  open,
  ...options
}: MeteredServiceOptions<P, S>): MeteredService<P, S> {
  let { plan } = options;
  let supply = open(plan);
  let isStarted = false;
  const capacity = createCapacity(clock, plan);
  // Unlike the limit of every route it slides on: gateway.errors.rate_limit_exceeded
  const quota = new RateLimiter(clock, {
    requests_max: plan.requests_per_minute,
    window_ms: WINDOW_MS,
    closingMs: 0,
  });
  /** gateway.errors.service_unavailable: nothing is counted of what nobody would answer. */
  const find = (): S => {
    if (supply) return supply;
    throw apiError("service_unavailable", { message: `This service offers no ${name}.` });
  };
  return {
    async use(caller, signal, work) {
      const found = find();
      const account = accountOf(caller);
      quota.take(account);
      return capacity.use(account, signal, () => work(found));
    },
    async usePatiently(caller, signal, work, again) {
      const account = accountOf(caller);
      const claim = () => {
        find();
        return quota.claim(account);
      };
      for (let wait_ms = claim(); wait_ms > 0; wait_ms = claim()) {
        await waitHere(clock, wait_ms, signal);
      }
      for (;;) {
        const found = find();
        const tried = await tryPlace(capacity, account, signal, () => work(found));
        const wait_ms = tried === null ? capacity.freeInMs() : again(tried.outcome);
        if (tried !== null && wait_ms === null) return tried.outcome;
        await waitHere(clock, wait_ms!, signal);
      }
    },
    plan: () => plan,
    look() {
      const state = supply === null ? "off" : supply.isDown() ? "down" : "on";
      return { name, state, ...capacity.look() };
    },
    change(other) {
      const before = plan;
      plan = other;
      capacity.change(other);
      quota.change(other.requests_per_minute);
      if (Bun.deepEquals(withoutTerms(before), withoutTerms(other))) return;
      supply?.stop();
      supply = open(other);
      if (isStarted) supply?.start();
    },
    service: {
      name,
      start() {
        isStarted = true;
        supply?.start();
      },
      stop() {
        isStarted = false;
        supply?.stop();
      },
    },
  };
}

async function waitHere(clock: Clock, wait_ms: number, signal: AbortSignal): Promise<void> {
  if (!(await wait(clock, wait_ms, signal))) throw apiError("client_closed_request");
}

/** null: there was no place; what the work itself refuses goes on. */
async function tryPlace<R>(
  capacity: Capacity,
  account: string,
  signal: AbortSignal,
  work: () => Promise<R>,
): Promise<{ outcome: R } | null> {
  let isBegun = false;
  try {
    const outcome = await capacity.use(account, signal, () => {
      isBegun = true;
      return work();
    });
    return { outcome };
  } catch (failure) {
    const isFull = failure instanceof ApiError && failure.code === "capacity_exceeded";
    if (isFull && !isBegun) return null;
    throw failure;
  }
}

/** What stands behind it keeps what it knows for as long as nothing of it changes. */
function withoutTerms<P extends MeteredPlan>(plan: P) {
  const terms = { price: 0, max_concurrent: 0, max_queued: 0, requests_per_minute: 0 };
  return { ...plan, ...terms };
}
