// Figures for Prometheus, which asks for all of them as one text.
import type { Counter, Histogram } from "prom-client";

interface MetricSpec<Label extends string> {
  name: string;
  help: string;
  labels?: readonly Label[];
}

/** What a gauge shows now: a value for each set of labels. */
export type ReadGauge<Label extends string> = (
  set: (value: number, labels?: Readonly<Record<Label, string>>) => void,
) => void;

export interface Metrics {
  counter<Label extends string>(words: MetricSpec<Label>): Pick<Counter<Label>, "inc">;
  histogram<Label extends string>(
    words: MetricSpec<Label> & { buckets: readonly number[] },
  ): Pick<Histogram<Label>, "observe">;
  /** Looked at whenever somebody asks, and at no other time. */
  gauge<Label extends string>(words: MetricSpec<Label>, look: ReadGauge<Label>): void;
  /** Like a gauge, of what only grows. */
  total<Label extends string>(words: MetricSpec<Label>, look: ReadGauge<Label>): void;
  /** All of them in the Prometheus text format. */
  write(): Promise<string>;
}

/** Loads what keeps them: who wants no figures pays nothing. */
export async function openMetrics(): Promise<Metrics> {
  // In parts: the package's door also loads clusters, push gateways and event-loop monitors.
  const [{ default: Registry }, { default: Counter }, { default: Gauge }, { default: Histogram }] =
    await Promise.all([
      import("prom-client/lib/registry.js"),
      import("prom-client/lib/counter.js"),
      import("prom-client/lib/gauge.js"),
      import("prom-client/lib/histogram.js"),
    ]);
  const registry = new Registry();
  const shape = <L extends string>({ name, help, labels = [] }: MetricSpec<L>) => {
    return { name, help, labelNames: labels, registers: [registry] };
  };
  return {
    counter: (words) => new Counter(shape(words)),
    histogram: (words) => new Histogram({ ...shape(words), buckets: [...words.buckets] }),
    gauge<L extends string>(words: MetricSpec<L>, look: ReadGauge<L>) {
      new Gauge<L>({
        ...shape(words),
        collect() {
          this.reset();
          look((value, labels) => this.set(labels ?? ({} as Record<L, string>), value));
        },
      });
    },
    total<L extends string>(words: MetricSpec<L>, look: ReadGauge<L>) {
      new Counter<L>({
        ...shape(words),
        collect() {
          this.reset();
          look((value, labels) => this.inc(labels ?? ({} as Record<L, string>), value));
        },
      });
    },
    write: () => registry.metrics(),
  };
}

/** The figures of the process itself, under the names that every exporter gives them. */
export function showProcess(metrics: Metrics, started_at: number): void {
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
    (set) => set(started_at / 1000),
  );
}
