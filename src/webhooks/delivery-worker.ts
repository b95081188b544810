// Claims deliveries that are due, sends them and has their results written; a service.

import type { Bound } from "../database/index.ts";
import { settlesWithin } from "../platform/clock.ts";
import type { Service } from "../platform/service.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import { Sender } from "./attempt.ts";
import { RETRIES } from "./delivery.ts";
import type { WebhookDeps } from "./deps.ts";
import {
  ClaimPlanner,
  DueQueue,
  type KnownEndpoint,
  NEVER,
  type PlannedClaim,
  type ReadyDelivery,
} from "./due-queue.ts";
import { FanOutWorker } from "./fan-out.ts";
import { Recovery } from "./recovery.ts";
import { type AttemptOutcome, skipAttempt } from "./response.ts";
import { ResultWriter } from "./result-writer.ts";
import { type ClaimedDelivery, type ClaimResult, NOTHING_CLAIMED } from "./store/claim.ts";
import type { FailedEndpoint } from "./store/endpoints.ts";
import type { webhookStore } from "./store/index.ts";
import type { AttemptResult } from "./store/results.ts";

const RETRY_MS = 1_000;
/** Maximum unwritten results; above it nothing is claimed. */
const UNWRITTEN_MAX = 512;
/** Minimum and maximum wait for a due time; the wall clock may be set meanwhile. */
const CHECK_WAIT_MIN_MS = 100;
const CHECK_WAIT_MAX_MS = 60_000;
const GRACE_MS = 1_000;

export interface DeliveryStats {
  sending: number;
  attempts: Readonly<Record<AttemptOutcome, number>>;
}

export class DeliveryWorker implements Service {
  readonly name = "webhooks";
  readonly #deps: WebhookDeps;
  readonly #store: Bound<typeof webhookStore>;
  readonly #queue: DueQueue;
  readonly #planner: ClaimPlanner;
  readonly #sender: Sender;
  readonly #fanOut: FanOutWorker;
  readonly #results: ResultWriter;
  readonly #recovery: Recovery;
  readonly #claims: WorkerLoop;
  /** Deliveries of this process, from the claim until their result is written. */
  readonly #inHand = new Set<string>();
  readonly #ready = new Set<KnownEndpoint>();
  readonly #sending = new Map<AbortController, Promise<void>>();
  readonly #attempts = { delivered: 0, rejected: 0, timeout: 0, unreachable: 0 };
  readonly #unlisten: (() => void)[] = [];
  #isStopping = false;
  #isPaused = false;

