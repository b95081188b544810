// The installation that a text for a supervisor, a proxy or a container describes.
import { dirname, relative, resolve } from "node:path";
import type { Settings } from "../../settings/index.ts";
import { AdminError } from "../errors.ts";

/** An installation; its paths are absolute. */
export interface Deployment {
  settings: Settings;
  program: string;
  workingDirectory: string;
  /** Absent if no file holds the settings. */
  settingsFile: string | null;
  dataDirectory: string;
  /** The command line names the data directory, so the service must too. */
  namesData: boolean;
}

/** Time without requests after which a proxy closes a connection; the server waits for longer. */
export const PROXY_IDLE_S = 30;

/** A stop ends by itself ten seconds after `server.stop_timeout`. */
const STOP_MARGIN_S = 15;
const NAME = "wadi.example.com";

/** Seconds after which a supervisor may kill a server that stops. */
export function computeStopSeconds({ server }: Settings): number {
  return Math.ceil(server.stop_timeout_ms / 1_000) + STOP_MARGIN_S;
}

/** The public host name, or one to be replaced. */
export function namePublicHost({ server }: Settings): string {
  return URL.parse(server.public_url)?.hostname ?? NAME;
}

/** The address at which a proxy on the same machine finds the server. */
export function placeUpstream({ server }: Settings): string {
  const { host, port } = server;
  if (port === 0) throw new AdminError("a proxy needs a fixed port: set server.port");
  if (host === "0.0.0.0") return `127.0.0.1:${port}`;
  if (host === "::") return `[::1]:${port}`;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Settings with a certificate make a proxy speak TLS, too. */
export function nameScheme({ server }: Settings): "http" | "https" {
  return server.tls.cert === "" ? "http" : "https";
}

/** The settings that the server lacks behind a proxy, as comments. */
export function listProxySettings({ server }: Settings): string[] {
  const lines = [
    ...(server.public_url === "" ? [`public_url = "https://${NAME}"`] : []),
    ...(server.trusted_proxies.length === 0 ? ['trusted_proxies = ["127.0.0.1", "::1"]'] : []),
  ];
  if (lines.length === 0) return [];
  return ["# Settings of [server] for this proxy:", ...lines.map((line) => `#   ${line}`)];
}

/** Lists the other folders that the server writes to; paths as in the settings. */
export function listFolders({ settings, dataDirectory, workingDirectory }: Deployment): string[] {
  const { to } = settings.backup;
  const { secrets_key_file } = settings.server;
  const folders = [
    ...(to === "" || to.startsWith("s3://") ? [] : [to]),
    ...(secrets_key_file === "" ? [] : [dirname(secrets_key_file)]),
  ];
  const isOutside = (path: string) =>
    relative(dataDirectory, resolve(workingDirectory, path)).startsWith("..");
  return [...new Set(folders.filter(isOutside))];
}

/** Lists files that the server only reads; paths as in the settings. */
export function listFiles({ settings }: Deployment): string[] {
  const { server, backup, telemetry, embeddings, search, models } = settings;
  const files = [
    ...[server.tls.cert, server.tls.key, backup.secret_access_key_file, telemetry.headers_file],
    ...[embeddings, search, ...models.map(({ upstream }) => upstream)].map((service) =>
      "api_key_file" in service ? service.api_key_file : "",
    ),
  ];
  return [...new Set(files.filter((file) => file !== ""))];
}

/** Lists variables of the environment whose values the server reads. */
export function listVariables({ settings }: Deployment): string[] {
  const { server, backup, embeddings, search, models } = settings;
  const names = [
    ...[server.database_env, server.database_pooler_env, server.valkey_env],
    ...[server.metrics_token_env, backup.secret_access_key_env],
    ...[embeddings, search, ...models.map(({ upstream }) => upstream)].map((service) =>
      "api_key_env" in service ? service.api_key_env : "",
    ),
  ];
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Quotes a word as a shell reads it. */
export function quoteWord(word: string): string {
  return /^[\w./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
