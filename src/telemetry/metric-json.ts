// Metrics in the JSON of OTLP: what the page shows to Prometheus, under the same names.
import type { MetricFamily, MetricSample } from "../platform/metrics.ts";
import { type OtlpResource, writeAttributes, writeNanoseconds } from "./otlp-json.ts";

const CUMULATIVE = 2;
const UNITS: readonly (readonly [ending: RegExp, unit: string])[] = [
  [/_seconds(_total)?$/, "s"],
  [/_bytes$/, "By"],
];

export interface MetricTimes {
  /** Start of the process, at which all counters were 0. */
  startedAt: number;
  now: number;
}

/** Writes the body of `POST /v1/metrics`. */
export function writeMetrics(
  { resource, scope }: OtlpResource,
  families: readonly MetricFamily[],
  times: MetricTimes,
): string {
  const metrics = families.flatMap((family) => writeFamily(family, times) ?? []);
  const scopeMetrics = [{ scope, metrics }];
  return JSON.stringify({ resourceMetrics: [{ resource, scopeMetrics }] });
}

function writeFamily({ name, help, type, values }: MetricFamily, times: MetricTimes) {
  const unit = UNITS.find(([ending]) => ending.test(name))?.[1];
  const head = { name, description: help, unit };
  const cumulative = { aggregationTemporality: CUMULATIVE };
  const time = {
    startTimeUnixNano: writeNanoseconds(times.startedAt),
    timeUnixNano: writeNanoseconds(times.now),
  };
  if (type === "histogram") {
    const dataPoints = groupBuckets(name, values).map((point) => ({ ...time, ...point }));
    return dataPoints.length === 0 ? null : { ...head, histogram: { ...cumulative, dataPoints } };
  }
  // JSON has no NaN, which stands for an unknown value.
  const dataPoints = values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => {
      return { ...time, attributes: writeAttributes(labels), asDouble: value };
    });
  if (dataPoints.length === 0) return null;
  if (type === "gauge") return { ...head, gauge: { dataPoints } };
  return { ...head, sum: { ...cumulative, isMonotonic: true, dataPoints } };
}

interface Buckets {
  labels: MetricSample["labels"];
  /** Upper bounds with the observations up to each; the last is that of all. */
  counts: [bound: number, count: number][];
  sum: number;
}

function groupBuckets(name: string, values: readonly MetricSample[]) {
  const groups = new Map<string, Buckets>();
  for (const { labels: all, value, metricName } of values) {
    const { le, ...labels } = all;
    const key = JSON.stringify(labels);
    const group = groups.get(key) ?? { labels, counts: [], sum: 0 };
    groups.set(key, group);
    if (metricName === `${name}_sum`) group.sum = value;
    else if (le !== undefined) {
      group.counts.push([le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), value]);
    }
  }
  return [...groups.values()].map(({ labels, counts, sum }) => {
    const sorted = counts.toSorted(([one], [other]) => one - other);
    return {
      attributes: writeAttributes(labels),
      count: String(sorted.at(-1)?.[1] ?? 0),
      sum,
      // OTLP counts each bucket alone, Prometheus with all before it.
      bucketCounts: sorted.map(([, count], n) => String(count - (sorted[n - 1]?.[1] ?? 0))),
      explicitBounds: sorted.slice(0, -1).map(([bound]) => bound),
    };
  });
}
