// What answers embeddings behind the gateway: the servers that the settings name, joined.
import {
  createHealthCheck,
  nameHealth,
  Replicas,
  rootOf,
  writeHeaders,
} from "../../../models/index.ts";
import type { EmbeddingsSettings } from "../../../settings/index.ts";
import type { MeteredBackendOptions } from "../../metered/service.ts";
import { type Embedded, type Embedder, MODEL } from "../contract.ts";
import { createReplicaEmbed, type ReplicaEmbed } from "./replica.ts";

/** `kind` says how they are spoken to; nothing is asked before its start. */
export function createUpstreamEmbedder(
  settings: EmbeddingsSettings,
  around: MeteredBackendOptions,
): Embedder {
  const { urls, health_every_ms, timeout_ms, connect_timeout_ms } = settings;
  const headers = writeHeaders(settings);
  const openCheck = (url: string) => {
    const address = rootOf(url) + nameHealth(settings);
    return createHealthCheck(
      around.egress.open(address, { headers, connectTimeoutMs: connect_timeout_ms }),
    );
  };
  const servers = urls.map((url) => ({
    name: new URL(url).host,
    server: createReplicaEmbed(url, settings, around),
    check: health_every_ms === 0 ? null : openCheck(url),
  }));
  const replicas = new Replicas<ReplicaEmbed>(servers, {
    model: MODEL,
    // The capacity that all accounts share is the limit.
    max_in_flight: 0,
    health_every_ms,
    // gateway.errors.upstream_timeout: all replicas that are asked share the time.
    first_token_timeout_ms: timeout_ms,
    ...around,
  });
  return {
    embed: (wish, signal) =>
      replicas.call<Embedded>({ account: wish.account, signal }, (embed, _heard, left_ms) =>
        embed(wish, signal, left_ms),
      ),
    isDown: () => replicas.isDown(),
    start: () => replicas.start(),
    stop: () => replicas.stop(),
  };
}
