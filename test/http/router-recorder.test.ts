// Tests the calls of the router to a route's recorder: once for each metered request.
import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { MeteredRequest, RecorderFactory, RequestRecorder } from "../../src/http/index.ts";
import { type ApiError, apiError } from "../../src/platform/errors.ts";
import { caller, createTestServer, describeRoute } from "./test-server.ts";

const Body = Type.Object({ text: Type.String() });

type ServerOptions = Parameters<typeof createTestServer>[1];

function open(handler: () => object = () => ({ told: "ü" }), options: ServerOptions = {}) {
  const opened: MeteredRequest[] = [];
  const closed: unknown[][] = [];
  const admitted: boolean[] = [];
  const explained: ApiError[] = [];
  const calls: string[] = [];
  const meter: RecorderFactory = {
    open(request) {
      opened.push(request);
      const recorder: RequestRecorder = {
        request_bytes: 0,
        isAdmitted: false,
        explain(refusal) {
          calls.push("explain");
          explained.push(refusal);
        },
        close(...end) {
          calls.push("close");
          closed.push([...end, recorder.request_bytes]);
          admitted.push(recorder.isAdmitted);
        },
      };
      return recorder;
    },
  };
  const http = createTestServer((router) => {
    router.post("/v1/echo", { ...describeRoute(Body), meter }, () => [200, handler()]);
    router.post("/v1/scoped", { ...describeRoute(Body), meter, scope: "agents" }, () => [200, {}]);
    router.post("/v1/stream", { ...describeRoute(Body), meter }, () => new Response("a stream"));
  }, options);
  const ask = (path: string, body: string | ReadableStream, headers: Record<string, string> = {}) =>
    http.ask("POST", path, { body, headers });
  return { ...http, opened, closed, admitted, explained, calls, ask };
}

test("a reply ends its recorder with the bytes read and sent", async () => {
  const { ask, opened, closed } = open();
  await ask("/v1/echo", '{"text":"ü"}', { "x-request-id": "mine" });
  expect(opened).toEqual([{ caller, request_id: "mine", trace: null, started_at: 0 }]);
  expect(closed).toEqual([[200, null, Buffer.byteLength('{"told":"ü"}'), 13]]);
});

test("a refusal explains itself, and then ends it with the code that the caller sees", async () => {
  const { ask, closed, explained, admitted, calls } = open();
  const reply = await ask("/v1/echo", '{"text":7}');
  const { error } = (await reply.clone().json()) as { error: { message: string } };
  expect(error.message).toBe("`text` must be a string, but is 7.");
  const bytes = (await reply.arrayBuffer()).byteLength;
  expect(closed).toEqual([[400, "invalid_request", bytes, 10]]);
  const recorded = "`text` must be a string.";
  expect(explained).toMatchObject([{ code: "validation", details: { param: "text", recorded } }]);
  expect(admitted).toEqual([true]);
  expect(calls).toEqual(["explain", "close"]);
});

test("a missing scope is recorded, as its key is known", async () => {
  const { ask, closed } = open();
  await ask("/v1/scoped", "{}");
  expect(closed[0]!.slice(0, 2)).toEqual([403, "scope_required"]);
});

test("a bug ends it with the caller's code", async () => {
  const { ask, closed } = open(() => {
    throw new Error("a bug");
  });
  await ask("/v1/echo", '{"text":""}');
  expect(closed[0]!.slice(0, 2)).toEqual([500, "internal_error"]);
});

test("a body that is too large has the announced or the received bytes", async () => {
  const { ask, closed } = open();
  await ask("/v1/echo", "x", { "content-length": "9999999" });
  const pieces = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(60_000)),
  });
  await ask("/v1/echo", pieces);
  expect(closed).toMatchObject([
    [413, "request_too_large", expect.any(Number), 9_999_999],
    [413, "request_too_large", expect.any(Number), 120_000],
  ]);
});

test("a repeated length is ignored: the received bytes are counted", async () => {
  const { ask, closed } = open();
  await ask("/v1/echo", '{"text":"x"}', { "content-length": "12, 12" });
  await ask("/v1/echo", "x".repeat(200_000), { "content-length": "200000, 200000" });
  expect(closed).toMatchObject([
    [200, null, expect.any(Number), 12],
    [413, "request_too_large", expect.any(Number), 200_000],
  ]);
});

test("a caller who left while sending gets no reply", async () => {
  const { ask, closed } = open();
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) });
  await ask("/v1/echo", broken);
  expect(closed).toEqual([[499, "client_closed_request", 0, 0]]);
});

test("a handler that returns its own response ends the recorder itself", async () => {
  const { ask, closed, opened } = open();
  await ask("/v1/stream", '{"text":""}');
  expect([opened.length, closed]).toEqual([1, []]);
});

test("unknown keys are not recorded", async () => {
  const { ask, opened } = open();
  expect((await ask("/v1/echo", "{}", { authorization: "Bearer x" })).status).toBe(401);
  expect(opened).toEqual([]);
});

test("internal and rate-limited requests are recorded, but not as admitted", async () => {
  const internal = open();
  const headers = { "x-svc-internal-key": "x" };
  expect((await internal.ask("/v1/echo", "{}", headers)).status).toBe(403);
  const limiter = {
    take() {
      throw apiError("rate_limit_exceeded");
    },
  };
  const limited = open(undefined, { limiter });
  expect((await limited.ask("/v1/echo", "{}")).status).toBe(429);
  expect(internal.closed[0]!.slice(0, 2)).toEqual([403, "permission_denied"]);
  expect(limited.closed[0]!.slice(0, 2)).toEqual([429, "rate_limit_exceeded"]);
  expect([internal.admitted, limited.admitted]).toEqual([[false], [false]]);
});
