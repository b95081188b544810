// Counts the replies of every route by their status, and how long they took to begin.
import type { Metrics } from "../platform/metrics.ts";
import type { ObserveReply } from "./response.ts";

/** The stable HTTP conventions of OpenTelemetry name the figure, its labels and its buckets. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

export function observeRequests(metrics: Metrics): ObserveReply {
  const duration = metrics.histogram({
    name: "http_server_request_duration_seconds",
    help: "From a request's arrival to the head of its reply; a stream goes on behind it.",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    buckets: SECONDS,
  });
  return ({ method, path }, status, duration_ms) => {
    const labels = {
      http_request_method: method,
      http_route: path,
      http_response_status_code: String(status),
    };
    duration.observe(labels, duration_ms / 1000);
  };
}
