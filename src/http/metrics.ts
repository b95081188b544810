// The metrics page for Prometheus, and the metric of requests.

import { createHash, timingSafeEqual } from "node:crypto";
import type { Metrics } from "../platform/metrics.ts";
import type { RequestObserver } from "./response.ts";
import type { StaticPage } from "./server.ts";

/** Without a token the page is public, which only `dev` allows. */
export function createMetricsPage(metrics: Metrics, token: string | null): StaticPage {
  return {
    path: "/metrics",
    async answer(request) {
      const headers = { "cache-control": "no-store" };
      if (token !== null && !isToken(request.headers.get("authorization"), token)) {
        return new Response("the metrics token is needed: Authorization: Bearer TOKEN\n", {
          status: 401,
          headers: {
            ...headers,
            "content-type": "text/plain; charset=utf-8",
            "www-authenticate": "Bearer",
          },
        });
      }
      return new Response(await metrics.write(), {
        headers: { ...headers, "content-type": "text/plain; version=0.0.4; charset=utf-8" },
      });
    },
  };
}

/** Compares in a time that reveals nothing about the token, its length included. */
function isToken(header: string | null, token: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(header ?? ""), hash(`Bearer ${token}`));
}

/** Bounds of buckets by OpenTelemetry's HTTP conventions, as are the metric's name and labels. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

export function observeRequests(metrics: Metrics): RequestObserver {
  const duration = metrics.histogram({
    name: "http_server_request_duration_seconds",
    help: "From a request's arrival to the head of its reply, without the rest of a stream.",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    buckets: SECONDS,
  });
  const refusals = metrics.counter({
    name: "wadi_refusals_total",
    help: "Requests that got an error reply, by its code; limits have codes of their own.",
    labels: ["code"],
  });
  return {
    onReply({ method, path }, status, duration_ms) {
      const labels = {
        http_request_method: method,
        http_route: path,
        http_response_status_code: String(status),
      };
      duration.observe(labels, duration_ms / 1000);
    },
    onRefusal: (code) => refusals.inc({ code }),
  };
}
