// State of a running server that its database does not hold.
import type { ModelRegistry } from "../models/index.ts";
import type { Clock } from "../platform/clock.ts";
import type { ServerState } from "./deps.ts";

export function createServerState(
  clock: Pick<Clock, "monotonic">,
  registry: Pick<ModelRegistry, "models">,
  state: Pick<ServerState, "readBackups" | "listServices" | "countStreams" | "sendChat">,
): ServerState {
  const startedAt = clock.monotonic();
  const find = (id: string) => registry.models.find(({ settings }) => settings.id === id)?.backend;
  return {
    ...state,
    uptimeMs: () => clock.monotonic() - startedAt,
    countHealthy(id) {
      const backend = find(id);
      // The model inside has no server.
      if (!backend?.status) return backend && 1;
      const { replicas } = backend.status();
      return replicas.filter(({ isUp, isBreakerOpen }) => isUp && !isBreakerOpen).length;
    },
    findModelServers(id) {
      const backend = find(id);
      if (!backend) return undefined;
      const { managed = null } = backend;
      const status = backend.status?.();
      const waiting = (status?.waiting ?? 0) + (managed?.waiting ?? 0);
      return { waiting, replicas: status?.replicas ?? [], managed };
    },
  };
}

/** Writes which replicas get requests: no commit tells that one is down or up again. */
export function describeReplicas({ models }: Pick<ModelRegistry, "models">): string {
  const replicas = models.flatMap(({ backend }) => backend.status?.().replicas ?? []);
  return replicas.map(({ isUp, isBreakerOpen }) => (isUp && !isBreakerOpen ? 1 : 0)).join("");
}
