// The OpenAPI 3.1.0 document: each route's own words, and every schema by its name.
import type { TObject, TSchema } from "@sinclair/typebox";
import type { Elysia } from "elysia";
import { CATALOGUE, type Code, type Half, shownCode } from "../platform/refusal.ts";
import type { Door } from "./door.ts";
import { NOT_OPEN } from "./half-rules.ts";
import { REQUEST_ID } from "./request-id.ts";
import type { RouteSpec } from "./route.ts";

type Json = Record<string, unknown>;

/** Refusals that any route can answer with; the last while the program is being stopped. */
const EVERYWHERE: Code[] = ["rate_limit_exceeded", "service_unavailable"];
const WITH_KEY: Code[] = [
  ...(["missing_api_key", "invalid_api_key", "permission_denied", "internal_error"] as const),
];

const ERROR_SCHEMAS: Record<Half, Json> = {
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
          message: { type: "string", description: "A sentence for people." },
          type: { type: "string", description: "The kind of error, which follows the status." },
          code: { type: "string", description: "What went wrong; codes are only ever added." },
          param: {
            type: ["string", "null"],
            description:
              "The first offending field; null: none; absent where the route itself needs a scope.",
          },
        },
      },
      request_id: { type: "string", description: "Repeats the x-request-id header." },
      statusCode: { type: "integer", description: "For older clients only: the HTTP status." },
      message: {
        type: "array",
        items: { type: "string" },
        description: "For older clients only: the message.",
      },
      code: { type: "string", description: "For older clients only: the code." },
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
          message: { type: "string", description: "A sentence for people." },
          type: { type: "string", description: "The kind of error, which follows the status." },
          code: {
            type: "string",
            description:
              "What went wrong; absent where the status says it all: validation, 401, 413, the " +
              "request limit, 500.",
          },
          param: { type: ["string", "null"], description: "The field at fault; null: none." },
        },
      },
    },
  },
};
const ERROR_NAMES: Record<Half, string> = { gateway: "GatewayError", agents: "AgentError" };

/** What Elysia keeps beside a route for the document. */
export function documentRoute(spec: RouteSpec, half: Half): Json {
  const responses: Json = {};
  for (const [status, reply] of Object.entries(spec.replies)) {
    const { description, schema, stream, headers = [] } = reply;
    const content: Json = {};
    if (schema) content["application/json"] = { schema: refer(schema) };
    if (stream) content["text/event-stream"] = { schema: refer(stream) };
    responses[status] = {
      description,
      ...((schema || stream) && { content }),
      headers: referHeaders(["x-request-id", ...headers]),
    };
  }
  for (const [status, lines] of groupByStatus(spec, half)) {
    const schema = { $ref: `#/components/schemas/${ERROR_NAMES[half]}` };
    const content = { "application/json": { schema } };
    const names: DocumentedHeader[] = ["x-request-id"];
    if (status === 429) names.push("retry-after");
    names.push(...(spec.refusal_headers?.[status] ?? []));
    responses[status] = { description: lines.join("\n"), content, headers: referHeaders(names) };
  }
  const detail: Json = { summary: spec.summary, tags: [half], responses };
  // agents.authentication.1
  if (spec.is_signed) detail.security = [];
  // gateway.authentication.4
  const scope = spec.scope ? `Needs the scope \`${spec.scope}\`.` : "";
  const description = [spec.description, scope].filter(Boolean).join(" ");
  if (description !== "") detail.description = description;
  if (spec.body) {
    const content = { "application/json": { schema: refer(spec.body) } };
    // An empty body is `{}`, save of what is signed.
    const required = spec.is_signed === true || (spec.body.required ?? []).length > 0;
    detail.requestBody = { required, content };
  }
  return detail;
}

