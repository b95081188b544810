// Sends all metrics at an interval; a failed request is not repeated, since counters only grow.
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import { WorkerLoop } from "../platform/worker-loop.ts";
import type { SendToCollector } from "./collector.ts";
import { writeMetrics } from "./metric-json.ts";
import type { OtlpResource } from "./otlp-json.ts";

/** Maximum time of the last request at a stop. */
const LAST_MS = 2_000;
const COMPLAINT_INTERVAL_MS = 60_000;

export interface MetricExporterOptions {
  metrics: Pick<Metrics, "read">;
  everyMs: number;
  send: SendToCollector;
  resource: OtlpResource;
  clock: Clock;
  log: Log;
}

export class MetricExporter implements Service {
  readonly name = "metric exporter";
  readonly #options: MetricExporterOptions;
  readonly #startedAt: number;
  readonly #loop: WorkerLoop;
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(options: MetricExporterOptions) {
    const { clock, log, everyMs } = options;
    this.#options = options;
    this.#startedAt = clock.now();
    this.#loop = new WorkerLoop({
      clock,
      retryMs: everyMs,
      onError: (error) => log.error("telemetry: metrics could not be sent", { error }),
      work: async () => {
        await this.#send();
        return { inMs: everyMs };
      },
    });
  }

  start(): void {
    this.#loop.wakeWithin(this.#options.everyMs);
  }

  async stop(): Promise<void> {
    const last = async () => {
      await this.#loop.stop();
      await this.#send();
    };
    await settlesWithin(this.#options.clock, LAST_MS, last());
  }

  async #send(): Promise<void> {
    const { metrics, send, resource, clock, log } = this.#options;
    const times = { startedAt: this.#startedAt, now: clock.now() };
    const sent = await send(writeMetrics(resource, await metrics.read(), times));
    if (sent.kind === "taken" && sent.rejected === 0) return;
    if (clock.monotonic() - this.#complainedAt < COMPLAINT_INTERVAL_MS) return;
    this.#complainedAt = clock.monotonic();
    const reason = sent.kind === "taken" ? "it took a part only" : sent.reason;
    log.warn("telemetry: the collector did not take metrics", { reason });
  }
}
