// Says whether a URL leads to a place that the operator opened.
import type { AllowEntry } from "./allow-entry.ts";

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
