// What a refusal looks like in either half, for the document.
import type { Surface } from "../../platform/errors.ts";

type Json = Record<string, unknown>;

export const ERROR_SCHEMAS: Record<Surface, Json> = {
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
export const ERROR_NAMES: Record<Surface, string> = {
  gateway: "GatewayError",
  agents: "AgentError",
};
