// Components of the document: error schemas, headers and parameters.

import type { PublicSurface } from "../../platform/errors.ts";
import type { SpecObject } from "./schemas.ts";

const text = (description: string) => ({ type: "string", description });

const message = text("A sentence for people.");
const type = text("The kind of error, which follows the status.");

export const ERROR_SCHEMAS: Record<PublicSurface, SpecObject> = {
  gateway: {
    type: "object",
    description: "The gateway's error envelope. Branch on `error.code`, never on the message.",
    required: ["error", "request_id", "statusCode", "message", "code"],
    properties: {
      error: {
        type: "object",
        description: "What went wrong.",
        required: ["message", "type", "code"],
        properties: {
          message,
          type,
          code: text("What went wrong; codes are only ever added."),
          param: {
            type: ["string", "null"],
            description:
              "The first offending field; null: none; absent where the route itself needs a scope.",
          },
        },
      },
      request_id: text("Repeats the x-request-id header."),
      statusCode: { type: "integer", description: "For older clients only: the HTTP status." },
      message: {
        type: "array",
        items: { type: "string" },
        description: "For older clients only: the message.",
      },
      code: text("For older clients only: the code."),
    },
  },
  agents: {
    type: "object",
    description: "The agent service's error envelope.",
    required: ["error"],
    properties: {
      error: {
        type: "object",
        description: "What went wrong.",
        required: ["message", "type"],
        properties: {
          message,
          type,
          code: text(
            "What went wrong; absent where the status says it all: validation, 401, 413, the " +
              "request limit, 500.",
          ),
          param: { type: ["string", "null"], description: "The field at fault; null: none." },
        },
      },
    },
  },
};
export const ERROR_NAMES: Record<PublicSurface, string> = {
  gateway: "GatewayError",
  agents: "AgentError",
};

const header = (description: string, schema: SpecObject = { type: "string" }) => {
  return { description, schema };
};

const ABSENT =
  "Of the limit with the least left; absent without one, and unless the operator has set " +
  "`service.ratelimit_headers`.";
const limitHeader = (what: string, which: string) =>
  header(`${what} that ${which}. ${ABSENT}`, { type: "integer", minimum: 0 });
const resetHeader = (what: string) =>
  header(`Time until the period of this limit of ${what} ends, such as \`6m0s\`. ${ABSENT}`);

export const HEADERS = {
  "x-request-id": header("The id that the caller sent where it is well formed, else a fresh one."),
  "request-id": header("Repeats x-request-id."),
  "retry-after": header(
    "Whole seconds to wait: with the request limit, budgets, `capacity_exceeded`, " +
      "`admission_busy`, `active_runs_limit`, `daily_runs_limit`, a hook's `rate_limited` and " +
      "`agent_held` always, with `service_unavailable` where they are known, and never with " +
      "`upstream_rate_limited` and `too_many_streams`.",
    { type: "integer", minimum: 1 },
  ),
  "preference-applied": header(
    "`wait=N`: the preference was applied, with the seconds that were allowed. Absent: none was " +
      "sent, or the key has 20 waits already.",
  ),
  "x-should-retry": header(
    "`false`: the work was spent, the wait is long, or a budget never allows it; do not retry " +
      "by yourself.",
    { type: "string", const: "false" },
  ),
  "x-ratelimit-limit-requests": limitHeader("Requests", "the operator allows in a period"),
  "x-ratelimit-limit-tokens": limitHeader("Tokens", "the operator allows in a period"),
  "x-ratelimit-remaining-requests": limitHeader("Requests", "are left in the period"),
  "x-ratelimit-remaining-tokens": limitHeader("Tokens", "are left in the period"),
  "x-ratelimit-reset-requests": resetHeader("requests"),
  "x-ratelimit-reset-tokens": resetHeader("tokens"),
  deprecation: header(
    "Since when the unknown model id of this request is deprecated, as `@` and Unix seconds; " +
      "absent where the id is known.",
  ),
  link: header("With `deprecation`: the page that tells of it, with `rel=deprecation`."),
  sunset: header("With `deprecation`, from 26 November 2026: the date of its end."),
  "server-timing": header(
    "Milliseconds of a JSON reply: `wait` for a place or a start, `upstream` in the answer of " +
      "a server or of what stands in for it, `total` since the request was here.",
  ),
  "x-wadi-ignored": header(
    "Unlisted fields of the request that asked for something and were ignored, separated by " +
      "commas: `n` (of 1 nothing is lost), `max_completion_tokens`, and `response_format` where " +
      "it is malformed or the model lacks the capability `structured_outputs`; in a message " +
      "`top_k`, and `thinking` where the key or the model may not reason. Absent: none.",
  ),
} satisfies SpecObject;
export type DocumentedHeader = keyof typeof HEADERS;

const requiredHeader = (name: string, description: string, pattern: string) => ({
  ...{ name, in: "header", required: true, description },
  schema: { type: "string", pattern },
});

export const PARAMETERS = {
  "x-request-id": {
    name: "x-request-id",
    in: "header",
    description:
      "An id of the caller's for this request: 1 to 128 of letters, digits, `._:-`; " +
      "any other text is replaced.",
    schema: { type: "string" },
  },
  "idempotency-key": {
    name: "Idempotency-Key",
    in: "header",
    description:
      "The caller's own word for this request: within 24 hours the same word with the same body " +
      "is answered with what it made the first time, and with another body refused.",
    schema: { type: "string", pattern: "^[ -~]{1,128}$" },
  },
  prefer: {
    name: "Prefer",
    in: "header",
    description:
      "`wait=N` (RFC 7240): answer later, after N seconds at most; above 60 means 60. Other " +
      "preferences are ignored.",
    schema: { type: "string" },
  },
  "webhook-id": requiredHeader(
    "webhook-id",
    "The sender's own word for this message, the same each time that it is sent again.",
    "^[ -~]{1,128}$",
  ),
  "webhook-timestamp": requiredHeader(
    "webhook-timestamp",
    "When it was signed, in whole seconds since 1970: within 300 seconds of this clock.",
    "^[0-9]{1,15}$",
  ),
  "webhook-signature": requiredHeader(
    "webhook-signature",
    "`v1,` and the HMAC-SHA256, in base64, of `ID.TIMESTAMP.BODY`; several with spaces between.",
    "v1,[A-Za-z0-9+/]{43}=",
  ),
} satisfies SpecObject;
export type RequestHeader = Exclude<keyof typeof PARAMETERS, "x-request-id">;
