// Tests the router alone: the order of its checks, the handler's input, and its reply.
import { describe, expect, test } from "bun:test";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { DatabaseUnavailable } from "../../src/database/index.ts";
import type { Handler, HandlerContext, HandlerReply } from "../../src/http/route.ts";
import { ApiError, apiError } from "../../src/platform/errors.ts";
import {
  caller,
  createTestServer,
  describeRoute,
  type RefusalParts,
  readRefusal,
} from "./test-server.ts";

const Body = Type.Object({ size: Type.Integer({ minimum: 1 }) });

describe("a request is checked in one order, and the first error answers", () => {
  const faults: {
    what: string;
    break: (trial: Trial) => void;
    says: RefusalParts;
  }[] = [
    {
      what: "its key",
      break: ({ headers }) => (headers.authorization = "Bearer other"),
      says: [401, "invalid_api_key", null],
    },
    {
      what: "gateway.authentication.3 an internal header",
      break: ({ headers }) => (headers["x-svc-internal-trace"] = "1"),
      says: [403, "permission_denied", null],
    },
    {
      what: "gateway.limits.rate the rate limit",
      break: (trial) => (trial.isExceeded = true),
      says: [429, "rate_limit_exceeded", null],
    },
    {
      what: "gateway.authentication.4 the route's own scope",
      break: (trial) => (trial.scopes = []),
      // `param` is absent.
      says: [403, "scope_required", undefined],
    },
    {
      what: "gateway.limits.body_size the size of its body",
      break: (trial) => (trial.body = trial.body.padEnd(100 * 1024 + 1)),
      says: [413, "request_too_large", null],
    },
    {
      what: "its content type",
      break: ({ headers }) => (headers["content-type"] = "text/plain"),
      says: [400, "invalid_request", null],
    },
    {
      what: "its JSON",
      break: (trial) => (trial.body = trial.body.replace("{", "[")),
      says: [400, "invalid_request", null],
    },
    {
      what: "its fields",
      break: (trial) => (trial.body = trial.body.replace("5", "0")),
      says: [400, "invalid_request", "size"],
    },
  ];
  interface Trial {
    headers: Record<string, string>;
    body: string;
    scopes: "search"[];
    isExceeded: boolean;
  }

  const run = async (broken: typeof faults) => {
    const trial: Trial = { headers: {}, body: '{"size":5}', scopes: ["search"], isExceeded: false };
    // From the last to the first, so that an earlier fault may replace a later one.
    for (const fault of broken.toReversed()) fault.break(trial);
    const { ask } = createTestServer(
      (router) =>
        router.post("/v1/things", { ...describeRoute(Body), scope: "search" }, () => [200, {}]),
      {
        async identify(authorization) {
          if (authorization !== "Bearer key") throw apiError("invalid_api_key");
          return { ...caller, scopes: trial.scopes };
        },
        limiter: {
          take() {
            if (trial.isExceeded) throw apiError("rate_limit_exceeded");
            return null;
          },
        },
      },
    );
    return ask("POST", "/v1/things", { headers: trial.headers, body: trial.body });
  };

  test("a valid request is answered", async () => {
    expect((await run([])).status).toBe(200);
  });
  for (const [i, fault] of faults.entries()) {
    test(`${fault.what} decides alone, and before all later faults`, async () => {
      expect(await readRefusal(await run([fault]))).toEqual(fault.says);
      expect(await readRefusal(await run(faults.slice(i)))).toEqual(fault.says);
    });
  }
});

/** One route that accepts any body, and the contexts that its handler received. */
function createTrial(
  answer: (ask: HandlerContext<unknown>) => HandlerReply | Promise<HandlerReply>,
  body?: TSchema,
) {
  const asked: HandlerContext<unknown>[] = [];
  const http = createTestServer((router) =>
    router.post("/v1/things", describeRoute(body), (ask: HandlerContext<unknown>) => {
      asked.push(ask);
      return answer(ask);
    }),
  );
  const post = (text: string, headers: Record<string, string> = {}) =>
    http.ask("POST", "/v1/things", { body: text, headers });
  return { ...http, asked, post };
}

test("a handler receives the caller, the body and the id of the request", async () => {
  const { post, asked } = createTrial(() => [202, { done: true }], Body);
  const response = await post('{"size":5}', { "x-request-id": "mine" });
  expect(asked).toMatchObject([{ caller, body: { size: 5 }, requestId: "mine" }]);
  expect([response.status, await response.text()]).toEqual([202, '{"done":true}']);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("x-request-id")).toBe("mine");
});

test("a reply's own headers are sent, and cannot replace the common ones", async () => {
  const { post } = createTrial(() => [200, {}, { link: "<x>", "x-request-id": "another" }]);
  const { headers } = await post("", { "x-request-id": "mine" });
  expect([headers.get("link"), headers.get("x-request-id")]).toEqual(["<x>", "mine"]);
});

