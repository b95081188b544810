// Formats of other interfaces: the error envelopes of their routes, and how they send a key.
import { type ApiError, publicCode, typeOf } from "../platform/errors.ts";
import type { SpecObject } from "./openapi/schemas.ts";

export type ApiDialect = "openai" | "anthropic";

interface DialectForm {
  /** Name of the error schema in the API document. */
  schemaName: string;
  schema: SpecObject;
  writeError(refusal: ApiError, request_id: string): string;
  /** Header that repeats the request id beside ours. */
  idHeader?: string;
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
      error: object("What went wrong.", {
        type: text("The kind of error, which follows the status."),
        message,
        code,
      }),
      request_id: text("Repeats the x-request-id header."),
    }),
    writeError({ code, message, status }, request_id) {
      const error = { type: anthropicTypeOf(status), message, code: publicCode(code, "gateway") };
      return JSON.stringify({ type: "error", error, request_id });
    },
    idHeader: "request-id",
    keyHeader: "x-api-key",
  },
};

function anthropicTypeOf(status: number): string {
  if (status === 413) return "request_too_large";
  if (status === 504) return "timeout_error";
  return status >= 500 ? "api_error" : typeOf(status);
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
  return key === null ? headers.get("authorization") : `Bearer ${key}`;
}
