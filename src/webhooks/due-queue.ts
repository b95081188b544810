// Queues of endpoints with due deliveries as far as this process knows, and plans of their claims.
import type { Clock } from "../platform/clock.ts";
import { type Slot, type SlotHolder, SlotPool } from "./concurrency.ts";
import { FIRST_ATTEMPTS, type QueueNumber, RETRIES } from "./delivery.ts";
import { EndpointHealth, HEALTHS, type HealthLevel } from "./endpoint-health.ts";
import type { ClaimedDelivery, QueueKey, WaitingEndpoint } from "./store/claim.ts";

/** Due time of a queue in which nothing is known to wait. */
export const NEVER = Number.POSITIVE_INFINITY;
/** Due time of a queue that must be read at once. */
export const OVERDUE = Number.NEGATIVE_INFINITY;
/** Interval between checks of queues that are due later. */
const CHECK_EVERY_MS = 100;
/** Endpoints kept in memory before those without deliveries are dropped. */
const ENDPOINTS_KEPT = 10_000;

export interface ReadyDelivery {
  delivery: ClaimedDelivery;
  slot: Slot;
}

export interface KnownEndpoint extends SlotHolder {
  readonly id: string;
  readonly health: EndpointHealth;
  isPaused: boolean;
  readonly ready: ReadyDelivery[];
  readonly queues: readonly [EndpointQueue, EndpointQueue];
}

export interface EndpointQueue {
  readonly endpoint: KnownEndpoint;
  readonly number: QueueNumber;
  /** Wall time, or `NEVER`. */
  dueAt: number;
  /** Due time of announcements during a claim, which may have missed them; or `NEVER`. */
  announcedAt: number;
  isClaiming: boolean;
}

