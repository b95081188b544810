// The page /docs/changes says what is deprecated, since when and until when.
import { DEPRECATED_SINCE, SUNSET_AT } from "./deprecation.ts";

/** Returns the page as Markdown. */
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
