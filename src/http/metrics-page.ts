// The page that Prometheus asks: figures of the whole program, for whoever holds its token.
import { createHash, timingSafeEqual } from "node:crypto";
import type { Metrics } from "../platform/metrics.ts";
import type { StaticPage } from "./server.ts";

/** `token` null: anybody may look, which only `dev` allows. */
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

/** In a time that tells nothing of the token, its length included. */
function isToken(header: string | null, token: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(header ?? ""), hash(`Bearer ${token}`));
}
