// Spec 000, "Errors": the envelope, every code that can be reached now, and what names the fault.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ERROR_CODES, type ErrorCode, publicCode, typeOf } from "../../../src/platform/errors.ts";
import { type AskOptions, startApp, type TestApp } from "../../support/app.ts";
import { readRefusal } from "./refusal.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: "[limits]\nrequests_per_minute = 100000" });
});
afterAll(() => app.stop());

const PATH = "/v1/chat/completions";
const post = async (body: unknown, options?: AskOptions) =>
  readRefusal(await app.post(PATH, body, options));

/** The table of the spec. */
const TABLE: [status: number, code: string | null][] = [
  [400, "invalid_request"],
  [400, "context_length_exceeded"],
  [401, "missing_api_key"],
  [401, "invalid_api_key"],
  [403, "permission_denied"],
  [403, "scope_required"],
  [403, "model_not_permitted"],
  [404, "not_found"],
  [404, "model_not_found"],
  [413, "request_too_large"],
  [429, "rate_limit_exceeded"],
  [429, "upstream_rate_limited"],
  [429, "capacity_exceeded"],
  [499, "client_closed_request"],
  [500, "internal_error"],
  [502, "upstream_error"],
  [503, "model_unavailable"],
  [503, "model_offline"],
  [503, "no_model_available"],
  [503, "service_unavailable"],
  [504, "upstream_timeout"],
];

describe("the envelope", () => {
  test("gateway.errors.p1 gateway.resources.envelope.p1 gateway.versioning.2 has these fields and no other", async () => {
    const reply = await app.post(PATH, {}, { headers: { "x-request-id": "mine" } });
    expect([reply.status, await reply.json()]).toEqual([
      400,
      {
        error: {
          message: "`messages` is required.",
          type: "invalid_request_error",
          code: "invalid_request",
          param: "messages",
        },
        request_id: "mine",
        statusCode: 400,
        message: ["`messages` is required."],
        code: "invalid_request",
      },
    ]);
  });

  test("gateway.errors.p5 request_id repeats the header, received or generated", async () => {
    const sent: Record<string, string>[] = [{ "x-request-id": "mine" }, {}];
    for (const headers of sent) {
      const reply = await app.get("/v1/nothing", { headers });
      const { request_id } = (await reply.json()) as { request_id: string };
      expect(request_id).toBe(reply.headers.get("x-request-id")!);
    }
  });

  test("gateway.errors.p2 gateway.errors.p3 gateway.versioning.2 every code of the table exists, with its status", () => {
    const shown = (Object.keys(ERROR_CODES) as ErrorCode[]).map((code): (typeof TABLE)[number] => [
      ERROR_CODES[code].status,
      publicCode(code, "gateway"),
    ]);
    for (const row of TABLE) expect(shown).toContainEqual(row);
  });

  test("gateway.errors.p6 the type follows the status", () => {
    const types = Object.fromEntries(TABLE.map(([status]) => [status, typeOf(status)]));
    expect(types).toEqual({
      400: "invalid_request_error",
      401: "authentication_error",
      403: "permission_error",
      404: "not_found_error",
      413: "invalid_request_error",
      429: "rate_limit_error",
      499: "server_error",
      500: "server_error",
      502: "server_error",
      503: "server_error",
      504: "server_error",
    });
  });
});

