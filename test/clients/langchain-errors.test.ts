// The npm package `@langchain/openai`: error classes, retries, and disconnection.
import { describe, expect, test } from "bun:test";
import { ContextOverflowError, getRetryable } from "@langchain/core/errors";
import { createNotingFetch, failureOf, registerDev } from "./dev.ts";
import { connect } from "./langchain-client.ts";

const dev = registerDev();

describe("the npm package @langchain/openai", () => {
  test.each([
    ["invalid_api_key", 401, "MODEL_AUTHENTICATION", false],
    ["model_not_found", 404, "MODEL_NOT_FOUND", false],
    ["upstream_rate_limited", 429, "MODEL_RATE_LIMIT", true],
    ["rate_limit_exceeded", 429, "MODEL_RATE_LIMIT", true],
  ])("maps %s to its own error class", async (code, status, lc_error_code, retryable) => {
    const { fetch, noted } = createNotingFetch();
    const model = connect(dev(), { configuration: { fetch } });
    for (const ask of [
      () => model.invoke(`!error ${code}`),
      () => model.stream(`!error ${code}`),
    ]) {
      const failure = await failureOf(ask());
      expect(failure).toMatchObject({ status, code, lc_error_code });
      expect(getRetryable(failure)).toBe(retryable);
    }
    expect(noted.map((one) => one.status)).toEqual([status, status]);
  });

  test.each([
    ["rate_limit_exceeded", { rateLimitType: "wait", retryAfterMs: 1_000 }],
    ["capacity_exceeded", { rateLimitType: "wait", retryAfterMs: 1_000 }],
    // Without a time to wait it leaves the retry to its own caller.
    ["upstream_rate_limited", { rateLimitType: "capacity", name: "RateLimitCapacityError" }],
  ])("takes %s for a wait, not for an exhausted balance", async (code, sorted) => {
    expect(await failureOf(connect(dev()).invoke(`!error ${code}`))).toMatchObject(sorted);
  });

  test("maps a request beyond the context window to its own error class", async () => {
    const failure = await failureOf(connect(dev()).invoke("!error context_length_exceeded"));
    expect(ContextOverflowError.isInstance(failure)).toBe(true);
    expect((failure as ContextOverflowError).cause).toMatchObject({ param: "messages" });
  });

  test("does not retry an expired key", async () => {
    const { fetch, noted } = createNotingFetch();
    const model = connect(dev(), { ending: "-expired", maxRetries: 3, configuration: { fetch } });
    expect(await failureOf(model.invoke("Hello"))).toMatchObject({ status: 401 });
    expect(noted).toHaveLength(1);
  });

  test.each([
    ["invalid_request", 400],
    ["model_not_permitted", 403],
    ["model_not_found", 404],
    ["request_too_large", 413],
  ])("does not retry %s", async (code, status) => {
    const { fetch, noted } = createNotingFetch();
    const model = connect(dev(), { maxRetries: 3, configuration: { fetch } });
    expect(await failureOf(model.invoke(`!error ${code}`))).toMatchObject({ status, code });
    expect(noted).toHaveLength(1);
  });

  test("a stream that breaks off throws after the received text", async () => {
    let received = "";
    const read = async () => {
      for await (const { text } of await connect(dev()).stream("!tokens 8\n!cut")) received += text;
    };
    expect(await failureOf(read())).toMatchObject({ code: "upstream_error" });
    expect(received).toBe("the sun sets over");
  });

  test("leaves a stream in the middle, and the server notices", async () => {
    const leaving = new AbortController();
    const defaultHeaders = { "x-request-id": "langchain-middle" };
    const model = connect(dev(), { configuration: { defaultHeaders } });
    const options = { signal: leaving.signal };
    let received = "";
    const read = async () => {
      for await (const { text } of await model.stream("!say Hello\n!stall", options)) {
        received += text;
        if (received === "Hello") leaving.abort();
      }
    };
    expect(await failureOf(read())).toMatchObject({ name: "AbortError" });
    expect(received).toBe("Hello");
    expect(await dev().logged("langchain-middle")).toContain('"status":499');
  });
});
