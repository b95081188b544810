// Reads a place that the operator opens to strangers' addresses although it is not public.

/** One such place: also for plain http, and whatever address is behind it. */
export interface AllowEntry {
  /** As `URL.hostname` writes it: in lower case, IPv6 in brackets. */
  host: string;
  /** null opens every port. */
  port: number | null;
}

const form = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253}):(\*|[1-9][0-9]{0,4})$/i;

/**
 * `127.0.0.1:*`, `hooks.acme.internal:443` or `[::1]:8080`; throws a RangeError that says what an
 * entry must be.
 */
export function readAllowEntry(text: string): AllowEntry {
  const [, name = "", digits = ""] = form.exec(text) ?? [];
  if (name === "") throw new RangeError("must be HOST:PORT, HOST:* or [IPV6]:PORT");
  const host = URL.parse(`http://${name}/`)?.hostname ?? null;
  // "127.1" would be read as 127.0.0.1: an opened door must say plainly where it leads.
  const isPlain = name.startsWith("[") || host === name.toLowerCase();
  if (host === null || !isPlain) throw new RangeError("must name its host in the usual spelling");
  const port = digits === "*" ? null : Number(digits);
  if (port !== null && port > 65_535) throw new RangeError("must have a port up to 65535");
  return { host, port };
}

/** An entry in the words that it is read from. */
export function writeAllowEntry({ host, port }: AllowEntry): string {
  return `${host}:${port ?? "*"}`;
}
