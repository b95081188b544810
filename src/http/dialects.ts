// Formats of other interfaces: the error envelopes of their routes, and how they send a key.
import { type ApiError, type ErrorCode, publicCode, typeOf } from "../platform/errors.ts";
import type { SpecObject } from "./openapi/schemas.ts";

export type ApiDialect = "openai" | "anthropic" | "mcp";

interface DialectForm {
  /** Name of the error schema in the API document. */
  schemaName: string;
  schema: SpecObject;
  writeError(refusal: ApiError, request_id: string): string;
  /** Statuses that this interface has for codes, in place of ours. */
  statuses?: Readonly<Partial<Record<ErrorCode, number>>>;
  /** Header that repeats the request id beside ours. */
  idHeader?: "request-id";
  /** Header of a key without `Bearer`. */
  keyHeader?: string;
}

const text = (description: string) => ({ type: "string", description });
const message = text("A sentence for people.");
const code = text("What went wrong; codes are only ever added.");
const object = (
  description: string,
  properties: SpecObject,
  required = Object.keys(properties),
) => {
  return { type: "object", description, required, properties };
};

export const DIALECTS: Readonly<Record<ApiDialect, DialectForm>> = {
  openai: {
    schemaName: "ResponsesError",
    schema: object("The error envelope of /v1/responses. Branch on `error.code`.", {
      error: object("What went wrong.", {
        message,
        type: text("The kind of error, which follows the status."),
        param: {
          type: ["string", "null"],
          description: "The first offending field; null: none.",
        },
        code,
      }),
    }),
    writeError({ code, message, details, status }) {
      const { param = null } = details;
      const error = { message, type: typeOf(status), param, code: publicCode(code, "gateway") };
      return JSON.stringify({ error });
    },
  },
  anthropic: {
    schemaName: "MessagesError",
    schema: object("The error envelope of /v1/messages. Branch on `error.code`.", {
      type: { type: "string", const: "error", description: "Always `error`." },
      error: object(
        "What went wrong.",
        {
          type: text("The kind of error, which follows the status."),
          message,
          code,
          param: text("The first offending field; left out: none."),
          details: object("For the clients of this interface.", {
            error_code: text("The same code; of a refused `thread` theirs."),
          }),
        },
        ["type", "message", "code", "details"],
      ),
      request_id: text("Repeats the request-id header."),
    }),
    writeError(refusal, request_id) {
      const { code, message } = refusal;
      const type = ANTHROPIC_TYPES[statusOf(refusal, "anthropic")] ?? "api_error";
      const { param } = refusal.details;
      const shown = publicCode(code, "gateway");
      // Clients that ask for a thread go on without one at this code.
      const error_code = param === "thread" ? "thread_unsupported_request" : shown;
      const error = { type, message, code: shown, param, details: { error_code } };
      return JSON.stringify({ type: "error", error, request_id });
    },
    statuses: {
      upstream_rate_limited: 529,
      no_model_available: 529,
      model_offline: 529,
      service_unavailable: 529,
      model_unavailable: 500,
      upstream_error: 500,
    },
    idHeader: "request-id",
    keyHeader: "x-api-key",
  },
  mcp: {
    schemaName: "McpError",
    schema: object("A refusal before the message was read. Branch on `error.data.code`.", {
      jsonrpc: { type: "string", const: "2.0", description: "Always `2.0`." },
      error: object("What went wrong.", {
        code: { type: "integer", description: "-32700: the body is no JSON; -32000: all others." },
        message,
        data: object("For programs.", {
          code,
          request_id: text("Repeats the x-request-id header."),
        }),
      }),
    }),
    writeError({ code: own, message }, request_id) {
      const data = { code: publicCode(own, "gateway"), request_id };
      const code = own === "validation" ? -32_700 : -32_000;
      return JSON.stringify({ jsonrpc: "2.0", error: { code, message, data } });
    },
  },
};

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** The status that is sent: the interface's own, else ours. */
export function statusOf(
  { code, status }: Pick<ApiError, "code" | "status">,
  dialect: ApiDialect | undefined,
): number {
  return (dialect && DIALECTS[dialect].statuses?.[code]) ?? status;
}

export function writeDialectError(
  dialect: ApiDialect,
  error: ApiError,
  request_id: string,
): string {
  return DIALECTS[dialect].writeError(error, request_id);
}

/** Headers with the request id of every reply. */
export function idHeaders(request_id: string, dialect?: ApiDialect): Record<string, string> {
  const name = dialect && DIALECTS[dialect].idHeader;
  const ours = { "x-request-id": request_id };
  return name ? { ...ours, [name]: request_id } : ours;
}

/** The key as an Authorization header. */
export function readAuthorization(headers: Headers, dialect?: ApiDialect): string | null {
  const name = dialect && DIALECTS[dialect].keyHeader;
  const key = name ? headers.get(name) : null;
  // Clients that have only a token send the other header empty.
  return key ? `Bearer ${key}` : headers.get("authorization");
}