test("a handler's refusal is rendered with its param and headers", async () => {
  const { post } = createTrial(() => {
    const headers = { deprecation: "@1", "x-request-id": "another", "content-type": "text/html" };
    throw apiError("model_not_found", { param: "model", headers });
  });
  const response = await post("", { "x-request-id": "mine" });
  const shown = ["deprecation", "x-request-id", "content-type"];
  expect(shown.map((name) => response.headers.get(name))).toEqual([
    ...["@1", "mine", "application/json"],
  ]);
  expect(await readRefusal(response)).toEqual([404, "model_not_found", "model"]);
});

for (const [how, answer] of [
  [
    "throws",
    () => {
      throw new TypeError("secret detail");
    },
  ],
  ["rejects", () => Promise.reject(new TypeError("secret detail"))],
  [
    "throws no Error",
    () => {
      throw "secret detail";
    },
  ],
  ["returns what is no JSON", () => [200, 1n]],
  [
    "throws an internal error with its cause",
    () => {
      throw new ApiError("internal_error", {}, new TypeError("secret detail"));
    },
  ],
] as [string, () => HandlerReply][]) {
  test(`gateway.errors.internal_error a handler that ${how} is logged and not described to the caller`, async () => {
    const { post, lines } = createTrial(answer);
    const response = await post("", { "x-request-id": "mine" });
    const text = await response.text();
    expect(JSON.parse(text)).toEqual({
      error: {
        message: "Something went wrong on our side.",
        type: "server_error",
        code: "internal_error",
        param: null,
      },
      request_id: "mine",
      statusCode: 500,
      message: ["Something went wrong on our side."],
      code: "internal_error",
    });
    expect([response.status, response.headers.get("x-request-id")]).toEqual([500, "mine"]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: "error",
      request_id: "mine",
      route: "POST /v1/things",
    });
    expect(String(lines[0]!.error)).toMatch(/secret detail|BigInt/);
  });
}

test("a failing disk or database is 503 with Retry-After, and no bug", async () => {
  const { post, lines } = createTrial(() => {
    throw new DatabaseUnavailable("the disk of /secret is full: make room");
  });
  const response = await post("", {});
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  expect(error).toMatchObject({ code: "service_unavailable", type: "server_error" });
  expect(error.message).not.toContain("secret");
  expect(lines).toEqual([]);
});

test("gateway.limits.rate keys of one account share a counter per route; a key without one has its own", async () => {
  const callers = [
    { ...caller, key_id: "k1", account_id: "a" },
    { ...caller, key_id: "k2", account_id: "a" },
    { ...caller, key_id: "k3", account_id: null },
  ];
  const { ask, taken } = createTestServer(
    (router) => {
      router.get("/v1/things", describeRoute<never>(), () => [200, {}]);
      router.post("/v1/things", describeRoute(), () => [200, {}]);
    },
    { identify: async () => callers.shift()! },
  );
  await ask("GET", "/v1/things?limit=5");
  await ask("GET", "/v1/things?limit=6");
  await ask("GET", "/v1/things");
  callers.push({ ...caller, account_id: "a" });
  await ask("POST", "/v1/things");
  expect(taken).toEqual([
    "a GET /v1/things",
    "a GET /v1/things",
    "k3 GET /v1/things",
    "a POST /v1/things",
  ]);
});

test("gateway.limits.rate where other processes count, their answer is waited for", async () => {
  let isHandled = false;
  const http = createTestServer(
    (router) => {
      router.get("/v1/things", describeRoute<never>(), () => {
        isHandled = true;
        return [200, {}];
      });
    },
    { limiter: { take: () => Promise.reject(apiError("rate_limit_exceeded")) } },
  );
  expect((await http.ask("GET", "/v1/things")).status).toBe(429);
  expect(isHandled).toBe(false);
});

test("a stream counts as in progress after its reply, and any other reply does not", async () => {
  const open = new Set<Request>();
  const http = createTestServer(
    (router) => {
      router.get("/v1/things", describeRoute<never>(), () => [200, {}]);
      router.get("/v1/stream", describeRoute<never>(), () => new Response("data: 1\n\n"));
    },
    { callers: { add: (one) => open.add(one), delete: (one) => open.delete(one) } },
  );
  const counts: number[] = [];
  for (const path of ["/v1/things", "/v1/stream"]) {
    expect((await http.ask("GET", path)).status).toBe(200);
    counts.push(open.size);
  }
  expect(counts).toEqual([0, 1]);
});

test("gateway.authentication.3 an internal header has the alias's prefix, in any case", async () => {
  const { ask } = createTestServer(
    (router) => router.get("/v1/things", describeRoute<never>(), () => [200, {}]),
    { alias: "acme" },
  );
  const statusOf = async (name: string) =>
    (await ask("GET", "/v1/things", { headers: { [name]: "" } })).status;
  for (const name of ["x-acme-internal", "X-Acme-Internal-Hop", "x-acme-internals"]) {
    expect([name, await statusOf(name)]).toEqual([name, 403]);
  }
  for (const name of [
    "x-svc-internal-hop",
    "x-acme-inter",
    "acme-internal",
    "my-x-acme-internal",
  ]) {
    expect([name, await statusOf(name)]).toEqual([name, 200]);
  }
});

