// Plans the next claim: queues in the order of their turns, each with slots for its deliveries.
import { type Slot, SlotPool } from "./concurrency.ts";
import type { DueQueue, EndpointQueue } from "./due-queue.ts";
import { HEALTHS } from "./endpoint-health.ts";

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
