// Finds deliveries that no wake-up announces: those of dead processes, and all that wait. Those
// are scanned once a minute and after the clock was set.

import { Reclaimer } from "../cluster/index.ts";
import type { Bound } from "../database/index.ts";
import { yieldToEventLoop } from "../platform/clock.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import { FIRST_ATTEMPTS, RETRIES } from "./delivery.ts";
import type { WebhookDeps } from "./deps.ts";
import { type DueQueue, OVERDUE } from "./due-queue.ts";
import { RETRY_WAIT_MAX_MS } from "./retry-schedule.ts";
import type { FarQueue, HeldDelivery, WaitingEndpoint } from "./store/claim.ts";
import type { webhookStore } from "./store/index.ts";

const ENDPOINTS_A_PAGE = 200;
const SCAN_EVERY_MS = 60_000;
const RETRY_MS = 1_000;
/** Maximum drift of the wall clock against the monotonic one before everything is scanned. */
const DRIFT_MAX_MS = 1_000;
/** Maximum wait of a first attempt: it is due when it is made, but clocks of processes differ. */
const FIRST_WAIT_MAX_MS = 60_000;

export interface RecoveryOptions {
  deps: Pick<WebhookDeps, "clock" | "log"> & { process: Pick<WebhookDeps["process"], "epoch"> };
  store: Pick<Bound<typeof webhookStore>, "listHeld" | "listWaiting" | "pull" | "release">;
  queue: Pick<DueQueue, "load" | "expect">;
  isInHand(id: string): boolean;
  onFound(): void;
}

export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #scans: WorkerLoop;
  readonly #reclaimer: Reclaimer<HeldDelivery>;
  #clockOffset: number;

  constructor(options: RecoveryOptions) {
    const { deps, store, queue, isInHand, onFound } = options;
    this.#options = options;
    this.#clockOffset = this.#readClockOffset();
    this.#scans = new WorkerLoop({
      clock: deps.clock,
      retryMs: RETRY_MS,
      work: (stopping) => this.#scan(stopping),
      onError: (error) => deps.log.error("webhooks: deliveries could not be scanned", { error }),
    });
    this.#reclaimer = new Reclaimer({
      process: deps.process,
      list: store.listHeld,
      isInHand,
      async requeue(rows) {
        for (const key of await store.release(rows)) queue.expect(key, OVERDUE);
        onFound();
      },
    });
  }

  reclaim(isDead: (epoch: number) => boolean): Promise<void> {
    return this.#reclaimer.reclaim(isDead);
  }

  scan(): void {
    this.#scans.wake();
  }

  checkClock(): void {
    if (Math.abs(this.#readClockOffset() - this.#clockOffset) > DRIFT_MAX_MS) this.scan();
  }

  stop(): Promise<void> {
    return this.#scans.stop();
  }

  async #scan(stopping: AbortSignal): Promise<NextPass> {
    const { store } = this.#options;
    this.#clockOffset = this.#readClockOffset();
    for (let after = ""; !stopping.aborted; ) {
      const page = await store.listWaiting(after, ENDPOINTS_A_PAGE);
      await this.#load(page);
      if (page.length < ENDPOINTS_A_PAGE) break;
      after = page.at(-1)!.id;
      await yieldToEventLoop();
    }
    return { inMs: SCAN_EVERY_MS };
  }

  async #load(page: readonly WaitingEndpoint[]): Promise<void> {
    const { deps, store, queue, onFound } = this.#options;
    const own = page.filter((endpoint) => queue.load(endpoint));
    const now = deps.clock.now();
    const far = own.flatMap((endpoint) => listFar(endpoint, now));
    if (far.length > 0) await store.pull(far, now);
    for (const key of far) queue.expect(key, now);
    onFound();
  }

  #readClockOffset(): number {
    const { clock } = this.#options.deps;
    return clock.now() - clock.monotonic();
  }
}

function listFar(endpoint: WaitingEndpoint, now: number): FarQueue[] {
  const { id: webhookId, first_far_at, retry_far_at } = endpoint;
  const queues = [
    { webhookId, queue: FIRST_ATTEMPTS, until: now + FIRST_WAIT_MAX_MS, farAt: first_far_at },
    { webhookId, queue: RETRIES, until: now + RETRY_WAIT_MAX_MS, farAt: retry_far_at },
  ] as const;
  return queues
    .filter(({ until, farAt }) => farAt !== null && farAt > until)
    .map(({ farAt: _, ...queue }) => queue);
}
