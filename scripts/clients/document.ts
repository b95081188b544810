// The operations of an OpenAPI document, as both clients offer them.

/** The keywords of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string;
  description?: string;
  type?: string | readonly string[];
  const?: string | number | boolean;
  enum?: readonly (string | number | boolean | null)[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

interface Payload {
  required?: boolean;
  content?: Readonly<Record<string, { schema: Schema }>>;
}

interface DocumentOperation {
  operationId: string;
  summary: string;
  tags?: readonly string[];
  parameters?: readonly Parameter[];
  requestBody?: Payload;
  responses: Readonly<Record<string, Payload>>;
}

export interface OpenApiDocument {
  info: { version: string };
  paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  webhooks: Readonly<Record<string, { post: DocumentOperation }>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    parameters: Readonly<Record<string, Parameter>>;
  };
}

export interface Operation {
  name: string;
  summary: string;
  method: string;
  path: string;
  inPath: readonly { name: string; schema: Schema }[];
  query: readonly { name: string; schema: Schema; isRequired: boolean }[];
  /** Names of the optional headers that change what it does. */
  headers: readonly string[];
  body: { schema: Schema; isRequired: boolean } | null;
  /** null: the reply has no body. */
  reply: Schema | null;
  /** Schema of a frame; null: the operation does not stream. */
  frame: Schema | null;
  /** Whether it can be sent twice without being done twice. */
  isRepeatable: boolean;
  hasIdempotencyKey: boolean;
}

/** Requests of these only compute a reply. */
const COMPUTING_TAGS = ["chat", "embeddings", "search"];
/** What the clients add to the operations. */
export const FOLLOWED = "streamRunEvents";
const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream";

/** Clients of MCP speak that protocol, which has no typed replies of its own. */
const MCP_PATH = "/mcp";

/**
 * All operations but those whose requests are signed, since a client has no secret of a trigger,
 * and the one for clients of MCP.
 */
export const listOperations = (document: OpenApiDocument): Operation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const parameters = (operation.parameters ?? []).map((one) =>
        one.$ref ? document.components.parameters[one.$ref.split("/").at(-1)!]! : one,
      );
      const isSigned = parameters.some((one) => one.in === "header" && one.required);
      if (isSigned || path === MCP_PATH) return [];
      return [readOperation(path, method.toUpperCase(), operation, parameters)];
    }),
  );

const readOperation = (
  path: string,
  method: string,
  operation: DocumentOperation,
  parameters: readonly Parameter[],
): Operation => {
  const { operationId, summary, tags = [], requestBody, responses } = operation;
  const inPath = parameters.filter((one) => one.in === "path");
  const query = parameters
    .filter((one) => one.in === "query")
    .map(({ name, schema, required = false }) => ({ name, schema, isRequired: required }));
  const headers = parameters
    .filter((one) => one.in === "header" && one.name !== "x-request-id")
    .map(({ name }) => name);
  const names = [...inPath, ...query].map(({ name }) => name).concat("body");
  // Both clients give them to a call side by side.
  if (new Set(names).size < names.length) throw new Error(`${operationId} uses a name twice.`);
  const hasIdempotencyKey = headers.includes("Idempotency-Key");
  const sent = requestBody?.content?.[JSON_TYPE]?.schema;
  const success = Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1];
  return {
    ...{ name: operationId, summary, method, path, inPath, query, headers, hasIdempotencyKey },
    body: sent ? { schema: sent, isRequired: requestBody?.required ?? false } : null,
    reply: success?.content?.[JSON_TYPE]?.schema ?? null,
    frame: success?.content?.[STREAM_TYPE]?.schema ?? null,
    isRepeatable:
      method !== "POST" || hasIdempotencyKey || COMPUTING_TAGS.some((tag) => tags.includes(tag)),
  };
};
