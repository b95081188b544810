// Writes the OpenAPI 3.1.0 document from the routes and their schemas.
import type { TObject, TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  ERROR_CODES,
  type ErrorCode,
  type PublicSurface,
  publicCode,
} from "../../platform/errors.ts";
import { DIALECTS, statusOf } from "../dialects.ts";
import type { RouteSpec } from "../route.ts";
import type { Router } from "../router.ts";
import { NOT_OPEN } from "../surface.ts";
import {
  type DocumentedHeader,
  ERROR_NAMES,
  ERROR_SCHEMAS,
  HEADERS,
  PARAMETERS,
} from "./components.ts";
import { findOperation, TAGS } from "./operations.ts";
import { collect, refer, type SpecObject, shareResponses, strip, styleOf } from "./schemas.ts";

const EVERYWHERE: ErrorCode[] = ["rate_limit_exceeded", "service_unavailable"];
const WITH_KEY: ErrorCode[] = [
  "missing_api_key",
  "invalid_api_key",
  "permission_denied",
  "internal_error",
];

function errorOf({ dialect }: RouteSpec, surface: PublicSurface) {
  if (!dialect) return { name: ERROR_NAMES[surface], schema: ERROR_SCHEMAS[surface] };
  return { name: DIALECTS[dialect].schemaName, schema: DIALECTS[dialect].schema };
}

function listIdHeaders({ dialect }: RouteSpec): DocumentedHeader[] {
  const own = dialect && DIALECTS[dialect].idHeader;
  return own ? ["x-request-id", own] : ["x-request-id"];
}

function documentRoute(spec: RouteSpec, surface: PublicSurface): SpecObject {
  const responses: SpecObject = {};
  for (const [status, reply] of Object.entries(spec.replies)) {
    const { description, schema, stream, headers = [] } = reply;
    const content: SpecObject = {};
    if (schema) content["application/json"] = { schema: refer(schema) };
    if (stream) content["text/event-stream"] = { schema: refer(stream) };
    responses[status] = {
      description,
      ...((schema || stream) && { content }),
      headers: referHeaders([...listIdHeaders(spec), ...headers]),
    };
  }
  for (const [status, lines] of groupByStatus(spec, surface)) {
    const schema = { $ref: `#/components/schemas/${errorOf(spec, surface).name}` };
    const content = { "application/json": { schema } };
    const names = new Set<DocumentedHeader>(listIdHeaders(spec));
    // A nearly full disk makes the agent service send it.
    if (status === 429 || (status === 503 && surface === "agents")) names.add("retry-after");
    for (const name of spec.refusal_headers?.[status] ?? []) names.add(name);
    const headers = referHeaders([...names]);
    responses[status] = { description: lines.join("\n"), content, headers };
  }
  const detail: SpecObject = { summary: spec.summary, responses };
  // agents.authentication.1
  if (spec.isSigned) detail.security = [];
  // gateway.authentication.4
  const scope = spec.scope ? `Needs the scope \`${spec.scope}\`.` : "";
  const description = [spec.description, scope].filter(Boolean).join(" ");
  if (description !== "") detail.description = description;
  if (spec.body) {
    const content = { "application/json": { schema: refer(spec.body) } };
    // An empty body means `{}`, except in signed requests.
    const required = spec.isSigned === true || (spec.body.required ?? []).length > 0;
    detail.requestBody = { required, content };
  }
  return detail;
}

