// The form of every error of the agents API, checked to the last field.
import { expect } from "bun:test";

const TYPES: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "invalid_request_error",
  415: "invalid_request_error",
  429: "rate_limit_error",
};

/** Status, code and `param` of a refusal; `code` is undefined where there is none. */
export async function readRefusal(response: Response) {
  const { status, headers } = response;
  const body = (await response.json()) as { error: Record<string, unknown> };
  const { message, code, param } = body.error;
  const type = TYPES[status] ?? "server_error";
  // agents.errors.p1, agents.errors.p4: `code` is left out, `param` never.
  expect(body as unknown).toEqual({
    error: { message, type, ...("code" in body.error && { code }), param },
  });
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("x-request-id")).toBeString();
  // A sentence for people, on one line, which names none of ours.
  expect(message).toMatch(/^\S[^\n]{8,298}[.)]$/);
  expect(message).not.toMatch(/\bat \/\S+:\d|Error:|SELECT|undefined|\[object/);
  return [status, code, param];
}

export async function expectRefusal(
  response: Response,
  status: number,
  code: string | undefined,
  param: string | null = null,
): Promise<void> {
  expect(await readRefusal(response)).toEqual([status, code, param]);
}
