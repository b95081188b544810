// Asks one server whatever one request needs of it, within what is left of that request's time.
import {
  rootOf,
  type UpstreamError,
  writeHeaders,
  writeRequestHeaders,
} from "../../../models/index.ts";
import type { TrustedEgress, TrustedServer } from "../../../net/index.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { EmbeddingsSettings } from "../../../settings/index.ts";
import { requestServer, type ServerReply } from "../../metered/client.ts";
import type { EmbedRequest } from "../contract.ts";

/**
 * 64 vectors as text are 2 MB; what a tokenizer tells of 32,000 characters is not much more. What
 * is read at once stops everybody: 15 MB of nothing but brackets take half a second and 600 MB.
 */
const REPLY_BYTES_MAX = 4 * 1024 * 1024;

/** The standard routes stand here; where the settings name another place, it is that place. */
const STANDARD = "/v1/";

/** Any other path stands behind the server's address without `/v1`. */
export interface ReplicaClient {
  get(path: string): Promise<ServerReply | UpstreamError>;
  post(path: string, body: object): Promise<ServerReply | UpstreamError>;
}

export interface ReplicaClientOptions {
  egress: TrustedEgress;
  clock: Clock;
}

export type OpenReplicaClient = (
  ask: EmbedRequest,
  signal: AbortSignal,
  left_ms: number,
) => ReplicaClient;

export function createReplicaClients(
  url: string,
  settings: EmbeddingsSettings,
  { egress, clock }: ReplicaClientOptions,
): OpenReplicaClient {
  const root = rootOf(url);
  // Of TEI the settings name the root; some providers have their routes elsewhere than at `/v1`.
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
  return (ask, signal, left_ms) => {
    const until = clock.monotonic() + left_ms;
    const own = writeRequestHeaders(ask);
    const say = (path: string, body?: string) => {
      const timeout_ms = Math.max(0, until - clock.monotonic());
      const { account } = ask;
      const request = { body, account, headers: own, bytesMax: REPLY_BYTES_MAX };
      return requestServer(open(path), { ...request, timeout_ms, clock, signal });
    };
    return {
      get: (path) => say(path),
      post: (path, body) => say(path, JSON.stringify(body)),
    };
  };
}
