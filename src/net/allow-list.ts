// The operator's list of places that requests to strangers' addresses may reach although private.

/** A place that is also opened for plain http and for any address behind its name. */
export interface AllowEntry {
  /** Form of `URL.hostname`: in lower case, IPv6 in brackets. */
  host: string;
  port: number | "any";
}

const ENTRY = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253}):(\*|[1-9][0-9]{0,4})$/i;

/**
 * Reads `127.0.0.1:*`, `hooks.acme.internal:443` or `[::1]:8080`; throws a RangeError whose message
 * is "must …".
 */
export function readAllowEntry(text: string): AllowEntry {
  const [, name = "", digits = ""] = ENTRY.exec(text) ?? [];
  if (name === "") throw new RangeError("must be HOST:PORT, HOST:* or [IPV6]:PORT");
  const host = URL.parse(`http://${name}/`)?.hostname ?? null;
  // "127.1" is read as 127.0.0.1: an entry must say plainly what it opens.
  const isPlain = name.startsWith("[") || host === name.toLowerCase();
  if (host === null || !isPlain) throw new RangeError("must name its host in the usual spelling");
  const port = digits === "*" ? "any" : Number(digits);
  if (port !== "any" && port > 65_535) throw new RangeError("must have a port up to 65535");
  return { host, port };
}

export function writeAllowEntry({ host, port }: AllowEntry): string {
  return `${host}:${port === "any" ? "*" : port}`;
}

/** Tests if the list names the host and port of a URL, without resolving the name. */
export function isAllowed(url: URL, allow: readonly AllowEntry[]): boolean {
  const port = portOf(url);
  return allow.some(
    (entry) => entry.host === url.hostname && (entry.port === "any" || entry.port === port),
  );
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "http:" ? 80 : 443;
}
