// Writes the results of attempts in groups, and disables endpoints that are gone or keep failing.
import type { Bound } from "../database/index.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import type { WebhookDeps } from "./deps.ts";
import { createBatch, fanOutFirst } from "./fan-out.ts";
import type { FailedEndpoint } from "./store/endpoints.ts";
import type { webhookStore } from "./store/index.ts";
import type { AttemptResult } from "./store/results.ts";

const GROUP_MAX = 256;
const RETRY_MS = 1_000;

/** The only notice that an operator gets. */
const DISABLED = {
  gone: "webhooks: an endpoint was disabled, for it answered 410",
  failing: "webhooks: an endpoint was disabled, for nothing arrived for five days",
} as const;

export interface ResultWriterOptions {
  deps: Pick<WebhookDeps, "clock" | "ids" | "log" | "settings">;
  store: Pick<Bound<typeof webhookStore>, "settle" | "disable">;
  onWritten(group: readonly AttemptResult[], failed: readonly FailedEndpoint[]): void;
}

export class ResultWriter {
  readonly #options: ResultWriterOptions;
  readonly #loop: WorkerLoop;
  #waiting: AttemptResult[] = [];
  #groupMax = GROUP_MAX;
  #writing = 0;
  #onEmpty = () => {};

  constructor(options: ResultWriterOptions) {
    const { clock, log } = options.deps;
    this.#options = options;
    this.#loop = new WorkerLoop({
      clock,
      retryMs: RETRY_MS,
      work: () => this.#write(),
      onError: (error) => log.error("webhooks: results could not be written", { error }),
    });
  }

  get count(): number {
    return this.#waiting.length + this.#writing;
  }

  add(result: AttemptResult): void {
    this.#waiting.push(result);
    this.#loop.wake();
  }

  flush(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    this.#loop.wake();
    return promise;
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #write(): Promise<NextPass> {
    const group = this.#waiting.splice(0, this.#groupMax);
    if (group.length === 0) {
      this.#onEmpty();
      return "on_wake";
    }
    const { deps, store, onWritten } = this.#options;
    this.#writing = group.length;
    let failed: FailedEndpoint[];
    try {
      failed = await store.settle(group, deps.clock.now());
    } catch (error) {
      // Halve the group, so that a result which can never be written ends up alone.
      this.#groupMax = Math.max(1, Math.floor(group.length / 2));
      this.#waiting.push(...group);
      throw error;
    } finally {
      this.#writing = 0;
    }
    this.#groupMax = Math.min(2 * this.#groupMax, GROUP_MAX);
    onWritten(group, failed);
    for (const endpoint of failed) await this.#disable(endpoint);
    return "now";
  }

  async #disable(endpoint: FailedEndpoint): Promise<void> {
    const { deps, store } = this.#options;
    const { webhookId: webhook_id, reason } = endpoint;
    try {
      const written = await fanOutFirst(() => store.disable(endpoint, createBatch(deps)));
      if (written.kind === "ok") deps.log.warn(DISABLED[reason], { webhook_id });
    } catch (error) {
      // The next failure finds the same.
      deps.log.error("webhooks: an endpoint could not be disabled", { error, webhook_id });
    }
  }
}
