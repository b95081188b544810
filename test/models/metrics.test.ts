// Tests the metrics of models and their replicas for Prometheus.
import { expect, test } from "bun:test";
import { listModelReplicas, showModels, showReplicas } from "../../src/models/metrics.ts";
import type { ModelRegistry } from "../../src/models/registry.ts";
import { openMetrics } from "../../src/platform/metrics.ts";

const REPLICAS = [
  { name: "a:1", isUp: true, inFlight: 3, isBreakerOpen: false },
  { name: "b:1", isUp: false, inFlight: 0, isBreakerOpen: true },
];

/** One model with two replicas, and one inside the program, whose servers are down. */
const registry = {
  models: [
    {
      settings: { id: "m-1" },
      backend: {
        isDown: () => false,
        status: () => ({ model: "m-1", waiting: 7, replicas: REPLICAS }),
      },
    },
    { settings: { id: "m-2" }, backend: { isDown: () => true } },
  ],
} as unknown as ModelRegistry;

test("each model and replica has its state and its load", async () => {
  const metrics = await openMetrics();
  showModels(metrics, registry);
  showReplicas(metrics, () => listModelReplicas(registry));
  const lines = (await metrics.write()).split("\n");
  const model = 'gen_ai_operation_name="chat",gen_ai_request_model="m-1"';
  expect(lines.filter((line) => /^wadi_(model|replica)/.test(line))).toEqual([
    'wadi_model_up{gen_ai_request_model="m-1"} 1',
    'wadi_model_up{gen_ai_request_model="m-2"} 0',
    `wadi_replica_up{${model},replica="a:1"} 1`,
    `wadi_replica_up{${model},replica="b:1"} 0`,
    `wadi_replica_requests_in_flight{${model},replica="a:1"} 3`,
    `wadi_replica_requests_in_flight{${model},replica="b:1"} 0`,
    `wadi_replica_breaker_open{${model},replica="a:1"} 0`,
    `wadi_replica_breaker_open{${model},replica="b:1"} 1`,
    `wadi_model_requests_waiting{${model}} 7`,
  ]);
});
