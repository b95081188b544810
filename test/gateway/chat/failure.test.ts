// Tests the errors that a stream carries once its status was sent.
import { expect, test } from "bun:test";
import type { PreparedChat } from "../../../src/gateway/chat/execution.ts";
import { errorOfCompletion, nameInBand } from "../../../src/gateway/chat/failure.ts";
import { REVOKED } from "../../../src/gateway/in-flight.ts";
import { apiError } from "../../../src/platform/errors.ts";

const CHAT = {} as PreparedChat;

test("gateway.events.4 a stream that ends for its key has the code of a failure and says why", () => {
  const error = errorOfCompletion(REVOKED, CHAT);
  expect(error.code).toBe("invalid_api_key");
  const { code, message } = nameInBand(error);
  expect([code, message]).toEqual(["upstream_error", apiError("invalid_api_key").message]);
});

test("gateway.events.4 a stream carries three codes; others are a failure of the model", () => {
  for (const code of ["context_length_exceeded", "upstream_error", "upstream_timeout"] as const) {
    const error = apiError(code, { message: "Why." });
    expect(nameInBand(error)).toBe(error);
  }
  const other = nameInBand(apiError("model_offline", { message: "Where it stands." }));
  expect([other.code, other.message]).toEqual([
    ...["upstream_error", apiError("upstream_error").message],
  ]);
});