/** Elysia's generator knows only the names of path parameters. */
function listParameters({ params, query, request_headers = [] }: RouteSpec): SpecObject[] {
  const headers = [...request_headers, "x-request-id"];
  return [
    ...describeParameters("path", params),
    ...describeParameters("query", query),
    ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function describeParameters(place: "path" | "query", schema?: TObject): SpecObject[] {
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => {
    const { description, ...rest } = strip(field);
    const required = schema!.required?.includes(name) ?? false;
    return { name, in: place, required, description, ...styleOf(rest), schema: rest };
  });
}

function referHeaders(names: readonly DocumentedHeader[]): SpecObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function listRefusals(spec: RouteSpec, surface: PublicSurface): ErrorCode[] {
  const codes = [...EVERYWHERE, ...spec.refusals];
  if (!spec.isSigned) codes.push(...WITH_KEY);
  if (spec.scope) codes.push("scope_required");
  // agents.errors.not_enabled
  if (spec.feature) codes.push("not_enabled");
  // agents.errors.p9: every route of the agent service refuses unknown parameters.
  if (spec.body || spec.query || surface === "agents") codes.push("validation");
  if (spec.body) codes.push("request_too_large");
  return codes;
}

function groupByStatus(spec: RouteSpec, surface: PublicSurface): Map<number, string[]> {
  const { refusal_sentences = {}, isSigned } = spec;
  const groups = new Map<number, string[]>();
  // agents.p5: the second status, which only the router uses.
  if (surface === "agents") groups.set(503, [`\`not_enabled\`: ${NOT_OPEN}`]);
  for (const code of new Set(listRefusals(spec, surface))) {
    const entry = ERROR_CODES[code];
    const { message } = entry;
    // A signed route answers with the second status, since no caller is known.
    const own = isSigned && "unavailableStatus" in entry ? entry.unavailableStatus : entry.status;
    const status = statusOf({ code, status: own }, spec.dialect);
    const shown = publicCode(code, surface);
    const sentence = refusal_sentences[code] ?? message;
    const line = shown === null ? sentence : `\`${shown}\`: ${sentence}`;
    groups.set(status, [...(groups.get(status) ?? []), line]);
  }
  return groups;
}

export interface DocumentOptions {
  routers: readonly Router[];
  version: string;
  events?: readonly DocumentedEvent[];
}

/**
 * agents.p4, agents.versioning.4: the whole document. An app of its own carries the details of the
 * routes, so that a start does not write them.
 */
async function writeDocument({ routers, version, events = [] }: DocumentOptions) {
  const { toOpenAPISchema } = await import("@elysiajs/openapi/openapi");
  const routes = routers.flatMap((router) => router.routes);
  const app = new Elysia({ aot: true });
  for (const { method, path, spec, surface } of routes) {
    app.route(method, path, () => null, { detail: documentRoute(spec, surface) });
  }
  const { paths } = toOpenAPISchema(app, undefined, undefined, undefined, "3.1.0");
  const schemas: SpecObject = {};
  for (const { method, path, spec, surface } of routes) {
    const operations = paths[path.replaceAll(/:([^/]+)/g, "{$1}")] as Record<string, SpecObject>;
    const operation = operations[method.toLowerCase()]!;
    const named = findOperation(method, path);
    if (named) Object.assign(operation, { operationId: named.id, tags: [named.group] });
    operation.parameters = listParameters(spec);
    const error = errorOf(spec, surface);
    schemas[error.name] = error.schema;
    const replies = Object.values(spec.replies).flatMap(({ schema, stream }) => [schema, stream]);
    for (const schema of [spec.body, ...replies]) if (schema) collect(schema, schemas);
  }
  for (const { schema } of events) collect(schema, schemas);
  const responses = shareResponses(paths);
  return {
    openapi: "3.1.0",
    // agents.versioning.1: a preview with the program's version.
    info: {
      title: "Wadi",
      version,
      description: "Chat completions, models and durable agents behind one address.",
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    tags: TAGS,
    paths,
    ...(events.length > 0 && { webhooks: describeEvents(events) }),
    components: {
      schemas,
      responses,
      headers: HEADERS,
      parameters: PARAMETERS,
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key." } },
    },
  };
}

export function createDocumentPage(options: DocumentOptions) {
  let written: Promise<string> | undefined;
  const write = async () => JSON.stringify(await writeDocument(options));
  return {
    path: "/openapi.json",
    async answer() {
      written ??= write();
      return new Response(await written, { headers: { "content-type": "application/json" } });
    },
  };
}

export interface DocumentedEvent {
  type: string;
  description: string;
  /** Named schema of the whole body. */
  schema: TSchema;
}

const SIGNED = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/** agents.events.webhook.1: the section `webhooks`. */
function describeEvents(events: readonly DocumentedEvent[]): Record<string, unknown> {
  const describe = ({ type, description, schema }: DocumentedEvent) => ({
    post: {
      operationId: `on${type.split(".").map(capitalize).join("")}`,
      summary: `An event \`${type}\``,
      description,
      tags: ["webhooks"],
      // agents.authentication.7: signed, and sent without a key.
      security: [],
      parameters: SIGNED.map((name) => ({ $ref: `#/components/parameters/${name}` })),
      requestBody: { required: true, content: { "application/json": { schema: refer(schema) } } },
      responses: { "2XX": { description: "It has arrived; any other answer has it sent again." } },
    },
  });
  return Object.fromEntries(events.map((event) => [event.type, describe(event)]));
}

const capitalize = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
