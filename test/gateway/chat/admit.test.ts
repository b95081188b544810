// Tests the headers that errors of a deprecated request carry.
import { expect, test } from "bun:test";
import { DatabaseUnavailable } from "../../../src/database/index.ts";
import { addHeaders } from "../../../src/gateway/chat/admit.ts";
import { apiError } from "../../../src/platform/errors.ts";

const MARK = { deprecation: "@1" };

test("gateway.errors.headers.deprecation an error keeps its own headers beside the marks", () => {
  const error = apiError("model_offline", { headers: { "retry-after": "7" } });
  expect(addHeaders(error, MARK).details.headers).toEqual({ "retry-after": "7", ...MARK });
});

test.each([
  "validation",
  "invalid_request",
  "missing_api_key",
  "invalid_api_key",
  "request_too_large",
  "rate_limit_exceeded",
] as const)("the error %s, from before the choice of a model, is not marked", (code) => {
  expect(addHeaders(apiError(code), MARK).details.headers).toBeUndefined();
});

test("a database that cannot be written asks for a retry, also in a chat under a budget", () => {
  const error = addHeaders(new DatabaseUnavailable("the disk is full"), MARK);
  expect([error.status, error.code]).toEqual([503, "service_unavailable"]);
  expect(error.details.headers).toEqual({ "retry-after": "2", ...MARK });
});

test("a bug keeps its cause for the log", () => {
  const bug = new TypeError("x is not a function");
  const error = addHeaders(bug, MARK);
  expect([error.code, error.cause]).toEqual(["internal_error", bug]);
});