export class DueQueue {
  readonly #clock: Clock;
  readonly #isOwn: (webhookId: string) => boolean;
  readonly #endpoints = new Map<string, KnownEndpoint>();
  readonly #unknown = new Set<string>();
  readonly #due: Record<HealthLevel, Set<EndpointQueue>> = {
    healthy: new Set(),
    new: new Set(),
    failing: new Set(),
  };
  readonly #later = new Set<EndpointQueue>();
  #dropIdleAt = ENDPOINTS_KEPT;
  #nextDueAt = NEVER;
  #nextCheckAt = 0;

  /** `isOwn` tests if this process sends to an endpoint. */
  constructor(clock: Clock, isOwn: (webhookId: string) => boolean) {
    this.#clock = clock;
    this.#isOwn = isOwn;
  }

  get nextDueAt(): number {
    return this.#nextDueAt;
  }

  /** Queues in which something is due and not being claimed, in the order of their turns. */
  due(health: HealthLevel): Iterable<EndpointQueue> {
    this.#checkLater();
    return this.#due[health];
  }

  announce(webhookId: string): void {
    this.expect({ webhookId, queue: FIRST_ATTEMPTS }, OVERDUE);
  }

  /** Notes that something is due at `at` which no queue may know of. */
  expect({ webhookId, queue }: QueueKey, at: number): void {
    if (!this.#isOwn(webhookId)) return;
    const endpoint = this.#endpoints.get(webhookId);
    if (endpoint) this.#expect(endpoint.queues[queue], at);
    else this.#unknown.add(webhookId);
  }

  recheck(webhookId: string): void {
    this.expect({ webhookId, queue: FIRST_ATTEMPTS }, OVERDUE);
    this.expect({ webhookId, queue: RETRIES }, OVERDUE);
  }

  pause(endpoint: KnownEndpoint): void {
    endpoint.isPaused = true;
    this.place(endpoint);
  }

  resume(webhookId: string): void {
    const endpoint = this.#endpoints.get(webhookId);
    if (endpoint) endpoint.isPaused = false;
    this.recheck(webhookId);
    if (endpoint) this.place(endpoint);
  }

  /** Takes an announced endpoint that must be read first. */
  takeUnknown(): string | undefined {
    const [id] = this.#unknown;
    if (id !== undefined) this.#unknown.delete(id);
    return id;
  }

  /** Returns false for an endpoint of another process. */
  load({ id, account_id, first_due_at, retry_due_at, ...record }: WaitingEndpoint): boolean {
    if (!this.#isOwn(id)) return false;
    const endpoint = this.#endpoints.get(id) ?? this.#add(id, account_id);
    endpoint.isPaused = false;
    endpoint.health.load(record);
    if (first_due_at !== null) this.#expect(endpoint.queues[FIRST_ATTEMPTS], first_due_at);
    if (retry_due_at !== null) this.#expect(endpoint.queues[RETRIES], retry_due_at);
    this.place(endpoint);
    return true;
  }

  beginClaim(queue: EndpointQueue): void {
    queue.isClaiming = true;
    queue.announcedAt = NEVER;
    this.#place(queue);
  }

  /** Ends a claim; `nextDueAt` is what the database says of the queue, if it was read. */
  endClaim(queue: EndpointQueue, nextDueAt?: number): void {
    queue.isClaiming = false;
    if (!this.#isOwn(queue.endpoint.id)) queue.dueAt = NEVER;
    else if (nextDueAt !== undefined) queue.dueAt = Math.min(nextDueAt, queue.announcedAt);
    this.place(queue.endpoint);
  }

  /** Forgets what is due at endpoints that are another process's now. */
  disown(): void {
    for (const endpoint of this.#endpoints.values()) {
      if (this.#isOwn(endpoint.id)) continue;
      for (const queue of endpoint.queues) queue.dueAt = queue.announcedAt = NEVER;
      this.place(endpoint);
    }
  }

  place(endpoint: KnownEndpoint): void {
    for (const queue of endpoint.queues) this.#place(queue);
  }

  #place(queue: EndpointQueue): void {
    const target = this.#findSet(queue);
    // A queue that need not move keeps its turn.
    if (target?.has(queue)) return;
    for (const set of [...Object.values(this.#due), this.#later]) set.delete(queue);
    target?.add(queue);
  }

  #findSet(queue: EndpointQueue): Set<EndpointQueue> | undefined {
    if (queue.isClaiming || queue.endpoint.isPaused) return undefined;
    if (queue.dueAt === NEVER) return undefined;
    if (queue.dueAt <= this.#clock.now()) return this.#due[healthOf(queue)];
    this.#nextDueAt = Math.min(this.#nextDueAt, queue.dueAt);
    return this.#later;
  }

  #expect(queue: EndpointQueue, at: number): void {
    if (queue.isClaiming) queue.announcedAt = Math.min(queue.announcedAt, at);
    if (at >= queue.dueAt) return;
    queue.dueAt = at;
    this.#place(queue);
  }

  #checkLater(): void {
    const { now, monotonic } = this.#clock;
    if (this.#nextDueAt > now() || monotonic() < this.#nextCheckAt) return;
    this.#nextCheckAt = monotonic() + CHECK_EVERY_MS;
    this.#nextDueAt = NEVER;
    for (const queue of [...this.#later]) this.#place(queue);
  }

  #add(id: string, accountId: string): KnownEndpoint {
    if (this.#endpoints.size >= this.#dropIdleAt) this.#dropIdle();
    const createQueue = (number: QueueNumber): EndpointQueue => ({
      number,
      dueAt: NEVER,
      announcedAt: NEVER,
      isClaiming: false,
      get endpoint() {
        return endpoint;
      },
    });
    const endpoint: KnownEndpoint = {
      id,
      accountId,
      health: new EndpointHealth(this.#clock),
      isPaused: false,
      heldSlots: 0,
      ready: [],
      queues: [createQueue(FIRST_ATTEMPTS), createQueue(RETRIES)],
    };
    this.#endpoints.set(id, endpoint);
    return endpoint;
  }

  #dropIdle(): void {
    for (const [id, { heldSlots, isPaused, queues }] of this.#endpoints) {
      const isIdle = queues.every(({ dueAt }) => dueAt === NEVER);
      if (isIdle && heldSlots === 0 && !isPaused) this.#endpoints.delete(id);
    }
    this.#dropIdleAt = Math.max(ENDPOINTS_KEPT, 2 * this.#endpoints.size);
  }
}

/** Retries never take slots of healthy endpoints. */
function healthOf({ endpoint, number }: EndpointQueue): HealthLevel {
  return number === RETRIES ? "failing" : endpoint.health.get();
}

const QUEUES_A_CLAIM = 64;
/** Maximum concurrent deliveries to healthy endpoints. */
const HEALTHY_SLOTS = 64;
/** Maximum concurrent deliveries to new, slow and failing endpoints. */
const UNPROVEN_SLOTS = 32;

export interface PlannedClaim {
  queue: EndpointQueue;
  /** One for each delivery that may be claimed. */
  slots: readonly Slot[];
}

/** Plans a claim: queues in the order of their turns, each with slots for its deliveries. */
export class ClaimPlanner {
  readonly #queue: DueQueue;
  readonly #healthy = new SlotPool(HEALTHY_SLOTS);
  readonly #unproven = new SlotPool(UNPROVEN_SLOTS);

  constructor(queue: DueQueue) {
    this.#queue = queue;
  }

  /** Begins a claim of each queue that it returns. */
  plan(): PlannedClaim[] {
    const plan: PlannedClaim[] = [];
    for (const health of HEALTHS) {
      const listed = health === "healthy" ? this.#healthy : this.#unproven;
      for (const queue of this.#queue.due(health)) {
        if (listed.isFull || plan.length === QUEUES_A_CLAIM) break;
        const slots = this.#acquire(queue, listed);
        if (slots.length === 0) continue;
        this.#queue.beginClaim(queue);
        plan.push({ queue, slots });
      }
    }
    return plan;
  }

  #acquire({ endpoint }: EndpointQueue, listed: SlotPool): Slot[] {
    const { health, heldSlots } = endpoint;
    const pool = health.isStalled() ? this.#unproven : listed;
    // Claim ahead while slots are plenty, so that a quick endpoint never waits for a claim.
    const ahead = pool === this.#healthy && pool.isRoomy ? 2 : 1;
    return pool.acquire(endpoint, ahead * health.concurrency - heldSlots);
  }
}
