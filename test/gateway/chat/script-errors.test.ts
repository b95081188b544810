// Tests `!error CODE` with every code of the gateway, before the first output and within a stream.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SCRIPTED_CODES } from "../../../src/models/providers/stub/script.ts";
import { readFrames } from "../../spec/gateway/front.ts";
import { readRefusal } from "../../spec/gateway/refusal.ts";
import { startApp, type TestApp } from "../../support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: "[limits]\nrequests_per_minute = 1_000_000" });
});
afterAll(() => app.stop());

/** The spec's table. */
const ERRORS: [code: string, status: number][] = [
  ["invalid_request", 400],
  ["context_length_exceeded", 400],
  ["missing_api_key", 401],
  ["invalid_api_key", 401],
  ["permission_denied", 403],
  ["scope_required", 403],
  ["model_not_permitted", 403],
  ["not_found", 404],
  ["model_not_found", 404],
  ["request_too_large", 413],
  ["rate_limit_exceeded", 429],
  ["upstream_rate_limited", 429],
  ["capacity_exceeded", 429],
  ["internal_error", 500],
  ["upstream_error", 502],
  ["model_unavailable", 503],
  ["model_offline", 503],
  ["no_model_available", 503],
  ["service_unavailable", 503],
  ["upstream_timeout", 504],
];
/** The others name no field: `null`, or none for a scope that the route requires. */
const PARAMS: Record<string, string | undefined> = {
  context_length_exceeded: "messages",
  scope_required: undefined,
  model_not_permitted: "model",
  model_not_found: "model",
};
const WAITS = ["rate_limit_exceeded", "capacity_exceeded"];
/** gateway.events.4: the others become `upstream_error` once a stream has begun. */
const IN_BAND = ["context_length_exceeded", "upstream_error", "upstream_timeout"];
/** By its own name: callers of the alias get another code for an unavailable default model. */
const model = "stub-1";

test("the table holds every code that can be scripted", () => {
  expect(ERRORS.map(([code]) => code)).toEqual([...SCRIPTED_CODES]);
});

describe.each(ERRORS)("!error %s", (code, status) => {
  const param = code in PARAMS ? PARAMS[code] : null;

  test.each([false, true])("is an ordinary error, stream: %p", async (stream) => {
    for (const line of stream ? ["!error"] : ["!error", "!say So\n!error"]) {
      const reply = await app.chat(`${line} ${code}`, { model, stream });
      expect(reply.headers.get("retry-after")).toBe(WAITS.includes(code) ? "1" : null);
      expect(await readRefusal(reply)).toEqual([status, code, param]);
    }
  });

  test("gateway.events.4 after a text is one frame in the stream, followed by [DONE]", async () => {
    app.lines.length = 0;
    const headers = { "x-request-id": `late-${code}` };
    const content = `!say So\n!error ${code}`;
    const reply = await app.chat(content, { model, stream: true }, { headers });
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([201, null]);
    const [said, error, ...end] = await readFrames(reply);
    expect(said).toMatchObject({ choices: [{ delta: { content: "So" } }] });
    const shown = IN_BAND.includes(code) ? code : "upstream_error";
    expect(error as object).toEqual({
      error: {
        message: expect.any(String),
        type: shown === "context_length_exceeded" ? "invalid_request_error" : "server_error",
        code: shown,
        param: shown === "context_length_exceeded" ? "messages" : null,
      },
      request_id: `late-${code}`,
    });
    expect(end).toEqual(["data: [DONE]"]);
    // Logged as the model's failure, and never as a bug.
    const logged = app.lines.filter((line) => line.request_id === `late-${code}`);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({
      level: code === "context_length_exceeded" ? "info" : "warn",
    });
    expect(JSON.stringify(logged)).toContain(code);
  });
});
