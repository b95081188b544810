// Hints at settings that work and are probably not meant.
import { isLoopback } from "../net/index.ts";
import { readExpiry, type Settings } from "../settings/index.ts";

export interface Hint {
  what: "settings" | "data";
  /** A sentence without a full stop. */
  says: string;
}

export interface HintOptions {
  settings: Settings;
  /** File of a SQLite database that the settings do not use. */
  unusedFile: string | null;
  /** Wall time in milliseconds. */
  now: number;
}

/** Time in which an operator still renews a certificate. */
const EXPIRES_SOON_MS = 7 * 86_400_000;

export function listHints({ settings, unusedFile, now }: HintOptions): Hint[] {
  const { server, operator } = settings;
  const hints: Hint[] = [];
  const hasProxy = server.public_url.startsWith("https:") || server.trusted_proxies.length > 0;
  const hasTls = server.tls.cert !== "";
  if (!isLoopback(server.host) && !hasProxy && !hasTls) {
    const says =
      `keys travel unencrypted to ${server.host}: set server.tls, or put a proxy with TLS in ` +
      "front and name it in server.public_url or server.trusted_proxies";
    hints.push({ what: "settings", says });
  }
  const operatorHost = operator.listen.replace(/:\d+$/, "");
  const isOpen = operator.enabled && operatorHost !== "" && !isLoopback(operatorHost);
  if (isOpen && !hasTls && !operator.public_url.startsWith("https:")) {
    const says =
      `operators' tokens travel unencrypted to ${operator.listen}: set server.tls, or put a ` +
      "proxy with TLS in front and name it in operator.public_url";
    hints.push({ what: "settings", says });
  }
  const expires = server.certificate ? readExpiry(server.certificate) : Number.POSITIVE_INFINITY;
  if (expires - now < EXPIRES_SOON_MS) {
    const day = new Date(expires).toISOString().slice(0, 10);
    const verb = expires < now ? "expired" : "expires";
    const says = `the certificate of server.tls ${verb} on ${day}: renew it, and send SIGHUP`;
    hints.push({ what: "settings", says });
  }
  for (const { to, secret } of listClearText(settings)) {
    hints.push({
      what: "settings",
      says: `${secret} travels unencrypted to ${to}: use https, or a tunnel`,
    });
  }
  if (unusedFile !== null) {
    const says = `${unusedFile} is a database out of use: the settings name PostgreSQL`;
    hints.push({ what: "data", says });
  }
  return hints;
}

interface ClearText {
  secret: string;
  to: string;
}

/** Lists addresses beyond this machine that get a secret without TLS. */
function listClearText(settings: Settings): ClearText[] {
  const { models, embeddings, search, telemetry } = settings;
  const found: ClearText[] = [];
  const add = (secret: string, url: string) => {
    const { protocol, hostname, host } = new URL(url);
    if (protocol !== "http:" || isLoopback(hostname)) return;
    found.push({ secret, to: host });
  };
  for (const { id, upstream } of models) {
    if (upstream.kind !== "openai" || upstream.api_key === null) continue;
    for (const url of upstream.urls) add(`the key of the model server of ${id}`, url);
  }
  if (embeddings.api_key !== null) {
    for (const url of embeddings.urls) add("the key of embeddings", url);
  }
  if (search.api_key !== null && search.url !== "") add("the key of search", search.url);
  if (telemetry.otlp !== "" && Object.keys(telemetry.headers).length > 0) {
    add("the header of the collector", telemetry.otlp);
  }
  return found;
}