const HEADERS = {
  "x-request-id": {
    description: "The id that the caller sent where it is well formed, else a fresh one.",
    schema: { type: "string" },
  },
  "retry-after": {
    description:
      "Whole seconds to wait: with the request limit, `capacity_exceeded`, `admission_busy`, " +
      "`active_runs_limit`, `daily_runs_limit`, a hook's `rate_limited` and `agent_held` always, " +
      "with `service_unavailable` where they are known, and never with `upstream_rate_limited` " +
      "and `too_many_streams`.",
    schema: { type: "integer", minimum: 1 },
  },
  "x-should-retry": {
    description: "`false`: the work was spent, or the wait is long; do not retry by yourself.",
    schema: { type: "string", const: "false" },
  },
  deprecation: {
    description:
      "Since when the unknown model id of this request is deprecated, as `@` and Unix seconds; " +
      "absent where the id is known.",
    schema: { type: "string" },
  },
  link: {
    description: "With `deprecation`: the page that tells of it, with `rel=deprecation`.",
    schema: { type: "string" },
  },
  sunset: {
    description: "With `deprecation`, from 26 November 2026: the date of its end.",
    schema: { type: "string" },
  },
  "server-timing": {
    description:
      "Milliseconds of a JSON reply: `wait` for a place or a start, `upstream` in the answer of " +
      "a server or of what stands in for it, `total` since the request was here.",
    schema: { type: "string" },
  },
  "x-wadi-ignored": {
    description:
      "Unlisted fields of the request that asked for something and were ignored, separated by " +
      "commas: `n` (of 1 nothing is lost), `max_completion_tokens`, and `response_format` where " +
      "it is malformed or the model lacks the capability `structured_outputs`. Absent: none.",
    schema: { type: "string" },
  },
} satisfies Json;
export type DocumentedHeader = keyof typeof HEADERS;

const header = (name: string, description: string, pattern: string) => ({
  ...{ name, in: "header", required: true, description },
  schema: { type: "string", pattern },
});

const PARAMETERS = {
  "x-request-id": {
    name: "x-request-id",
    in: "header",
    description: "An id of the caller's for this request; any other text is replaced.",
    schema: { type: "string", pattern: REQUEST_ID.source },
  },
  "idempotency-key": {
    name: "Idempotency-Key",
    in: "header",
    description:
      "The caller's own word for this request: within 24 hours the same word with the same body " +
      "is answered with what it made the first time, and with another body refused.",
    schema: { type: "string", pattern: "^[ -~]{1,128}$" },
  },
  "webhook-id": header(
    "webhook-id",
    "The sender's own word for this message, the same each time that it is sent again.",
    "^[ -~]{1,128}$",
  ),
  "webhook-timestamp": header(
    "webhook-timestamp",
    "When it was signed, in whole seconds since 1970: within 300 seconds of this clock.",
    "^[0-9]{1,15}$",
  ),
  "webhook-signature": header(
    "webhook-signature",
    "`v1,` and the HMAC-SHA256, in base64, of `ID.TIMESTAMP.BODY`; several with spaces between.",
    "v1,[A-Za-z0-9+/]{43}=",
  ),
} satisfies Json;
/** What a route reads of a request's head, beside what every route does. */
export type RequestHeader = Exclude<keyof typeof PARAMETERS, "x-request-id">;