describe("gateway.errors.invalid_request", () => {
  const hello = [{ role: "user", content: "Hello" }];

  test("gateway.errors.invalid_request a body that is not JSON has no param", async () => {
    const deep = "[".repeat(65) + "]".repeat(65);
    for (const body of ["{", "hello", "{'a':1}", deep, "[]", "null", "5", '"x"']) {
      expect([body, ...(await post(body))]).toEqual([body, 400, "invalid_request", null]);
    }
  });

  test("gateway.errors.invalid_request a body of another type is refused", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      const refusal = await post({ messages: hello }, { headers: { "content-type": type } });
      expect([type, ...refusal]).toEqual([type, 400, "invalid_request", null]);
    }
  });

  const image = { type: "image_url", image_url: { url: "data:," } };
  const rows: [param: string, body: object][] = [
    ["messages", {}],
    ["messages", { messages: [] }],
    ["messages", { messages: "Hello", temperature: 5 }],
    ["messages.0", { messages: [5] }],
    ["messages.0.role", { messages: [{}] }],
    ["messages.0.role", { messages: [{ role: "developer", content: "Hello" }] }],
    ["messages.1.content", { messages: [...hello, { role: "user", content: 5 }], top_p: 9 }],
    ["messages.0.content", { messages: [{ role: "assistant", content: null }], temperature: 9 }],
    ["messages.0.content", { messages: [{ role: "assistant", tool_calls: [] }], top_p: 9 }],
    [
      "messages.1.content.0.type",
      { messages: [...hello, { role: "tool", tool_call_id: "c", content: [image] }], top_p: 9 },
    ],
    ["reasoning", { messages: hello, user: "\u{1f600}".repeat(200), reasoning: {} }],
    ["model", { model: 5, messages: [] }],
    ["temperature", { messages: hello, temperature: 2.1, top_p: 9 }],
    ["temperature", { top_p: 9, temperature: "1", messages: hello }],
    ["top_p", { messages: hello, top_p: -0.1, max_tokens: 0 }],
    ["max_tokens", { messages: hello, max_tokens: 0.5 }],
    ["stop.1", { messages: hello, stop: ["a", ""] }],
    ["tools.0.function.name", { messages: hello, tools: [{ type: "function", function: {} }] }],
    ["tool_choice", { messages: hello, tool_choice: "foo" }],
    ["stream_options", { messages: hello, stream_options: { include_usage: true } }],
    ["user", { messages: hello, user: "x".repeat(257) }],
    ["reasoning", { messages: hello, reasoning: {} }],
  ];
  for (const [param, body] of rows) {
    test(`gateway.errors.invalid_request names ${param} of ${JSON.stringify(body).slice(0, 60)}`, async () => {
      expect(await post(body)).toEqual([400, "invalid_request", param]);
    });
  }

  test("gateway.errors.invalid_request the messages say which values are expected", async () => {
    const say = async (fields: object) => {
      const reply = await app.post(PATH, { messages: hello, ...fields });
      return ((await reply.json()) as { error: { message: string } }).error.message;
    };
    expect(await say({ messages: [5] })).toBe("`messages.0` must be an object, but is 5.");
    expect(await say({ messages: [{ role: "developer" }] })).toBe(
      '`messages.0.role` must be one of "system", "user", "assistant", "tool", but is "developer".',
    );
    expect(await say({ tool_choice: "foo" })).toBe(
      '`tool_choice` must be one of "auto", "none", "required" or an object, but is "foo".',
    );
    expect(await say({ temperature: 3 })).toBe(
      "`temperature` must be a number from 0 to 2, but is 3.",
    );
    expect(await say({ max_tokens: 0 })).toBe(
      "`max_tokens` must be a whole number of at least 1, but is 0.",
    );
  });

  test("gateway.errors.invalid_request numbers out of range, lone surrogates and names of object members are refused", async () => {
    const messages = '"messages":[{"role":"user","content":"Hello"}]';
    expect(await post(`{${messages},"temperature":1e400}`)).toEqual([
      400,
      "invalid_request",
      "temperature",
    ]);
    expect(await post(`{${messages},"seed":-1e400}`)).toEqual([400, "invalid_request", "seed"]);
    const odd = [
      '"__proto__":{"temperature":9}',
      '"constructor":1',
      '"toString":1',
      '"user":"\\ud800"',
    ];
    for (const field of [...odd, '"temperature":9,"temperature":1']) {
      const reply = await app.post(PATH, `{${messages},${field}}`);
      expect([field, reply.status]).toEqual([field, 201]);
    }
    expect(({} as Record<string, unknown>).temperature).toBeUndefined();
  });

  test("gateway.errors.p4 no body, however odd, is 422 or an internal error", async () => {
    const parts = [
      "{",
      "}",
      "[",
      "]",
      '"',
      ",",
      ":",
      "messages",
      "null",
      "1e999",
      "\\u",
      "\0",
      "é",
    ];
    for (let seed = 0; seed < 300; seed++) {
      const body = Array.from(
        { length: 9 },
        (_, i) => parts[(seed * 7 + i * i * seed) % parts.length],
      );
      const [status] = await post(body.join(""));
      expect([body.join(""), status]).toEqual([body.join(""), 400]);
    }
  });
});

describe("codes for failures of the model server", () => {
  const fail = async (code: string, fields: object = {}) => {
    const reply = await app.chat(`!error ${code}`, { model: "stub-1", ...fields });
    return [...(await readRefusal(reply)), reply.headers.get("retry-after")];
  };

  test("gateway.errors.upstream_rate_limited has no Retry-After", async () => {
    expect(await fail("upstream_rate_limited")).toEqual([429, "upstream_rate_limited", null, null]);
  });
  test("gateway.errors.upstream_error", async () => {
    expect(await fail("upstream_error")).toEqual([502, "upstream_error", null, null]);
  });
  test("gateway.errors.upstream_timeout", async () => {
    expect(await fail("upstream_timeout")).toEqual([504, "upstream_timeout", null, null]);
  });
  test("gateway.errors.model_unavailable", async () => {
    expect(await fail("model_unavailable")).toEqual([503, "model_unavailable", null, null]);
  });
  test("gateway.errors.context_length_exceeded names the messages", async () => {
    const says = [400, "context_length_exceeded", "messages", null];
    expect(await fail("context_length_exceeded")).toEqual(says);
  });
  test("gateway.states.p2 gateway.errors.model_offline a call that names the model", async () => {
    expect(await fail("model_offline")).toEqual([503, "model_offline", null, null]);
  });
  test("gateway.states.p3 gateway.errors.no_model_available a call by alias, without a model, by an unknown id", async () => {
    const says = [503, "no_model_available", null, null];
    for (const model of ["svc", "svc-v0", undefined, "unheard-of"]) {
      expect([model, ...(await fail("model_offline", { model }))]).toEqual([model, ...says]);
    }
  });
});

test("gateway.errors.client_closed_request is logged, and appears in no reply", async () => {
  const leaving = new AbortController();
  const asking = app.chat(
    "!stall",
    {},
    { signal: leaving.signal, headers: { "x-request-id": "left" } },
  );
  await app.clock.advance(0);
  leaving.abort();
  await asking.catch(() => {});
  await app.clock.advance(0);
  const lines = app.lines.filter((line) => line.request_id === "left");
  expect(lines).toMatchObject([{ code: "client_closed_request", status: 499 }]);
});

test("gateway.errors.internal_error an unreachable database is an internal error, and not one of the key", async () => {
  const broken = await startApp();
  await broken.app.database.close();
  expect(await readRefusal(await broken.get("/v1/models"))).toEqual([500, "internal_error", null]);
  expect(broken.lines).toMatchObject([{ level: "error", route: "GET /v1/models" }]);
  await broken.stop();
});
