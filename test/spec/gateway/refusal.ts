// The form of every error of the gateway, checked to the last field.
import { expect } from "bun:test";

const TYPES: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "invalid_request_error",
  429: "rate_limit_error",
};

/**
 * Reads an error, checks its envelope (gateway.resources.envelope.p1) against its status and
 * request id, and returns its distinguishing fields. `param` is undefined if the envelope has no
 * such field.
 */
export async function readRefusal(response: Response) {
  const { status, headers } = response;
  const body = (await response.json()) as { error: Record<string, unknown> };
  const { message, code, param } = body.error;
  const type = TYPES[status] ?? "server_error";
  expect(body as unknown).toEqual({
    error: { message, type, code, ...("param" in body.error && { param }) },
    request_id: headers.get("x-request-id"),
    statusCode: status,
    message: [message],
    code,
  });
  expect(headers.get("content-type")).toBe("application/json");
  // A sentence for people, on one line, which names none of ours.
  expect(message).toMatch(/^\S[^\n]{8,298}[.)]$/);
  expect(message).not.toMatch(/\bat \/|Error:|SELECT|undefined|\[object/);
  return [status, code, param];
}