/** The generator knows those in the path only, and nothing of what they are. */
function listParameters({ params, query, request_headers = [] }: RouteSpec): Json[] {
  const headers = [...request_headers, "x-request-id"];
  return [
    ...describeParameters("path", params),
    ...describeParameters("query", query),
    ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function describeParameters(place: "path" | "query", schema?: TObject): Json[] {
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => {
    const { description, ...rest } = strip(field);
    const required = schema!.required?.includes(name) ?? false;
    return { name, in: place, required, description, schema: rest };
  });
}

function referHeaders(names: readonly DocumentedHeader[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function listRefusals(spec: RouteSpec, half: Half): Code[] {
  const codes = [...EVERYWHERE, ...spec.refusals];
  if (!spec.is_signed) codes.push(...WITH_KEY);
  if (spec.scope) codes.push("scope_required");
  // agents.errors.not_enabled: of one feature of an open service.
  if (spec.feature) codes.push("not_enabled");
  // agents.errors.p9: every route of the agent half refuses a query that it does not know.
  if (spec.body || spec.params || spec.query || half === "agents") codes.push("validation");
  if (spec.body) codes.push("request_too_large");
  return codes;
}

function groupByStatus(spec: RouteSpec, half: Half): Map<number, string[]> {
  const { refusal_sentences = {}, is_signed } = spec;
  const groups = new Map<number, string[]>();
  // agents.p5: its second status, which only the door answers with.
  if (half === "agents") groups.set(503, [`\`not_enabled\`: ${NOT_OPEN}`]);
  for (const code of new Set(listRefusals(spec, half))) {
    const entry = CATALOGUE[code];
    const { message } = entry;
    // Who signs is forbidden nothing: not now, says its route.
    const status = is_signed && "also" in entry ? entry.also : entry.status;
    const shown = shownCode(code, half);
    const sentence = refusal_sentences[code] ?? message;
    const line = shown === null ? sentence : `\`${shown}\`: ${sentence}`;
    groups.set(status, [...(groups.get(status) ?? []), line]);
  }
  return groups;
}

/**
 * agents.p4, agents.versioning.4: the whole document. The generator is loaded at first need, since
 * few starts ever ask for it.
 */
async function writeDocument(app: Elysia, doors: readonly Door[], version: string) {
  const { toOpenAPISchema } = await import("@elysiajs/openapi/openapi");
  const { paths } = toOpenAPISchema(app, undefined, undefined, undefined, "3.1.0");
  const schemas: Json = {};
  for (const { verb, path, spec, half } of doors.flatMap((door) => door.routes)) {
    const operations = paths[path.replaceAll(/:([^/]+)/g, "{$1}")] as Record<string, Json>;
    operations[verb.toLowerCase()]!.parameters = listParameters(spec);
    schemas[ERROR_NAMES[half]] = ERROR_SCHEMAS[half];
    const replies = Object.values(spec.replies).flatMap(({ schema, stream }) => [schema, stream]);
    for (const schema of [spec.body, ...replies]) if (schema) collect(schema, schemas);
  }
  return {
    openapi: "3.1.0",
    // agents.versioning.1: a preview, whose version is the program's.
    info: {
      title: "Wadi",
      version,
      description: "Chat completions, models and durable agents behind one address.",
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    paths,
    components: {
      schemas,
      headers: HEADERS,
      parameters: PARAMETERS,
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key." } },
    },
  };
}

/** The page of the document; it is written once, at the first request. */
export function createDocumentPage(app: Elysia, doors: readonly Door[], version: string) {
  let written: Promise<string> | undefined;
  const write = async () => JSON.stringify(await writeDocument(app, doors, version));
  return {
    path: "/openapi.json",
    async answer() {
      written ??= write();
      return new Response(await written, { headers: { "content-type": "application/json" } });
    },
  };
}

/** A schema in which every named one is a `$ref`; plain JSON, without our own marks. */
function refer(schema: TSchema): Json {
  if (!schema.$id) return strip(schema);
  const { $id, description } = schema;
  return { $ref: `#/components/schemas/${$id}`, ...(description && { description }) };
}

/** How TypeBox writes a map with any names, where generators read the other spelling. */
const ANY_NAME = "^(.*)$";

function strip(schema: TSchema): Json {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    const inner = value as TSchema;
    if (inner.$id && inner !== schema) return refer(inner);
    const { $id, ...rest } = inner;
    const { patternProperties, ...others } = rest;
    const named = patternProperties?.[ANY_NAME]
      ? { ...others, additionalProperties: patternProperties[ANY_NAME] }
      : rest;
    return Object.fromEntries(Object.entries(named).map(([name, one]) => [name, walk(one)]));
  };
  return walk(schema) as Json;
}

/** Adds every named schema below one to the components. */
function collect(schema: TSchema, schemas: Json): void {
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { $id } = value as TSchema;
    if ($id && !Array.isArray(value)) {
      if ($id in schemas) return;
      schemas[$id] = strip(value as TSchema);
    }
    for (const one of Object.values(value)) walk(one);
  };
  walk(schema);
}