test("gateway.authentication.3 an internal key is refused", async () => {
  const { ask } = createTestServer(
    (router) => router.get("/v1/things", describeRoute<never>(), () => [200, {}]),
    { identify: async () => ({ ...caller, kind: "internal" }) },
  );
  expect(await readRefusal(await ask("GET", "/v1/things"))).toEqual([
    403,
    "permission_denied",
    null,
  ]);
});

test("a request counts as in progress after its key and limit, until it is answered", async () => {
  const under = new Set<Request>();
  const counts: number[] = [];
  let isLimited = false;
  const { ask } = createTestServer(
    (router) => {
      router.get("/v1/things", describeRoute<never>(), () => {
        counts.push(under.size);
        return [200, {}];
      });
    },
    {
      callers: {
        add: (request) => void under.add(request),
        delete: (one) => void under.delete(one),
      },
      limiter: {
        take() {
          if (isLimited) throw apiError("rate_limit_exceeded");
          return null;
        },
      },
    },
  );
  expect((await ask("GET", "/v1/things")).status).toBe(200);
  expect([counts, under.size]).toEqual([[1], 0]);
  isLimited = true;
  expect((await ask("GET", "/v1/things")).status).toBe(429);
  const headers = { authorization: "Bearer other" };
  expect((await ask("GET", "/v1/things", { headers })).status).toBe(401);
  expect(under.size).toBe(0);
});

test("a slow route is held open once it is late, until it is answered or fails", async () => {
  const happened: string[] = [];
  const spec = { ...describeRoute(Body), isSlow: true };
  const answer: Handler<Static<typeof Body>> = async ({ body }) => {
    await clock.advance(body.size === 3 ? 9_999 : 10_000);
    happened.push("answer");
    if (body.size > 1) throw apiError("upstream_timeout");
    return [200, {}];
  };
  const { ask, clock } = createTestServer(
    (router) => {
      router.post("/v1/slow", spec, answer);
      router.post("/v1/quick", describeRoute(Body), answer);
    },
    {
      holdOpen() {
        happened.push("hold");
        return () => happened.push("release");
      },
    },
  );
  for (const size of [1, 2]) {
    await ask("POST", "/v1/slow", { body: `{"size":${size}}` });
    expect(happened.splice(0)).toEqual(["hold", "answer", "release"]);
  }
  await ask("POST", "/v1/slow", { body: '{"size":0}' });
  expect(happened).toEqual([]);
  await ask("POST", "/v1/slow", { body: '{"size":3}' });
  await ask("POST", "/v1/quick", { body: '{"size":1}' });
  expect(happened).toEqual(["answer", "answer"]);
  expect(clock.pending()).toBe(0);
});

test("a missing body is an empty object, with and without required fields", async () => {
  const nothing = createTrial(() => [200, {}], Type.Object({ note: Type.Optional(Type.String()) }));
  expect((await nothing.post("")).status).toBe(200);
  expect(nothing.asked[0]?.body).toEqual({});
  const something = createTrial(() => [200, {}], Body);
  expect(await readRefusal(await something.post(""))).toEqual([400, "invalid_request", "size"]);
});

test("gateway.limits.body_size a body that no route reads has the same limit", async () => {
  const { ask } = createTestServer((router) =>
    router.get("/v1/things", describeRoute<never>(), () => [200, {}]),
  );
  const announce = async (length: number) => {
    const headers = { "content-length": String(length) };
    return (await ask("GET", "/v1/things", { headers })).status;
  };
  expect([await announce(100 * 1024), await announce(100 * 1024 + 1)]).toEqual([200, 413]);
});

test("the agents surface omits the code of a failed schema", async () => {
  const { ask } = createTestServer(
    (router) => router.post("/v1/agents", describeRoute(Body), () => [200, {}]),
    { surface: "agents" },
  );
  const response = await ask("POST", "/v1/agents", { body: "{}" });
  expect([response.status, await response.json()]).toEqual([
    400,
    {
      error: {
        message: "`size` is required.",
        type: "invalid_request_error",
        param: "size",
      },
    },
  ]);
});

test("a connection that cannot be held open is logged, and its request is answered", async () => {
  const release = Promise.withResolvers<void>();
  const http = createTestServer(
    (router) =>
      router.get("/v1/late", { ...describeRoute<never>(), isSlow: true }, async () => {
        await release.promise;
        return [200, { done: true }];
      }),
    {
      holdOpen() {
        throw new Error("a bug");
      },
    },
  );
  const reply = http.ask("GET", "/v1/late");
  await http.clock.advance(10_000);
  release.resolve();
  expect((await reply).status).toBe(200);
  expect(http.lines).toMatchObject([
    {
      message: "http: a connection could not be held open",
      error: expect.stringContaining("a bug"),
    },
  ]);
});
