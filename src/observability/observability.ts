// The page of metrics and the export of traces and metrics, and what all modules show there.
import { type Gateway, listServiceReplicas, showRequests, showShared } from "../gateway/index.ts";
import {
  createMetricsPage,
  observeRequests,
  type RequestObserver,
  type StaticPage,
} from "../http/index.ts";
import {
  listModelReplicas,
  type ModelRegistry,
  showModels,
  showReplicas,
} from "../models/index.ts";
import type { TrustedEgress } from "../net/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Metrics, openMetrics, registerProcessMetrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import type { Tracer } from "../platform/spans.ts";
import type { Settings } from "../settings/index.ts";
import type { Telemetry } from "../telemetry/index.ts";

export interface ObservabilityOptions {
  settings: Settings;
  egress: TrustedEgress;
  clock: Clock;
  ids: Ids;
  log: Log;
  version: string;
  /** /metrics needs no token. */
  hasOpenMetrics?: boolean;
}

interface Shown {
  registry: ModelRegistry;
  gateway: Gateway;
  /** Parts that show values of their own. */
  parts: readonly { show?(metrics: Metrics): void }[];
}

interface Observability {
  observer: RequestObserver | null;
  tracer?: Tracer | undefined;
  pages: readonly StaticPage[];
  /** Services that stop last, so that the traces of what ends are sent. */
  services: readonly Service[];
  show(shown: Shown): void;
}

/** Opens the page of metrics and the export where the settings name them. */
export async function openObservability(options: ObservabilityOptions): Promise<Observability> {
  const { settings, hasOpenMetrics, clock, version } = options;
  const { metrics_token } = settings.server;
  const telemetry = await openExport(options);
  const hasPage = hasOpenMetrics === true || metrics_token !== null;
  if (!hasPage && !telemetry) {
    return { observer: null, pages: [], services: [], show() {} };
  }
  const metrics = await openMetrics();
  registerProcessMetrics(metrics, { startedAt: clock.now(), version });
  const page = createMetricsPage(metrics, hasOpenMetrics ? null : metrics_token);
  return {
    observer: observeRequests(metrics),
    tracer: telemetry?.tracer,
    pages: hasPage ? [page] : [],
    services: telemetry?.open(metrics) ?? [],
    show: (shown) => showMetrics(metrics, shown),
  };
}

/** The code is loaded only where a collector is named. */
async function openExport({
  settings,
  ...options
}: ObservabilityOptions): Promise<Telemetry | null> {
  if (settings.telemetry.otlp === "") return null;
  const { openTelemetry } = await import("../telemetry/index.ts");
  return openTelemetry({ ...options, settings: settings.telemetry });
}

function showMetrics(metrics: Metrics, { registry, gateway, parts }: Shown): void {
  showModels(metrics, registry);
  showReplicas(metrics, () => [
    ...listModelReplicas(registry),
    ...listServiceReplicas(gateway.listStatuses()),
  ]);
  showRequests(metrics, gateway.requestLog);
  showShared(metrics, gateway.listStatuses);
  for (const part of parts) part.show?.(metrics);
}