  constructor(deps: WebhookDeps, store: Bound<typeof webhookStore>) {
    const { clock, log, process } = deps;
    this.#deps = deps;
    this.#store = store;
    this.#queue = new DueQueue(clock, (id) => process.members.owns(id));
    this.#planner = new ClaimPlanner(this.#queue);
    this.#sender = new Sender(deps, store);
    this.#fanOut = new FanOutWorker(deps, store);
    this.#results = new ResultWriter({
      deps,
      store,
      onWritten: (group, failed) => this.#onWritten(group, failed),
    });
    this.#recovery = new Recovery({
      deps,
      store,
      queue: this.#queue,
      isInHand: (id) => this.#inHand.has(id),
      onFound: () => this.wake(),
    });
    this.#claims = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: () => this.#claim(),
      onError: (error) => log.error("webhooks: deliveries could not be claimed", { error }),
    });
    process.join({
      reclaim: (isDead) => this.#recovery.reclaim(isDead),
      onEpochLost: () => this.#drop(),
      onHeartbeat: () => {
        this.#recovery.checkClock();
        this.wake();
      },
    });
  }

  start(): void {
    const listen = (channel: string, announce: (id: string) => void) =>
      this.#unlisten.push(
        this.#deps.database.listen(channel, (id) => {
          if (id === null) return this.#recovery.scan();
          announce(id);
          this.wake();
        }),
      );
    listen("webhooks.due", (id) => this.#queue.announce(id));
    listen("webhooks.endpoint", (id) => this.#queue.resume(id));
    listen("installation", () => this.#recovery.scan());
    this.#unlisten.push(
      this.#deps.process.members.onChange(() => {
        this.#queue.disown();
        this.#recovery.scan();
      }),
    );
    this.#fanOut.start();
    this.#recovery.scan();
  }

  async stop(deadlineMs: number): Promise<void> {
    const { clock } = this.#deps;
    this.#isStopping = true;
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    const over = Promise.all([this.#fanOut.stop(), this.#recovery.stop(), this.#drain()]);
    const isOver = over.then(() => {});
    if (!(await settlesWithin(clock, deadlineMs, isOver))) {
      this.#abort();
      await settlesWithin(clock, GRACE_MS, isOver);
    }
    void this.#results.stop();
  }

  /** Gives claimed deliveries back; attempts under way end. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    this.#releaseReady();
    await Promise.all([this.#claims.pause(), this.#fanOut.pause()]);
  }

  resume(): void {
    this.#isPaused = false;
    this.#claims.resume();
    this.#fanOut.resume();
    this.#recovery.scan();
  }

  wake(): void {
    this.#sendReady();
    this.#claims.wake();
  }

  stats(): DeliveryStats {
    return { sending: this.#sending.size, attempts: this.#attempts };
  }

  async #claim(): Promise<NextPass> {
    const { clock, process } = this.#deps;
    if (!this.#isOn() || this.#results.count > UNWRITTEN_MAX) return "on_wake";
    // Without an await the claim shares the message and the commit of the results before it.
    for (let id = this.#queue.takeUnknown(); id; id = this.#queue.takeUnknown()) {
      await this.#load(id);
    }
    const plan = this.#planner.plan();
    if (plan.length === 0) return this.#waitForDue();
    const { epoch } = process;
    const requests = plan.map(({ queue: { endpoint, number }, slots }) => {
      return { webhookId: endpoint.id, queue: number, count: slots.length };
    });
    let results: readonly ClaimResult[] | undefined;
    try {
      const claimed = await this.#store.claim(epoch, requests, clock.now());
      // A process that was declared dead meanwhile has lost what it claimed.
      if (epoch === process.epoch) results = claimed;
    } finally {
      for (const [at, planned] of plan.entries()) {
        this.#endClaim(planned, results && (results[at] ?? NOTHING_CLAIMED));
      }
    }
    this.#sendReady();
    return "now";
  }

  async #load(id: string): Promise<void> {
    try {
      const endpoint = await this.#store.findWaiting(id);
      if (endpoint) this.#queue.load(endpoint);
    } catch (error) {
      this.#queue.recheck(id);
      throw error;
    }
  }

  /** Ends a claim with its result; without one the queue stays due as it was. */
  #endClaim({ queue, slots }: PlannedClaim, result?: ClaimResult): void {
    const { endpoint } = queue;
    for (const [at, slot] of slots.entries()) {
      const delivery = result?.rows[at];
      if (delivery) {
        this.#inHand.add(delivery.id);
        endpoint.ready.push({ delivery, slot });
      } else slot.release();
    }
    if (endpoint.ready.length > 0) this.#ready.add(endpoint);
    this.#queue.endClaim(queue, result && (result.nextDueAt ?? NEVER));
  }

  #waitForDue(): NextPass {
    const { nextDueAt } = this.#queue;
    if (nextDueAt === NEVER) return "on_wake";
    const waitMs = nextDueAt - this.#deps.clock.now();
    return { inMs: Math.max(CHECK_WAIT_MIN_MS, Math.min(waitMs, CHECK_WAIT_MAX_MS)) };
  }

  #sendReady(): void {
    if (this.#isStopping || this.#isPaused) this.#releaseReady();
    if (!this.#isOn()) return;
    for (const endpoint of this.#ready) {
      const { health, ready } = endpoint;
      while (ready.length > 0 && health.inFlight < health.concurrency) {
        this.#begin(endpoint, ready.shift()!);
      }
      if (ready.length === 0) this.#ready.delete(endpoint);
    }
  }

  #begin(endpoint: KnownEndpoint, ready: ReadyDelivery): void {
    const controller = new AbortController();
    const sending = this.#send(endpoint, ready, controller).catch((error) =>
      this.#deps.log.error("webhooks: an attempt could not be finished", { error }),
    );
    this.#sending.set(controller, sending);
  }

  async #send(
    endpoint: KnownEndpoint,
    { delivery, slot }: ReadyDelivery,
    controller: AbortController,
  ): Promise<void> {
    const attempt = endpoint.health.begin();
    const { result, outcome, pauses } = await this.#sender.send(delivery, controller.signal);
    this.#sending.delete(controller);
    slot.release();
    endpoint.health.end(attempt, outcome);
    if (outcome !== "none") this.#attempts[outcome] += 1;
    if (pauses) this.#queue.pause(endpoint);
    else this.#queue.place(endpoint);
    // Deliveries that were claimed ahead of a failure would keep slots of healthy endpoints.
    if (pauses || endpoint.health.get() === "failing") this.#release(endpoint);
    // The result and the claim that follows share a commit.
    this.#results.add(result);
    this.wake();
  }

  #onWritten(group: readonly AttemptResult[], failed: readonly FailedEndpoint[]): void {
    const disabled = new Set(failed.map(({ webhookId }) => webhookId));
    for (const result of group) {
      const { kind, deliveryId, webhookId } = result;
      this.#inHand.delete(deliveryId);
      if ("nextAttemptAt" in result) {
        this.#queue.expect({ webhookId, queue: RETRIES }, result.nextAttemptAt);
      }
      if (kind === "released") this.#queue.recheck(webhookId);
      // A gone endpoint that was changed meanwhile is not disabled.
      if (kind === "gone" && !disabled.has(webhookId)) this.#queue.resume(webhookId);
    }
    this.wake();
  }

  async #drain(): Promise<void> {
    this.#releaseReady();
    await this.#claims.stop();
    await Promise.all(this.#sending.values());
    await this.#results.flush();
  }

  /** Forgets every delivery: they belong to other processes now. */
  #drop(): void {
    for (const endpoint of this.#ready) this.#takeReady(endpoint);
    this.#abort();
    this.#inHand.clear();
    this.#recovery.scan();
  }

  #abort(): void {
    for (const controller of this.#sending.keys()) controller.abort();
  }

  #releaseReady(): void {
    for (const endpoint of this.#ready) this.#release(endpoint);
  }

  #release(endpoint: KnownEndpoint): void {
    for (const delivery of this.#takeReady(endpoint)) {
      this.#results.add(skipAttempt(delivery, "released"));
    }
  }

  #takeReady(endpoint: KnownEndpoint): ClaimedDelivery[] {
    this.#ready.delete(endpoint);
    return endpoint.ready.splice(0).map(({ delivery, slot }) => {
      slot.release();
      return delivery;
    });
  }

  #isOn(): boolean {
    return this.#deps.settings().agents.webhooks;
  }
}
