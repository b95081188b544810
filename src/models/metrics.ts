// The metrics of models and of the replicas that serve them.
import type { Metrics } from "../platform/metrics.ts";
import type { ModelRegistry } from "./registry.ts";
import type { ReplicaStatus, ReplicasStatus } from "./replicas/replicas.ts";

export function showModels(metrics: Metrics, registry: Pick<ModelRegistry, "models">): void {
  metrics.gauge(
    {
      name: "wadi_model_up",
      help: "1: its servers would answer or can be started; 0: all of them are down.",
      labels: ["gen_ai_request_model"],
    },
    (set) => {
      for (const { settings, backend } of registry.models) {
        set(backend.isDown() ? 0 : 1, { gen_ai_request_model: settings.id });
      }
    },
  );
}

/** The replicas of one model, or of a service beside chat. */
export interface ServedReplicas extends ReplicasStatus {
  operation: string;
}

export function listModelReplicas({ models }: Pick<ModelRegistry, "models">): ServedReplicas[] {
  return models.flatMap(({ backend }) => {
    const status = backend.status?.();
    return status ? [{ operation: "chat", ...status }] : [];
  });
}

const MODEL = ["gen_ai_operation_name", "gen_ai_request_model"] as const;

export function showReplicas(metrics: Metrics, list: () => readonly ServedReplicas[]): void {
  const show = (name: string, help: string, read: (replica: ReplicaStatus) => number) =>
    metrics.gauge({ name, help, labels: [...MODEL, "replica"] }, (set) => {
      for (const { operation, model, replicas } of list()) {
        const labels = { gen_ai_operation_name: operation, gen_ai_request_model: model };
        for (const replica of replicas) {
          set(read(replica), { ...labels, replica: replica.name });
        }
      }
    });
  show("wadi_replica_up", "1: it answered the last health checks; 0: it did not.", ({ isUp }) =>
    isUp ? 1 : 0,
  );
  show(
    "wadi_replica_requests_in_flight",
    "Requests that it works on for this process.",
    ({ inFlight }) => inFlight,
  );
  show(
    "wadi_replica_breaker_open",
    "1: after repeated failures others are asked first; 0: it has none.",
    ({ isBreakerOpen }) => (isBreakerOpen ? 1 : 0),
  );
  metrics.gauge(
    {
      name: "wadi_model_requests_waiting",
      help: "Requests that wait for a slot at one of its replicas.",
      labels: MODEL,
    },
    (set) => {
      for (const { operation, model, waiting } of list()) {
        set(waiting, { gen_ai_operation_name: operation, gen_ai_request_model: model });
      }
    },
  );
}
