// Writes the operator API's OpenAPI 3.1.0 document from the table of operations.
import type { TObject, TSchema } from "@sinclair/typebox";
import { type OperatorRouteSpec, splitInput } from "../operator-route.ts";
import type { OperatorStreamSpec } from "../operator-stream.ts";
import { collect, refer, type SpecObject, strip, styleOf } from "./schemas.ts";

const ERRORS: Readonly<Record<number, string>> = {
  400: "The input is not valid, or the change is not possible.",
  401: "The token or session is missing, unknown, revoked or expired.",
  403: "The operator's role does not allow it, or a page of another origin asks.",
  404: "There is no such object.",
  409: "The object's state does not allow it.",
  429: "Too many requests; wait as long as Retry-After says.",
  503: "The data cannot be read or stored at the moment.",
};

const ERROR: SpecObject = {
  type: "object",
  description: "The error envelope.",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      description: "What went wrong.",
      required: ["message", "type", "code"],
      properties: {
        message: { type: "string", description: "A sentence for people." },
        type: { type: "string", description: "Kind of error, which follows the status." },
        code: { type: "string", description: "What went wrong; codes are only ever added." },
        param: { type: ["string", "null"], description: "The field at fault; null: none." },
      },
    },
  },
};

interface OperatorDocumentOptions {
  version: string;
  cookie: string;
  streams?: readonly OperatorStreamSpec[];
}

/** Path before those of the operations. */
export const OPERATOR_BASE = "/operator/v1";

export async function writeOperatorDocument(
  specs: readonly OperatorRouteSpec[],
  { version, cookie, streams = [] }: OperatorDocumentOptions,
): Promise<SpecObject> {
  const schemas: SpecObject = { OperatorError: ERROR };
  const paths: Record<string, SpecObject> = {};
  for (const spec of specs) {
    const path = `${OPERATOR_BASE}${spec.path}`.replaceAll(/:(\w+)/g, "{$1}");
    for (const schema of [spec.reply, spec.stream]) if (schema) collect(schema, schemas);
    paths[path] ??= {};
    paths[path][spec.method.toLowerCase()] = describe(spec);
  }
  for (const spec of streams) {
    collect(spec.frame, schemas);
    paths[`${OPERATOR_BASE}${spec.path}`] = { get: describeStream(spec) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Wadi operator API",
      version,
      description: "What operators do: each route is a verb of the command line.",
    },
    servers: [{ url: "/" }],
    security: [{ operator: [] }, { session: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        operator: {
          type: "http",
          scheme: "bearer",
          description: "The token that `wadi operators create` prints once.",
        },
        session: {
          type: "apiKey",
          in: "cookie",
          name: cookie,
          description: "A session of the console, begun by a link of `wadi console`.",
        },
      },
    },
  };
}

function describe(spec: OperatorRouteSpec): SpecObject {
  const { inPath, rest } = splitInput(spec);
  const hasQuery = spec.method === "GET" || spec.method === "DELETE";
  const fields = Object.keys(rest.properties);
  const body = { required: (rest.required ?? []).length > 0, content: asJson(strip(rest)) };
  const who = spec.isForApprovers ? "Approvers may call it too. " : "";
  return {
    operationId: nameOperation(spec.name),
    summary: spec.summary,
    description: `${who}On the command line: \`wadi ${spec.name}\`.`,
    tags: [spec.name.split(" ")[0]],
    parameters: [
      ...describeParameters("path", inPath),
      ...(hasQuery ? describeParameters("query", rest) : []),
    ],
    ...(!hasQuery && fields.length > 0 && { requestBody: body }),
    responses: {
      // A reply that another route has made has the status of that.
      [spec.stream ? "2XX" : 200]: { description: "Done.", content: describeReply(spec) },
      ...describeErrors(),
    },
  };
}

function describeStream({ path, summary, description, frame }: OperatorStreamSpec): SpecObject {
  const [word] = path.slice(1).split("/");
  const content = { "text/event-stream": { schema: refer(frame) } };
  return {
    ...{ operationId: word, summary, description, tags: [word] },
    responses: { 200: { description: "The frames.", content }, ...describeErrors() },
  };
}

function describeErrors(): SpecObject {
  const content = asJson({ $ref: "#/components/schemas/OperatorError" });
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, description]) => [status, { description, content }]),
  );
}

/** `keys set-secret` becomes `keysSetSecret`. */
function nameOperation(name: string): string {
  return name.replaceAll(/[ -]+(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function describeReply({ reply, stream }: OperatorRouteSpec): SpecObject {
  return {
    ...asJson(refer(reply)),
    ...(stream && { "text/event-stream": { schema: refer(stream) } }),
  };
}

function asJson(schema: SpecObject): SpecObject {
  return { "application/json": { schema } };
}

function describeParameters(place: "path" | "query", schema: TObject | undefined): SpecObject[] {
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => {
    const { description, ...rest } = strip(field as TSchema);
    const required = place === "path" || (schema!.required ?? []).includes(name);
    return { name, in: place, required, description, ...styleOf(rest), schema: rest };
  });
}
