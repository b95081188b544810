// What Prometheus is shown of the models: which of them would answer.
import type { Metrics } from "../platform/metrics.ts";
import type { ModelRegistry } from "./registry.ts";

export function showModels(metrics: Metrics, registry: Pick<ModelRegistry, "served">): void {
  metrics.gauge(
    {
      name: "wadi_model_up",
      help: "1: its servers would answer or can be started; 0: all of them are down.",
      labels: ["gen_ai_request_model"],
    },
    (set) => {
      for (const { settings, backend: supply } of registry.served()) {
        set(supply.isDown() ? 0 : 1, { gen_ai_request_model: settings.id });
      }
    },
  );
}
