// Tests the metrics of embeddings and search for Prometheus.
import { expect, test } from "bun:test";
import { type createGateway, showShared } from "../../../src/gateway/index.ts";
import { openMetrics } from "../../../src/platform/metrics.ts";
import { startApp } from "../../support/app.ts";

type Status = ReturnType<ReturnType<typeof createGateway>["listStatuses"]>[number];

/** The samples of the services, in output order. */
const listSamples = (text: string) =>
  text.split("\n").filter((line) => line.startsWith("wadi_service"));

test("each service has its state and its load; one that is off has no lines", async () => {
  const metrics = await openMetrics();
  const statuses: Status[] = [
    { name: "embeddings", state: "on", inUse: 3, queued: 2 },
    { name: "search", state: "down", inUse: 1, queued: 0 },
  ];
  showShared(metrics, () => statuses);
  expect(listSamples(await metrics.write())).toEqual([
    'wadi_service_up{service="embeddings"} 1',
    'wadi_service_up{service="search"} 0',
    'wadi_service_requests_in_use{service="embeddings"} 3',
    'wadi_service_requests_in_use{service="search"} 1',
    'wadi_service_requests_queued{service="embeddings"} 2',
    'wadi_service_requests_queued{service="search"} 0',
  ]);
  statuses[1]!.state = "off";
  expect(listSamples(await metrics.write())).toEqual([
    'wadi_service_up{service="embeddings"} 1',
    'wadi_service_requests_in_use{service="embeddings"} 3',
    'wadi_service_requests_queued{service="embeddings"} 2',
  ]);
});

test("the page of a server without the services has no lines of them", async () => {
  const settings = '[embeddings]\nkind = "off"\n[search]\nkind = "off"\n';
  const app = await startApp({ settings, hasOpenMetrics: true });
  const text = await (await app.get("/metrics", { key: null })).text();
  expect(text).toContain("# TYPE wadi_service_up gauge");
  expect(listSamples(text)).toEqual([]);
  await app.stop();
});
