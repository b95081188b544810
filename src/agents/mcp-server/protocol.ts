// Requests of the Model Context Protocol as clients send them: JSON-RPC 2.0, one in each body.
import { isObject, type JsonObject, readObject } from "../../platform/json.ts";
import { SESSION_REVISIONS, STATELESS_REVISION } from "../tools/mcp/messages.ts";
import { META, TASKS } from "../tools/mcp/wire.ts";

/** Revisions with a handshake, newest first; of the first one tasks are a part. */
export const [NEWEST_HANDSHAKE = ""] = SESSION_REVISIONS;

const CODES = {
  request: -32600,
  method: -32601,
  params: -32602,
  envelope: -32602,
  header: -32020,
  capability: -32021,
  revision: -32022,
} as const;
/** Faults that clients of the stateless revision find by the HTTP status, too. */
const STATUSES: Partial<Record<keyof typeof CODES, number>> = {
  request: 400,
  method: 404,
  envelope: 400,
  header: 400,
  capability: 400,
  revision: 400,
};
const ID_CHARACTERS_MAX = 256;
const METHOD_CHARACTERS_MAX = 128;

/** A fault in the request itself, which JSON-RPC tells by a code. */
export class McpFault extends Error {
  readonly kind: keyof typeof CODES;
  readonly data: unknown;

  constructor(kind: keyof typeof CODES, message: string, data?: unknown) {
    super(message);
    this.kind = kind;
    this.data = data;
  }

  get error() {
    const { message, data } = this;
    return { code: CODES[this.kind], message, ...(data !== undefined && { data }) };
  }

  /** Clients with a handshake read faults of known methods from replies with status 200 only. */
  statusFor(isStateless: boolean): number {
    const isCertain = isStateless || this.kind !== "method";
    return isCertain ? (STATUSES[this.kind] ?? 200) : 200;
  }
}

export interface McpCall {
  id: string | number;
  method: string;
  params: JsonObject;
}

/** Reads a request; null for what gets no answer. */
export function readCall(body: unknown): McpCall | null {
  if (Array.isArray(body)) throw new McpFault("request", "Send one message in each request.");
  if (!isObject(body) || body.jsonrpc !== "2.0") {
    throw new McpFault("request", "The body must be one message of JSON-RPC 2.0.");
  }
  const { id, method, params = {} } = body;
  if (method === undefined && ("result" in body || "error" in body)) return null;
  if (typeof method !== "string" || method.length > METHOD_CHARACTERS_MAX) {
    throw new McpFault("request", "`method` must be a text of at most 128 characters.");
  }
  if (!("id" in body)) return null;
  const isId = typeof id === "string" ? id.length <= ID_CHARACTERS_MAX : Number.isSafeInteger(id);
  if (!isId) {
    throw new McpFault("request", "`id` must be a whole number or at most 256 characters.");
  }
  if (!isObject(params)) throw new McpFault("request", "`params` must be an object.");
  return { id: id as string | number, method, params };
}

/** The revision that a client speaks, and its capabilities. */
export interface McpClientForm {
  revision: string;
  isStateless: boolean;
  /** Takes a task in place of a result. */
  hasTasks: boolean;
  /** Shows its user an address that the server asks to open. */
  opensUrls: boolean;
}

/** Finds the revision of a request, and checks that its headers say the same as its body. */
export function readForm(call: McpCall, headers: Headers): McpClientForm {
  const meta = readObject(call.params._meta);
  const claim = meta[`${META}protocolVersion`];
  const header = headers.get("mcp-protocol-version");
  if (claim === undefined && header !== STATELESS_REVISION) return readHandshakeForm(call, header);
  if (claim !== header) {
    throw new McpFault("header", "MCP-Protocol-Version must repeat the version of `_meta`.");
  }
  if (claim !== STATELESS_REVISION) throw unsupported(claim);
  for (const name of ["clientInfo", "clientCapabilities"]) {
    if (isObject(meta[META + name])) continue;
    throw new McpFault("envelope", `\`_meta\` must have the object \`${META}${name}\`.`);
  }
  checkHeaders(call, headers);
  const { extensions, elicitation } = readObject(meta[`${META}clientCapabilities`]);
  return {
    revision: STATELESS_REVISION,
    isStateless: true,
    hasTasks: isObject(readObject(extensions)[TASKS]),
    opensUrls: isObject(readObject(elicitation).url),
  };
}

/** The handshake is not remembered: each request tells only its revision. */
function readHandshakeForm({ params }: McpCall, header: string | null): McpClientForm {
  const revision = header ?? SESSION_REVISIONS.at(-1)!;
  if (!SESSION_REVISIONS.includes(revision)) throw unsupported(revision);
  const hasTasks = revision === NEWEST_HANDSHAKE && isObject(params.task);
  return { revision, isStateless: false, hasTasks, opensUrls: false };
}

function unsupported(requested: unknown): McpFault {
  const supported = [STATELESS_REVISION, ...SESSION_REVISIONS];
  const message = `This server speaks ${supported.join(", ")}.`;
  return new McpFault("revision", message, { supported, requested });
}

/** Proxies route by the headers, so that another body must not get through. */
function checkHeaders({ method, params }: McpCall, headers: Headers): void {
  if (headers.get("mcp-method") !== method) {
    throw new McpFault("header", "Mcp-Method must repeat the method of the body.");
  }
  const isCall = method === "tools/call";
  const name = isCall ? params.name : method.startsWith("tasks/") ? params.taskId : undefined;
  const header = headers.get("mcp-name");
  if (name === undefined || (header === null && !isCall)) return;
  if (header === null || decode(header) !== name) {
    throw new McpFault("header", "Mcp-Name must repeat the name or task of the body.");
  }
}

const ENCODED = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/;

function decode(header: string): string {
  const encoded = ENCODED.exec(header)?.[1];
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString("utf8");
}
