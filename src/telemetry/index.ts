// Telemetry: traces and metrics for a collector of OpenTelemetry.
import type { TrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import type { Tracer } from "../platform/spans.ts";
import type { TelemetrySettings } from "../settings/index.ts";
import { openCollector } from "./collector.ts";
import { MetricExporter } from "./metric-exporter.ts";
import { writeResource } from "./otlp-json.ts";
import { SpanExporter } from "./span-exporter.ts";
import { SampledTracer } from "./tracer.ts";

export interface TelemetryOptions {
  settings: TelemetrySettings;
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
  log: Log;
  version: string;
}

export interface Telemetry {
  tracer: Tracer;
  /** Adds its own figures, and returns the services that send all; they stop last. */
  open(metrics: Metrics): readonly Service[];
}

export function openTelemetry({ settings, version, ...deps }: TelemetryOptions): Telemetry {
  const { clock, ids, log } = deps;
  const service = {
    "service.name": "wadi",
    "service.version": version,
    "service.instance.id": ids.uuid(),
  };
  const resource = writeResource(service, version);
  const send = openCollector("/v1/traces", settings, deps);
  const exporter = new SpanExporter({ send, resource, clock, log });
  const { sample, content: hasContent } = settings;
  const take = exporter.take.bind(exporter);
  return {
    tracer: new SampledTracer({ sample, hasContent, clock, ids, take }),
    open(metrics) {
      exporter.show(metrics);
      const { metrics_every_ms: everyMs } = settings;
      if (everyMs === 0) return [exporter];
      const send = openCollector("/v1/metrics", settings, deps);
      return [exporter, new MetricExporter({ metrics, everyMs, send, resource, clock, log })];
    },
  };
}
