// Unknown model ids: since when they are deprecated, until when answered, and what says so.

/** gateway.errors.headers.deprecation */
export const DEPRECATED_SINCE = Date.UTC(2026, 8, 27);
/** gateway.errors.headers.sunset: from here on the end is announced in every such reply. */
const SUNSET_ANNOUNCED_AT = Date.UTC(2026, 10, 26);
/** gateway.versioning.3: from here on an unknown id is not found. */
export const SUNSET_AT = Date.UTC(2027, 0, 4);
const SUNSET = "Mon, 04 Jan 2027 00:00:00 GMT";

/** True when an unknown id is no longer answered by the default model. */
export function hasSunset(now: number): boolean {
  return now >= SUNSET_AT;
}

/** The headers of a reply to a request that named an unknown id (gateway.errors.headers.link). */
export function writeDeprecation(now: number, changelog_url: string): Record<string, string> {
  const headers: Record<string, string> = {
    deprecation: `@${DEPRECATED_SINCE / 1000}`,
    link: `<${changelog_url}>; rel="deprecation"; type="text/html"`,
  };
  if (now >= SUNSET_ANNOUNCED_AT) headers.sunset = SUNSET;
  return headers;
}
