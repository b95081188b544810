// The npm package `ai`: refusals, retries, failing streams, and disconnection.
import { describe, expect, test } from "bun:test";
import { APICallError, generateText, RetryError, streamText } from "ai";
import { type Connection, connect } from "./ai-client.ts";
import { createNotingFetch, failureOf, registerDev } from "./dev.ts";

const dev = registerDev();
const generate = (prompt: string, connection: Connection = {}, maxRetries = 0) =>
  failureOf(generateText({ model: connect(dev(), connection), prompt, maxRetries }));
/** All parts of a stream, and its errors. */
const stream = (prompt: string, abortSignal?: AbortSignal, connection: Connection = {}) => {
  const errors: unknown[] = [];
  const model = connect(dev(), connection);
  const onError = ({ error }: { error: unknown }) => void errors.push(error);
  const result = streamText({ model, prompt, maxRetries: 0, abortSignal, onError });
  return { result, errors };
};

describe("the npm package ai", () => {
  test.each([
    ["context_length_exceeded", 400, "invalid_request_error", "messages"],
    ["invalid_api_key", 401, "authentication_error", null],
    ["model_not_permitted", 403, "permission_error", "model"],
    ["model_not_found", 404, "not_found_error", "model"],
    ["request_too_large", 413, "invalid_request_error", null],
    ["rate_limit_exceeded", 429, "rate_limit_error", null],
    ["upstream_error", 502, "server_error", null],
    ["upstream_timeout", 504, "server_error", null],
  ])("reports %s with its status, data and headers", async (code, statusCode, type, param) => {
    const failure = await generate(`!error ${code}`);
    expect(failure).toBeInstanceOf(APICallError);
    const { data, responseHeaders, message } = failure as APICallError;
    expect(failure).toMatchObject({ statusCode, isRetryable: statusCode >= 429 });
    expect(data).toEqual({ error: { message, type, code, param } });
    expect(responseHeaders!["x-request-id"]).toBeString();
    const { result, errors } = stream(`!error ${code}`);
    await result.consumeStream();
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ statusCode, data: { error: { code } } });
  });

  test("reports a revoked key", async () => {
    const failure = await generate("Hello", { ending: "-revoked" });
    expect(failure).toBeInstanceOf(APICallError);
    expect(failure).toMatchObject({ statusCode: 401, isRetryable: false });
  });

  test.each([
    ["rate_limit_exceeded", 429, "1"],
    ["upstream_rate_limited", 429, null],
    ["upstream_error", 502, null],
    ["no_model_available", 503, null],
    ["upstream_timeout", 504, null],
  ])("retries %s until it has no retries left", async (code, status, retry_after) => {
    const { fetch, noted } = createNotingFetch();
    const failure = await generate(`!error ${code}`, { fetch }, 2);
    expect(noted).toEqual(Array(3).fill({ status, retry_after }));
    expect(failure).toBeInstanceOf(RetryError);
    expect((failure as RetryError).lastError).toMatchObject({ statusCode: status });
  });

  test.each(["invalid_request", "invalid_api_key", "scope_required", "model_not_found"])(
    "does not retry %s",
    async (code) => {
      const { fetch, noted } = createNotingFetch();
      expect(await generate(`!error ${code}`, { fetch }, 2)).toBeInstanceOf(APICallError);
      expect(noted).toHaveLength(1);
    },
  );

  test("a stream that breaks off ends in an error after the received text", async () => {
    const { result, errors } = stream("!tokens 8\n!cut");
    const parts = await Array.fromAsync(result.stream);
    expect(parts.filter(({ type }) => type === "text-delta").length).toBe(4);
    expect(parts.map(({ type }) => type)).toContain("error");
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors[0])).toContain("The model server failed");
  });

  test("leaves a stream in the middle, and the server notices", async () => {
    const leaving = new AbortController();
    const headers = { "x-request-id": "ai-middle" };
    const { result } = stream("!say Hello\n!stall", leaving.signal, { headers });
    const types: string[] = [];
    for await (const part of result.stream) {
      types.push(part.type);
      if (part.type === "text-delta") leaving.abort();
    }
    expect(types.at(-1)).toBe("abort");
    expect(await dev().logged("ai-middle")).toContain('"status":499');
  });

  test("leaves before the first token, and the server notices", async () => {
    const leaving = new AbortController();
    const { fetch, reached } = createNotingFetch();
    const headers = { "x-request-id": "ai-first" };
    const model = connect(dev(), { headers, fetch });
    const ask = { model, prompt: "!stall", maxRetries: 0, abortSignal: leaving.signal };
    const failure = failureOf(generateText(ask));
    await reached;
    // A later request was answered, so this one has reached the server.
    await dev().chat("Hello");
    leaving.abort();
    expect(await failure).toMatchObject({ name: "AbortError" });
    expect(await dev().logged("ai-first")).toContain('"status":499');
  });
});
