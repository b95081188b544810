// Hints at settings that work and are probably not meant.
import { isLoopback } from "../net/index.ts";
import type { Settings } from "../settings/index.ts";

export interface Hint {
  what: "settings" | "data";
  /** A sentence without a full stop. */
  says: string;
}

export interface HintOptions {
  settings: Settings;
  /** File of a SQLite database that the settings do not use. */
  unusedFile: string | null;
}

export function listHints({ settings, unusedFile }: HintOptions): Hint[] {
  const { server, operator } = settings;
  const hints: Hint[] = [];
  const hasProxy = server.public_url.startsWith("https:") || server.trusted_proxies.length > 0;
  if (!isLoopback(server.host) && !hasProxy) {
    const says =
      `keys travel unencrypted to ${server.host}: put a proxy with TLS in front, and name it in ` +
      "server.public_url or server.trusted_proxies";
    hints.push({ what: "settings", says });
  }
  const operatorHost = operator.listen.replace(/:\d+$/, "");
  if (operator.enabled && operatorHost !== "" && !isLoopback(operatorHost)) {
    const says =
      `operators' tokens travel unencrypted to ${operator.listen}: ` +
      "put a proxy with TLS in front";
    hints.push({ what: "settings", says });
  }
  if (unusedFile !== null) {
    const says = `${unusedFile} is a database out of use: the settings name PostgreSQL`;
    hints.push({ what: "data", says });
  }
  return hints;
}
