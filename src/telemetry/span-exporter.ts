// Sends spans in batches behind the requests; while the collector is away, the oldest are dropped.
import { type Clock, settlesWithin } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import type { Span } from "../platform/spans.ts";
import { type NextPass, WorkerLoop } from "../platform/worker-loop.ts";
import type { SendToCollector, Sent } from "./collector.ts";
import type { OtlpResource } from "./otlp-json.ts";
import { writeSpans } from "./span-json.ts";

/** Time for which spans gather before they are sent. */
const GATHER_MS = 1_000;
const BATCH_MAX = 512;
/** Maximum spans in memory, those under way included. */
const WAITING_MAX = 4_096;
/** Number of oldest spans dropped at once. */
const DROPPED_AT_ONCE = 256;
/** Maximum characters of content in memory, and in one request. */
const CONTENT_MAX = 16_777_216;
const BATCH_CONTENT_MAX = 1_048_576;
/** Pause after a failure; it doubles with each further one. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
const COMPLAINT_INTERVAL_MS = 60_000;
/** Maximum time of the last requests at a stop. */
const LAST_MS = 2_000;

/** `full`: they waited too long for the collector · `refused`: it did not take them. */
type Dropped = "full" | "refused";

export interface SpanExporterOptions {
  send: SendToCollector;
  resource: OtlpResource;
  clock: Clock;
  log: Log;
}

export class SpanExporter implements Service {
  readonly name = "span exporter";
  readonly #options: SpanExporterOptions;
  readonly #loop: WorkerLoop;
  #waiting: Span[] = [];
  #sending = 0;
  #content = 0;
  #failures = 0;
  #exported = 0;
  readonly #dropped: Record<Dropped, number> = { full: 0, refused: 0 };
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SpanExporterOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#loop = new WorkerLoop({
      clock,
      work: () => this.#sendBatch(),
      onError: (error) => log.error("telemetry: the exporter failed", { error }),
      retryMs: RETRY_MS_MAX,
    });
  }

  /** Takes a span; never waits. */
  take(span: Span): void {
    this.#waiting.push(span);
    this.#content += measureContent(span);
    const count = this.#waiting.length + this.#sending;
    if (count > WAITING_MAX || this.#content > CONTENT_MAX) this.#dropOldest();
    // A pass under way plans the next one itself.
    if (this.#loop.isRunning || this.#failures > 0) return;
    if (this.#waiting.length >= BATCH_MAX) this.#loop.wake();
    else this.#loop.wakeWithin(GATHER_MS);
  }

  show(metrics: Metrics): void {
    metrics.gauge(
      { name: "wadi_otlp_spans_waiting", help: "Spans that wait for the collector." },
      (set) => set(this.#waiting.length + this.#sending),
    );
    metrics.total(
      { name: "wadi_otlp_spans_exported_total", help: "Spans that the collector took." },
      (set) => set(this.#exported),
    );
    metrics.total(
      {
        name: "wadi_otlp_spans_dropped_total",
        help: "Spans dropped: full (the collector was away or slow); refused (by the collector).",
        labels: ["reason"],
      },
      (set) => {
        for (const reason of ["full", "refused"] as const) set(this.#dropped[reason], { reason });
      },
    );
  }

  start(): void {}

  async stop(): Promise<void> {
    await settlesWithin(this.#options.clock, LAST_MS, this.#sendRest());
  }

  /** Ends at the first failure: a collector that is away must not delay the stop. */
  async #sendRest(): Promise<void> {
    await this.#loop.stop();
    while (this.#waiting.length > 0 && this.#failures === 0) await this.#sendBatch();
  }

  async #sendBatch(): Promise<NextPass> {
    const batch = this.#takeBatch();
    if (batch.length > 0) {
      this.#sending = batch.length;
      const sent = await this.#options.send(writeSpans(this.#options.resource, batch));
      this.#sending = 0;
      if (sent.kind === "later") {
        this.#failures += 1;
        this.#waiting = [...batch, ...this.#waiting];
        this.#complain(sent.reason);
        return { inMs: Math.min(RETRY_MS * 2 ** (this.#failures - 1), RETRY_MS_MAX) };
      }
      this.#failures = 0;
      for (const span of batch) this.#content -= measureContent(span);
      const { refused, reason } = countRefused(sent, batch.length);
      this.#exported += batch.length - refused;
      this.#dropped.refused += refused;
      if (refused > 0) this.#complain(reason);
    }
    if (this.#waiting.length === 0) return "on_wake";
    return this.#waiting.length >= BATCH_MAX ? "now" : { inMs: GATHER_MS };
  }

  #takeBatch(): Span[] {
    let content = 0;
    let count = 0;
    while (count < Math.min(BATCH_MAX, this.#waiting.length)) {
      content += measureContent(this.#waiting[count]!);
      if (count > 0 && content > BATCH_CONTENT_MAX) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  #dropOldest(): void {
    const dropped = this.#waiting.splice(0, DROPPED_AT_ONCE);
    for (const span of dropped) this.#content -= measureContent(span);
    this.#dropped.full += dropped.length;
  }

  #complain(reason: string): void {
    const { clock, log } = this.#options;
    if (clock.monotonic() - this.#complainedAt < COMPLAINT_INTERVAL_MS) return;
    this.#complainedAt = clock.monotonic();
    log.warn("telemetry: the collector did not take spans", { reason });
  }
}

function countRefused(sent: Exclude<Sent, { kind: "later" }>, spans: number) {
  if (sent.kind === "refused") return { refused: spans, reason: sent.reason };
  return { refused: Math.min(sent.rejected, spans), reason: "it took a part only" };
}

function measureContent({ content }: Span): number {
  if (!content) return 0;
  let characters = 0;
  for (const name in content) characters += content[name]!.length;
  return characters;
}
