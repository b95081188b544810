// Writes settled requests in batches, one at a time, and keeps each until it is committed.
import { type Bound, DatabaseUnavailable } from "../../database/index.ts";
import { type Clock, settlesWithin } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { type NextPass, WorkerLoop } from "../../platform/worker-loop.ts";
import type { budgetStore, LimitAlert, SettledRequest } from "./store.ts";

const BATCH_MAX = 256;
const RETRY_MS = 1_000;

export interface SettlementWriterOptions {
  store: Pick<Bound<typeof budgetStore>, "settle">;
  clock: Clock;
  log: Log;
}

export class SettlementWriter {
  readonly #options: SettlementWriterOptions;
  readonly #loop: WorkerLoop;
  #requests: SettledRequest[] = [];
  #alerts: LimitAlert[] = [];
  /** One at a time after a bug, which may lie in a single request. */
  #batchSize = BATCH_MAX;
  #onWritten: (() => void) | undefined;

  constructor(options: SettlementWriterOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#loop = new WorkerLoop({
      clock,
      work: () => this.#writeBatch(),
      onError: (error) => log.error("budgets: settled requests wait to be written", { error }),
      retryMs: RETRY_MS,
    });
  }

  add(requests: readonly SettledRequest[], alerts: readonly LimitAlert[]): void {
    if (requests.length + alerts.length === 0) return;
    this.#requests.push(...requests);
    this.#alerts.push(...alerts);
    this.#loop.wake();
  }

  /** Waits until all is written; the reservations of the rest are charged at the next start. */
  async finish(deadlineMs: number): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#onWritten = written.resolve;
    this.#loop.wake();
    await settlesWithin(this.#options.clock, deadlineMs, written.promise);
    void this.#loop.stop();
  }

  async #writeBatch(): Promise<NextPass> {
    const requests = this.#requests.splice(0, this.#batchSize);
    const alerts = this.#alerts.splice(0, this.#batchSize);
    if (requests.length + alerts.length > 0) {
      try {
        await this.#options.store.settle(requests, alerts);
        this.#batchSize = BATCH_MAX;
      } catch (error) {
        const isLost = !(error instanceof DatabaseUnavailable) && this.#batchSize === 1;
        if (!isLost) {
          this.#requests = requests.concat(this.#requests);
          this.#alerts = alerts.concat(this.#alerts);
          if (!(error instanceof DatabaseUnavailable)) this.#batchSize = 1;
        }
        throw error;
      }
    }
    if (this.#requests.length + this.#alerts.length > 0) return "now";
    this.#onWritten?.();
    return "on_wake";
  }
}
