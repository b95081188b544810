// Requests of the protocol with their ids, their time and the headers of each revision.
import type { Clock } from "../../../platform/clock.ts";
import type { JsonObject } from "../../../platform/json.ts";
import {
  type ConnectionCredentials,
  sendRenewed,
  writeSecret,
} from "../connections/connections.ts";
import { type RpcMessage, STATELESS_REVISION } from "./messages.ts";
import {
  type McpFailure,
  type McpOutcome,
  sendEnd,
  sendNote,
  sendRequest,
  type TransportDeps,
} from "./transport.ts";

export const CLIENT_INFO = { name: "wadi", version: "1" };
export const META = "io.modelcontextprotocol/";
export const TASKS = `${META}tasks`;

export interface McpTarget {
  /** Requests of the same name share a session: those of one run, over one connection. */
  session: string;
  /** Id of a session that another process began with the server. */
  adopted?: string | undefined;
  url: string;
  /** Carried by every request; null: none is. */
  connection: ConnectionCredentials | null;
}

export interface Budget {
  /** End of all time, on the monotonic clock. */
  endAt: number;
  signal?: AbortSignal | undefined;
}

export interface WireRequest {
  method: string;
  params: JsonObject;
  headers: Readonly<Record<string, string>>;
  onMessage?(message: Exclude<RpcMessage, { kind: "answer" }>): void;
}

export interface Wire {
  clock: Clock;
  request(
    target: McpTarget,
    budget: Budget,
    request: WireRequest,
  ): Promise<{ id: number; outcome: McpOutcome }>;
  /** Sends what has no answer; null once it is accepted. */
  note(
    target: McpTarget,
    headers: Readonly<Record<string, string>>,
    message: JsonObject,
    budget?: Budget,
  ): Promise<McpFailure | null>;
  end(target: McpTarget, headers: Readonly<Record<string, string>>): Promise<void>;
}

const NOTE_TIMEOUT_MS = 5_000;

export function createWire(deps: TransportDeps): Wire {
  const { clock } = deps;
  let last = 0;
  const left = ({ endAt }: Budget) => Math.max(1, endAt - clock.monotonic());
  return {
    clock,
    async request(target, budget, { method, params, headers: own, onMessage }) {
      let id = 0;
      const outcome = await sendRenewed(target.connection, () => {
        id = ++last;
        return sendRequest(deps, {
          url: target.url,
          headers: writeHeaders(target, own),
          message: { jsonrpc: "2.0", id, method, params },
          timeoutMs: left(budget),
          signal: budget.signal,
          onMessage,
        });
      });
      return { id, outcome };
    },
    note(target, own, message, budget) {
      const timeoutMs = Math.min(budget ? left(budget) : NOTE_TIMEOUT_MS, NOTE_TIMEOUT_MS);
      const headers = writeHeaders(target, own);
      return sendNote(deps, {
        ...{ url: target.url, headers, timeoutMs, signal: budget?.signal },
        message: { jsonrpc: "2.0", ...message },
      });
    },
    end(target, own) {
      const headers = writeHeaders(target, own);
      return sendEnd(deps, { url: target.url, headers, timeoutMs: NOTE_TIMEOUT_MS });
    },
  };
}

function writeHeaders({ connection }: McpTarget, own: Readonly<Record<string, string>>) {
  return { ...(connection && writeSecret(connection)), ...own };
}

/** Carried by each request to a stateless server; it offers to wait for tasks, and nothing else. */
export function makeEnvelope(): JsonObject {
  return {
    [`${META}protocolVersion`]: STATELESS_REVISION,
    [`${META}clientInfo`]: CLIENT_INFO,
    [`${META}clientCapabilities`]: { extensions: { [TASKS]: {} } },
  };
}

/** Headers by which proxies of a stateless server route a request without its body. */
export function writeStateless(method: string, name: unknown): Record<string, string> {
  return {
    "mcp-protocol-version": STATELESS_REVISION,
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": writeValue(name) }),
  };
}

const PLAIN = /^[!-~]([\t -~]*[!-~])?$/;

/** A text as the value of a header: as it is, or in base64 where no header can hold it. */
function writeValue(text: string): string {
  const isPlain = PLAIN.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text.toWellFormed()).toString("base64")}?=`;
}

/** Maximum arguments that become headers, and of each the characters. */
const PARAMETERS_MAX = 32;
const PARAMETER_CHARACTERS_MAX = 1_024;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** Headers of the arguments that the tool's schema wants to have there (`x-mcp-header`). */
export function writeParameters(schema: unknown, args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  const visit = (one: unknown, value: unknown, depth: number) => {
    if (typeof one !== "object" || one === null || depth > 16) return;
    const { properties, "x-mcp-header": name } = one as JsonObject;
    if (typeof name === "string" && HEADER_NAME.test(name)) {
      const isTaken = Object.keys(headers).length >= PARAMETERS_MAX;
      const isPlain = ["string", "boolean"].includes(typeof value) || Number.isSafeInteger(value);
      const text = String(value);
      if (isPlain && !isTaken && text.length <= PARAMETER_CHARACTERS_MAX) {
        headers[`mcp-param-${name.toLowerCase()}`] = writeValue(text);
      }
    }
    if (typeof properties !== "object" || properties === null) return;
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(properties)) {
      if (Object.hasOwn(value, key)) visit(inner, (value as JsonObject)[key], depth + 1);
    }
  };
  visit(schema, args, 0);
  return headers;
}
