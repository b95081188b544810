// The HTTP client of one server for one request, within the time that is left for it.
import {
  rootOf,
  type UpstreamError,
  writeHeaders,
  writeRequestHeaders,
} from "../../../models/index.ts";
import type { TrustedServer } from "../../../net/index.ts";
import type { EmbeddingsSettings } from "../../../settings/index.ts";
import { requestServer, type ServerReply } from "../../metered/client.ts";
import type { MeteredBackendOptions } from "../../metered/service.ts";
import type { EmbedRequest } from "../contract.ts";

/**
 * Maximum size of a reply; 64 vectors as text are 2 MB. Parsing blocks the event loop: 15 MB of
 * brackets take half a second and 600 MB.
 */
const REPLY_BYTES_MAX = 4 * 1024 * 1024;

const STANDARD = "/v1/";

/** Other paths than the standard ones follow the server's address without `/v1`. */
export interface ReplicaClient {
  get(path: string): Promise<ServerReply | UpstreamError>;
  post(path: string, body: object): Promise<ServerReply | UpstreamError>;
}

export type OpenReplicaClient = (
  embedRequest: EmbedRequest,
  signal: AbortSignal,
  leftMs: number,
) => ReplicaClient;

export function createReplicaClients(
  url: string,
  settings: EmbeddingsSettings,
  { egress, clock }: MeteredBackendOptions,
): OpenReplicaClient {
  const root = rootOf(url);
  // For TEI the settings name the root; some providers have routes elsewhere than at `/v1`.
  const standard = settings.kind === "tei" ? root + STANDARD : `${url.replace(/\/+$/, "")}/`;
  const { connect_timeout_ms } = settings;
  const headers = writeHeaders(settings);
  const servers = new Map<string, TrustedServer>();
  const open = (path: string) => {
    const known = servers.get(path);
    if (known) return known;
    const address = path.startsWith(STANDARD)
      ? standard + path.slice(STANDARD.length)
      : root + path;
    const server = egress.open(address, { headers, connectTimeoutMs: connect_timeout_ms });
    servers.set(path, server);
    return server;
  };
  return (embedRequest, signal, leftMs) => {
    const until = clock.monotonic() + leftMs;
    const own = writeRequestHeaders(embedRequest);
    const send = (path: string, body?: string) => {
      const timeout_ms = Math.max(0, until - clock.monotonic());
      const { account } = embedRequest;
      const request = { body, account, headers: own, bytesMax: REPLY_BYTES_MAX };
      return requestServer(open(path), { ...request, timeout_ms, clock, signal });
    };
    return {
      get: (path) => send(path),
      post: (path, body) => send(path, JSON.stringify(body)),
    };
  };
}
