// Metrics in the Prometheus text format.
import type { Counter, Histogram } from "prom-client";
import { type Clock, settlesWithin } from "./clock.ts";

interface MetricSpec<Label extends string> {
  name: string;
  help: string;
  labels?: readonly Label[];
}

/** Sets the values of a scrape; what it leaves out is not shown. */
export type ReadGauge<Label extends string> = (
  set: (value: number, labels?: Readonly<Record<Label, string>>) => void,
) => void | Promise<void>;

export interface Metrics {
  counter<Label extends string>(spec: MetricSpec<Label>): Pick<Counter<Label>, "inc">;
  histogram<Label extends string>(
    spec: MetricSpec<Label> & { buckets: readonly number[] },
  ): Pick<Histogram<Label>, "observe">;
  gauge<Label extends string>(spec: MetricSpec<Label>, read: ReadGauge<Label>): void;
  total<Label extends string>(spec: MetricSpec<Label>, read: ReadGauge<Label>): void;
  /** Writes the page for Prometheus. */
  write(): Promise<string>;
  /** Reads the same values. */
  read(): Promise<MetricFamily[]>;
}

export interface MetricFamily {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  values: readonly MetricSample[];
}

export interface MetricSample {
  /** `le` is the upper bound of a bucket. */
  labels: Readonly<Record<string, string | number>>;
  value: number;
  /** Name of a histogram with `_bucket`, `_sum` or `_count` behind it. */
  metricName?: string;
}

/** Loads the library at first need: programs without metrics pay nothing. */
export async function openMetrics(): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry } = await import("./metrics-library.ts");
  const registry = new Registry();
  const options = <L extends string>({ name, help, labels = [] }: MetricSpec<L>) => {
    return { name, help, labelNames: labels, registers: [registry] };
  };
  return {
    counter: (spec) => new Counter(options(spec)),
    histogram: (spec) => new Histogram({ ...options(spec), buckets: [...spec.buckets] }),
    gauge<L extends string>(spec: MetricSpec<L>, read: ReadGauge<L>) {
      new Gauge<L>({
        ...options(spec),
        collect() {
          clear(this, spec);
          return read((value, labels) => this.set(labels ?? ({} as Record<L, string>), value));
        },
      });
    },
    total<L extends string>(spec: MetricSpec<L>, read: ReadGauge<L>) {
      new Counter<L>({
        ...options(spec),
        collect() {
          clear(this, spec);
          return read((value, labels) => this.inc(labels ?? ({} as Record<L, string>), value));
        },
      });
    },
    write: () => registry.metrics(),
    read: () => registry.getMetricsAsJSON() as unknown as Promise<MetricFamily[]>,
  };
}

interface Clearable {
  reset(): void;
  remove(): void;
}

/** Without labels a metric starts at 0, a value that was not read. */
function clear(metric: Clearable, { labels = [] }: Pick<MetricSpec<string>, "labels">): void {
  metric.reset();
  if (labels.length === 0) metric.remove();
}

/** Time for which a value from the database is shown again. */
const KEPT_MS = 5_000;
/** Maximum time that a scrape waits for such a value. */
const WAIT_MS = 1_000;

/**
 * Shares one read between scrapes and keeps its value for a while. Returns null where the read
 * fails or is late, so that a slow database delays no scrape.
 */
export function keepReading<T>(clock: Clock, read: () => Promise<T>): () => Promise<T | null> {
  let kept: T | null = null;
  let keptAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  const refresh = async () => {
    try {
      kept = await read();
      keptAt = clock.monotonic();
    } catch {
      // The database reports its own failures.
      kept = null;
    } finally {
      reading = null;
    }
  };
  return async () => {
    if (clock.monotonic() - keptAt < KEPT_MS) return kept;
    reading ??= refresh();
    return (await settlesWithin(clock, WAIT_MS, reading)) ? kept : null;
  };
}

export interface Waiting {
  count: number;
  /** Time of the oldest; null: none waits. */
  oldest: number | null;
}

/** Maximum rows that a scrape counts, so that it does not block the event loop. */
export const COUNTED_MAX = 10_000;

/** Shows how many rows of the database wait, and for how long the oldest does. */
export function showWaiting(
  metrics: Metrics,
  clock: Clock,
  read: () => Promise<Waiting>,
  [count, age]: readonly [MetricSpec<never>, MetricSpec<never>],
): void {
  const find = keepReading(clock, read);
  metrics.gauge(count, async (set) => {
    const waiting = await find();
    if (waiting) set(waiting.count);
  });
  metrics.gauge(age, async (set) => {
    const waiting = await find();
    if (!waiting) return;
    // The clock may have been set back.
    set(waiting.oldest === null ? 0 : Math.max(0, clock.now() - waiting.oldest) / 1000);
  });
}

export function registerProcessMetrics(
  metrics: Metrics,
  { startedAt, version }: { startedAt: number; version: string },
): void {
  metrics.gauge(
    {
      name: "wadi_build_info",
      help: "1, with the version of the program and of its runtime.",
      labels: ["version", "bun_version"],
    },
    (set) => set(1, { version, bun_version: Bun.version }),
  );
  metrics.total(
    { name: "process_cpu_seconds_total", help: "CPU time used, user and system, in seconds." },
    (set) => {
      const { user, system } = process.cpuUsage();
      set((user + system) / 1e6);
    },
  );
  metrics.gauge(
    { name: "process_resident_memory_bytes", help: "Resident memory, in bytes." },
    (set) => set(process.memoryUsage.rss()),
  );
  metrics.gauge(
    { name: "process_start_time_seconds", help: "When the process started, in Unix seconds." },
    (set) => set(startedAt / 1000),
  );
}
