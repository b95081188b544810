// Wires the webhooks module: routes, delivery worker, queries of operators, metrics and sweeps.
import type { Router } from "../http/index.ts";
import { keepReading, type Metrics } from "../platform/metrics.ts";
import type { Service } from "../platform/service.ts";
import { type Sweep, sweepRows } from "../retention/index.ts";
import type { Settings } from "../settings/index.ts";
import { Deliveries } from "./deliveries.ts";
import type { DeliveryRow } from "./delivery.ts";
import { type DeliveryStats, DeliveryWorker } from "./delivery-worker.ts";
import type { WebhookDeps } from "./deps.ts";
import type { EndpointRow, OwnEndpoint } from "./endpoint.ts";
import { Endpoints, showEndpoint } from "./endpoints.ts";
import { writeEvent } from "./event.ts";
import { createBatch, fanOutFirst } from "./fan-out.ts";
import { ATTEMPT_OUTCOMES } from "./response.ts";
import { openWebhookRoutes } from "./routes.ts";
import { showSent } from "./sent.ts";
import { webhookStore } from "./store/index.ts";

export interface Webhooks {
  /** In the order of their start. */
  services: readonly Service[];
  change(): void;
  show(metrics: Metrics): void;
}

/** agents.endpoints.webhooks.p1 */
export function openWebhooks(router: Router, deps: WebhookDeps): Webhooks {
  const { clock, database, disk } = deps;
  const endpoints = new Endpoints(deps);
  const deliveries = new Deliveries(deps);
  openWebhookRoutes(router, { endpoints, deliveries, clock, disk });
  const store = database.bind(webhookStore);
  const worker = new DeliveryWorker(deps, store);
  return {
    services: [worker],
    change: () => worker.wake(),
    show(metrics) {
      showDeliveries(metrics, () => worker.stats());
      const count = keepReading(clock, store.countWaiting);
      metrics.gauge(
        { name: "wadi_deliveries_waiting", help: "Deliveries that wait to be sent." },
        async (set) => {
          const waiting = await count();
          if (waiting !== null) set(waiting);
        },
      );
    },
  };
}

/** Endpoints and deliveries of every account, for operators. */
export function createWebhookQueries(
  deps: Pick<WebhookDeps, "database" | "clock" | "ids" | "settings" | "secrets"> & {
    egress: Pick<WebhookDeps["egress"], "validate">;
  },
) {
  const store = deps.database.bind(webhookStore);
  const endpoints = new Endpoints(deps);
  const deliveries = new Deliveries(deps);
  return {
    create: endpoints.create.bind(endpoints),
    list: store.list,
    find: store.find,
    show: showEndpoint,
    listDeliveries: store.listDeliveries,
    findDelivery: store.findDelivery,
    replay: ({ id, webhook_id, account_id }: DeliveryRow) =>
      deliveries.replay({ id: webhook_id, account_id }, id),
    recover: deliveries.recover.bind(deliveries),
    countLost: store.countLost,
    /** Deliveries since a time that were delivered, and that failed. */
    async countHealth(id: string, since: number) {
      const delivered = await store.countDeliveries(id, "delivered", since);
      return { delivered, failed: await store.countDeliveries(id, "failed", since) };
    },
    test: (own: OwnEndpoint): Promise<DeliveryRow> => deliveries.test(own),
    /** Returns undefined for an endpoint that was deleted meanwhile. */
    async enable(own: OwnEndpoint): Promise<EndpointRow | undefined> {
      const write = () => store.update(own, { status: "enabled" }, createBatch(deps));
      const written = await fanOutFirst(write);
      return written.kind === "ok" ? written.row : undefined;
    },
    /** The attempts at a delivery with what they sent; the body is null once no longer kept. */
    async listSent(delivery: DeliveryRow) {
      const listed = await store.listAttempts(delivery.id);
      const event = await store.findEvent(delivery.event_id);
      return {
        attempts: listed.map((attempt) => showSent(delivery, attempt)),
        body: event ? writeEvent(event) : null,
      };
    },
  };
}

function showDeliveries(metrics: Metrics, stats: () => DeliveryStats): void {
  metrics.gauge(
    { name: "wadi_webhooks_sending", help: "Deliveries being sent by this process." },
    (set) => set(stats().sending),
  );
  metrics.total(
    {
      name: "wadi_webhook_attempts_total",
      help:
        "Attempts at deliveries by outcome: delivered; rejected (not a 2xx); timeout; " +
        "unreachable (no response).",
      labels: ["end"],
    },
    (set) => {
      const { attempts } = stats();
      for (const end of ATTEMPT_OUTCOMES) set(attempts[end], { end });
    },
  );
}

export function createDeliverySweeps({
  database,
  settings,
}: Pick<WebhookDeps, "database"> & { settings(): Pick<Settings, "retention"> }): Sweep[] {
  const store = database.bind(webhookStore);
  return [
    {
      what: "deliveries of deleted endpoints",
      run: (_now, isStopping) => sweepRows(isStopping, store.sweepGone),
    },
    {
      what: "deliveries",
      async run(now, isStopping) {
        const { events } = settings().retention;
        if (events === null) return 0;
        return sweepRows(isStopping, (limit) => store.sweep(now - events, limit));
      },
    },
  ];
}
