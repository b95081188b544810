// The deprecation of unknown model ids: its dates, its headers and its page.

/** gateway.errors.headers.deprecation */
const DEPRECATED_SINCE = Date.UTC(2026, 8, 27);
/** gateway.errors.headers.sunset: from here on every such reply announces the end. */
const SUNSET_ANNOUNCED_AT = Date.UTC(2026, 10, 26);
/** gateway.versioning.3: from here on unknown ids are errors. */
const SUNSET_AT = Date.UTC(2027, 0, 4);
const SUNSET = "Mon, 04 Jan 2027 00:00:00 GMT";

export function hasSunset(now: number): boolean {
  return now >= SUNSET_AT;
}

/** gateway.errors.headers.link: the headers of a reply to a request with an unknown id. */
export function writeDeprecation(now: number, changelog_url: string): Record<string, string> {
  const headers: Record<string, string> = {
    deprecation: `@${DEPRECATED_SINCE / 1000}`,
    link: `<${changelog_url}>; rel="deprecation"; type="text/html"`,
  };
  if (now >= SUNSET_ANNOUNCED_AT) headers.sunset = SUNSET;
  return headers;
}

export function writeChanges(alias: string): string {
  return `# Changes of the API

## Unknown model ids

A chat request with a model id that this service does not know is answered by the default model.
This is deprecated since ${writeDay(DEPRECATED_SINCE)}. Such replies carry the header
\`Deprecation\`.

It ends on ${writeDay(SUNSET_AT)} at 00:00 UTC. From then on the reply is 404 \`model_not_found\`.

Requests with \`${alias}\`, with an id of \`GET /v1/models\`, or without \`model\` are not affected.
`;
}

function writeDay(instant: number): string {
  return new Date(instant).toLocaleDateString("en-GB", { dateStyle: "long", timeZone: "UTC" });
}
