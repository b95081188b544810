// What Prometheus is shown of embeddings and search: whether they answer, and how full they are.
import type { Metrics } from "../../platform/metrics.ts";
import type { MeteredStatus } from "./service.ts";

/** One that is off has no lines: nobody is to be woken for what the operator has switched off. */
export function showShared(metrics: Metrics, look: () => readonly MeteredStatus[]): void {
  const show = (words: { name: string; help: string }, read: (sight: MeteredStatus) => number) =>
    metrics.gauge({ ...words, labels: ["service"] }, (set) => {
      for (const sight of look()) {
        if (sight.state !== "off") set(read(sight), { service: sight.name });
      }
    });
  show(
    {
      name: "wadi_service_up",
      help: "1: it would answer; 0: by what was seen last, nobody would.",
    },
    ({ state }) => (state === "on" ? 1 : 0),
  );
  show(
    { name: "wadi_service_requests_in_use", help: "Places of its shared capacity that are taken." },
    ({ inUse }) => inUse,
  );
  show(
    { name: "wadi_service_requests_queued", help: "Requests that wait for one of those places." },
    ({ queued }) => queued,
  );
}
