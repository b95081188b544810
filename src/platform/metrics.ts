// Metrics in the Prometheus text format.
import type { Counter, Histogram } from "prom-client";

interface MetricSpec<Label extends string> {
  name: string;
  help: string;
  labels?: readonly Label[];
}

export type ReadGauge<Label extends string> = (
  set: (value: number, labels?: Readonly<Record<Label, string>>) => void,
) => void;

export interface Metrics {
  counter<Label extends string>(spec: MetricSpec<Label>): Pick<Counter<Label>, "inc">;
  histogram<Label extends string>(
    spec: MetricSpec<Label> & { buckets: readonly number[] },
  ): Pick<Histogram<Label>, "observe">;
  gauge<Label extends string>(spec: MetricSpec<Label>, read: ReadGauge<Label>): void;
  total<Label extends string>(spec: MetricSpec<Label>, read: ReadGauge<Label>): void;
  write(): Promise<string>;
}

/** Loads the library at first need: programs without metrics pay nothing. */
export async function openMetrics(): Promise<Metrics> {
  // The package's index also loads clusters, push gateways and event-loop monitors.
  const [{ default: Registry }, { default: Counter }, { default: Gauge }, { default: Histogram }] =
    await Promise.all([
      import("prom-client/lib/registry.js"),
      import("prom-client/lib/counter.js"),
      import("prom-client/lib/gauge.js"),
      import("prom-client/lib/histogram.js"),
    ]);
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
          this.reset();
          read((value, labels) => this.set(labels ?? ({} as Record<L, string>), value));
        },
      });
    },
    total<L extends string>(spec: MetricSpec<L>, read: ReadGauge<L>) {
      new Counter<L>({
        ...options(spec),
        collect() {
          this.reset();
          read((value, labels) => this.inc(labels ?? ({} as Record<L, string>), value));
        },
      });
    },
    write: () => registry.metrics(),
  };
}

export function registerProcessMetrics(metrics: Metrics, startedAt: number): void {
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
