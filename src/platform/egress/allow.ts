// Reads the operator's list of places that may be reached although they are not public.

/** One place that the operator opened: plain http, any port named here, any address behind it. */
export interface AllowEntry {
  /** As `URL.hostname` writes it: in lower case, IPv6 in brackets. */
  host: string;
  /** null opens every port. */
  port: number | null;
}

export type AllowVerdict = { ok: true; allow: AllowEntry[] } | { ok: false; why: string };

const form = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+):(\*|[1-9][0-9]{0,4})$/i;

/**
 * Reads entries such as `127.0.0.1:*`, `hooks.acme.internal:443`, `[::1]:8080`; the first bad one
 * refuses all.
 */
export function parseAllowList(texts: readonly string[]): AllowVerdict {
  const allow: AllowEntry[] = [];
  for (const text of texts) {
    const entry = parseEntry(text);
    if (typeof entry === "string") return { ok: false, why: entry };
    allow.push(entry);
  }
  return { ok: true, allow };
}

/**
 * Whether the host and port that a URL names stand on the list; what its name resolves to plays no
 * part.
 */
export function isAllowed(url: URL, allow: readonly AllowEntry[]): boolean {
  const port = portOf(url);
  return allow.some(
    (entry) => entry.host === url.hostname && (entry.port === null || entry.port === port),
  );
}

/** The port a URL leads to, also where it leaves it out. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "http:" ? 80 : 443;
}

/** The entry, or a sentence that says what is wrong with its text. */
function parseEntry(text: string): AllowEntry | string {
  const match = form.exec(text);
  if (match === null) return `"${text}" is not HOST:PORT, [IPV6]:PORT or HOST:*.`;
  const [, name, digits] = match;
  const host = URL.parse(`http://${name}/`)?.hostname ?? null;
  // "127.1" would be read as 127.0.0.1: an opened door must say plainly where it leads.
  const isPlain = name!.startsWith("[") || host === name!.toLowerCase();
  if (host === null || !isPlain) return `"${text}" does not name a host in its usual spelling.`;
  const port = digits === "*" ? null : Number(digits);
  if (port !== null && port > 65_535) return `"${text}" has a port above 65535.`;
  return { host, port };
}
