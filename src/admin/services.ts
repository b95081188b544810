// Embeddings and search for the operator: their servers, their load and their recent times.
import { type Static, Type } from "@sinclair/typebox";
import { MODEL, RequestLogReader } from "../gateway/index.ts";
import { maybe, oneOf } from "../platform/schema.ts";
import type { AdminDeps } from "./deps.ts";
import { findRank, REQUESTS_MAX, WINDOW_MS } from "./model-traffic.ts";
import { ShownServers, showServer } from "./models.ts";

const count = (description: string) => Type.Integer({ description });

export const ListedService = Type.Object({
  id: oneOf(["embeddings", "search"], "Name of the service, and the scope that its callers need."),
  model: maybe(Type.String({ description: "Model that callers send; null: they send none." })),
  kind: Type.String({ description: "Kind of its servers, as in the settings; `off`: none." }),
  state: maybe(
    oneOf(["on", "down", "off"], "`down`: none of its servers is healthy; null: ask the server."),
  ),
  in_flight: maybe(count("Requests of all accounts in work; null: ask the server.")),
  in_flight_max: count("Requests of all accounts at once."),
  waiting: maybe(count("Requests that wait for a place; null: ask the server.")),
  servers: ShownServers,
  requests: count(
    `Requests that ended in the last 15 minutes, among the newest ${REQUESTS_MAX} of all models.`,
  ),
  duration_p50_ms: maybe(count("Milliseconds until the reply of half of them; null: none.")),
  duration_p95_ms: maybe(count("The same, of 95 of 100 requests; null: none.")),
});
export type ListedService = Static<typeof ListedService>;

export function createServiceReader({ database, clock, settings, server }: AdminDeps) {
  const reader = new RequestLogReader(database);
  return async (): Promise<ListedService[]> => {
    const rows = await reader.listTimes(clock.now() - WINDOW_MS, REQUESTS_MAX);
    return (["embeddings", "search"] as const).map((id) => {
      const { kind, max_concurrent } = settings[id];
      const status = server?.listServices().find(({ name }) => name === id);
      const times = rows
        .filter(({ route, code }) => route === id && code === null)
        .map(({ duration_ms }) => duration_ms)
        .sort((a, b) => a - b);
      return {
        id,
        model: id === "embeddings" ? MODEL : null,
        kind,
        state: kind === "off" ? "off" : (status?.state ?? null),
        in_flight: status?.inUse ?? null,
        in_flight_max: max_concurrent,
        waiting: status?.queued ?? null,
        servers: status ? (status.servers?.replicas ?? []).map(showServer) : null,
        requests: times.length,
        duration_p50_ms: findRank(times, 0.5),
        duration_p95_ms: findRank(times, 0.95),
      };
    });
  };
}
