// Tests routes in the formats of other interfaces: errors, keys, request ids, limits, closed paths.
import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { apiError } from "../../src/platform/errors.ts";
import { createTestServer, describeRoute } from "./test-server.ts";

const ACCOUNT = "01920000-0000-7000-8000-000000000001";
const ROUTES = { openai: "/v1/a", anthropic: "/v1/b" } as const;
const HEADERS = { "content-type": "application/json", "x-request-id": "r-1" };
const Body = Type.Object({ size: Type.Optional(Type.Integer({ minimum: 1 })) });

let isOpen = true;
const served = createTestServer((router) => {
  for (const [dialect, path] of Object.entries(ROUTES) as ["openai", "/v1/a"][]) {
    const spec = { ...describeRoute(Body), dialect, isOpen: () => isOpen };
    router.post(path, { ...spec, countsAs: "POST /v1/chat/completions" }, ({ body }) => {
      if (body.size === 504) throw apiError("upstream_timeout");
      return [200, {}];
    });
  }
});
const ask = (path: string, size = 1, headers: Record<string, string> = {}) => {
  const init = { body: JSON.stringify({ size }), headers: { ...HEADERS, ...headers } };
  return served.ask("POST", path, init);
};
const RULE = "`size` must be a whole number of at least 1, but is 0.";

describe("the format openai", () => {
  test("an error has `error` alone, with our code in it", async () => {
    const reply = await ask(ROUTES.openai, 0);
    expect([reply.status, await reply.json()]).toEqual([
      400,
      {
        error: {
          message: RULE,
          type: "invalid_request_error",
          param: "size",
          code: "invalid_request",
        },
      },
    ]);
    expect(reply.headers.get("request-id")).toBeNull();
  });

  test("a key in x-api-key counts for nothing", async () => {
    const headers = { authorization: "Bearer other", "x-api-key": "key" };
    expect((await ask(ROUTES.openai, 1, headers)).status).toBe(401);
  });
});

describe("the format anthropic", () => {
  test("an error has a type of its own, our code and the request id", async () => {
    const reply = await ask(ROUTES.anthropic, 0);
    expect([reply.status, await reply.json()]).toEqual([
      400,
      {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: RULE,
          code: "invalid_request",
          param: "size",
          details: { error_code: "invalid_request" },
        },
        request_id: "r-1",
      },
    ]);
  });

  test("server errors are `api_error`, but a timeout is `timeout_error`", async () => {
    const { error } = (await (await ask(ROUTES.anthropic, 504)).json()) as { error: object };
    expect(error).toMatchObject({ type: "timeout_error", code: "upstream_timeout" });
  });

  test("every reply has request-id beside x-request-id", async () => {
    for (const size of [0, 1]) {
      const { headers } = await ask(ROUTES.anthropic, size);
      const ids = [headers.get("request-id"), headers.get("x-request-id")];
      expect(ids).toEqual(["r-1", "r-1"]);
    }
  });

  test("the key is taken from x-api-key or Authorization", async () => {
    const wrong = { authorization: "Bearer other" };
    expect((await ask(ROUTES.anthropic, 1, { ...wrong, "x-api-key": "key" })).status).toBe(200);
    expect((await ask(ROUTES.anthropic, 1)).status).toBe(200);
    expect((await ask(ROUTES.anthropic, 1, wrong)).status).toBe(401);
    expect((await ask(ROUTES.anthropic, 1, { "x-api-key": "other" })).status).toBe(401);
  });
});

test("a request that comes during a stop is refused in the format of its route", async () => {
  const { server, ask } = createTestServer((router) => {
    const spec = { ...describeRoute(Body), dialect: "openai" as const };
    router.post(ROUTES.openai, spec, () => [200, {}]);
  });
  server.start();
  await server.stop(0);
  const reply = await ask("POST", ROUTES.openai, { headers: HEADERS, body: "{}" });
  expect([reply.status, Object.keys((await reply.json()) as object)]).toEqual([503, ["error"]]);
});

test("requests count on the limit of the route that is named", async () => {
  served.taken.length = 0;
  await ask(ROUTES.openai);
  await ask(ROUTES.anthropic);
  const name = `${ACCOUNT} POST /v1/chat/completions`;
  expect(served.taken).toEqual([name, name]);
});

test("a closed route is answered byte for byte like an unknown path, and may open later", async () => {
  isOpen = false;
  const unknown = await ask("/v1/unknown");
  const closed = await ask(ROUTES.anthropic);
  expect(closed.status).toBe(404);
  expect([...closed.headers]).toEqual([...unknown.headers]);
  expect(await closed.text()).toBe(await unknown.text());
  isOpen = true;
  expect((await ask(ROUTES.anthropic)).status).toBe(200);
});
