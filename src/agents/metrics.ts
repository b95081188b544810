// What Prometheus is shown of runs: how many are executed now.
import type { Metrics } from "../platform/metrics.ts";

export function showRuns(metrics: Metrics, look: () => { executing: number }): void {
  metrics.gauge(
    {
      name: "wadi_runs_executing",
      help: "Runs that this process executes now, those that wait to ask a model again included.",
    },
    (set) => set(look().executing),
  );
}
