// The npm package `openai`: every refusal as its own typed error, and what it tries again.
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { createNotingFetch, failureOf, registerDev } from "./dev.ts";
import { connect, say } from "./openai-client.ts";

const dev = registerDev();
const chat = (content: string, fields: object = {}, ending = "") =>
  failureOf(connect(dev(), ending).chat.completions.create({ ...say(content), ...fields }));

describe("the npm package openai maps to its own error class", () => {
  test("a missing, expired, or wrong kind of key", async () => {
    const keyless = connect(dev(), "", { defaultHeaders: { Authorization: null } });
    const missing = await failureOf(keyless.models.list());
    expect(missing).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(missing).toMatchObject({ status: 401, code: "missing_api_key" });
    const expired = await chat("Hello", {}, "-expired");
    expect(expired).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(expired).toMatchObject({ status: 401, code: "invalid_api_key", param: null });
    const internal = await chat("Hello", {}, "-internal");
    expect(internal).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(internal).toMatchObject({ status: 403, code: "permission_denied" });
  });

  test("an invalid field, with its name and the request id", async () => {
    const failure = await chat("Hello", { temperature: 3 });
    expect(failure).toBeInstanceOf(OpenAI.BadRequestError);
    expect(failure).toMatchObject({
      status: 400,
      code: "invalid_request",
      param: "temperature",
      type: "invalid_request_error",
      requestID: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect((failure as Error).message).toStartWith("400 ");
  });

  test("a scope that the key lacks", async () => {
    const failure = await chat("Hello", { reasoning: true }, "-none");
    expect(failure).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(failure).toMatchObject({ status: 403, code: "scope_required", param: "reasoning" });
  });

  test("an unknown path", async () => {
    const failure = await failureOf(connect(dev()).files.retrieve("file_1"));
    expect(failure).toBeInstanceOf(OpenAI.NotFoundError);
    expect(failure).toMatchObject({ status: 404, code: "not_found", type: "not_found_error" });
  });

  test("a body that is too large", async () => {
    const failure = await chat("x".repeat(300_000));
    expect(failure).toBeInstanceOf(OpenAI.APIError);
    expect(failure).toMatchObject({ status: 413, code: "request_too_large" });
  });

  test.each([
    ["context_length_exceeded", 400, OpenAI.BadRequestError],
    ["model_not_permitted", 403, OpenAI.PermissionDeniedError],
    ["model_not_found", 404, OpenAI.NotFoundError],
    ["rate_limit_exceeded", 429, OpenAI.RateLimitError],
    ["upstream_rate_limited", 429, OpenAI.RateLimitError],
    ["internal_error", 500, OpenAI.InternalServerError],
    ["upstream_error", 502, OpenAI.InternalServerError],
    ["no_model_available", 503, OpenAI.InternalServerError],
    ["upstream_timeout", 504, OpenAI.InternalServerError],
  ])("%s, as JSON and before a stream begins", async (code, status, type) => {
    for (const stream of [false, true]) {
      const failure = await chat(`!error ${code}`, { stream });
      expect(failure).toBeInstanceOf(type);
      expect(failure).toMatchObject({ status, code, requestID: expect.any(String) });
    }
  });

  test.each(["!cut", "!error upstream_timeout", "!error context_length_exceeded"])(
    "the end of a stream by %s, after the received text",
    async (line) => {
      const stream = await connect(dev()).chat.completions.create({
        ...say(`!say Hello\n!say there\n${line}`),
        stream: true,
      });
      let received = "";
      const read = async () => {
        for await (const { choices } of stream) received += choices[0]!.delta.content;
      };
      const failure = await failureOf(read());
      expect(failure).toBeInstanceOf(OpenAI.APIError);
      const code = line === "!cut" ? "upstream_error" : line.slice("!error ".length);
      expect(failure).toMatchObject({ code, status: undefined });
      expect(received).toStartWith("Hello");
    },
  );
});

describe("the npm package openai", () => {
  const attempt = async (code: string) => {
    const { fetch, noted } = createNotingFetch();
    const client = connect(dev(), "", { fetch, maxRetries: 2 });
    const failure = await failureOf(client.chat.completions.create(say(`!error ${code}`)));
    expect(failure).toMatchObject({ status: noted[0]!.status });
    return noted;
  };

  test.each([
    ["rate_limit_exceeded", 429, "1"],
    ["upstream_rate_limited", 429, null],
    ["internal_error", 500, null],
    ["upstream_error", 502, null],
    ["no_model_available", 503, null],
    ["upstream_timeout", 504, null],
  ])("retries %s until it has no retries left", async (code, status, retry_after) => {
    expect(await attempt(code)).toEqual(Array(3).fill({ status, retry_after }));
  });

  test.each([
    ["invalid_request", 400],
    ["context_length_exceeded", 400],
    ["invalid_api_key", 401],
    ["model_not_permitted", 403],
    ["model_not_found", 404],
    ["request_too_large", 413],
  ])("does not retry %s", async (code, status) => {
    expect(await attempt(code)).toEqual([{ status, retry_after: null }]);
  });
});
