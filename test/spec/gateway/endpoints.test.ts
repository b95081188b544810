// Spec 000, "What the service does" and "Endpoints": the routes, and the keys that they need.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { storeKey } from "../../support/access.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { isGateway, readDocument } from "./document.ts";
import { readRefusal } from "./refusal.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ listens: true });
});
afterAll(() => app.stop());

/** Every route of the gateway that the document names: the other half has its own envelope. */
async function listRoutes(): Promise<[method: string, path: string][]> {
  const { paths } = await readDocument(app);
  return Object.entries(paths)
    .filter(([path]) => isGateway(path))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method): [string, string] => [method.toUpperCase(), path]),
    );
}

test("gateway.p4 all routes start with /v1", async () => {
  const routes = await listRoutes();
  expect(routes).toContainEqual(["POST", "/v1/chat/completions"]);
  expect(routes).toContainEqual(["GET", "/v1/models"]);
  for (const [, path] of routes) expect(path).toStartWith("/v1/");
});

test("gateway.p5 a client reaches its paths below {base_url}/v1", async () => {
  const base_url = `${app.url}/v1`;
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  const models = await fetch(`${base_url}/models`, { headers });
  expect(models.status).toBe(200);
  const body = JSON.stringify({ model: "svc", messages: [{ role: "user", content: "Hello" }] });
  const chat = await fetch(`${base_url}/chat/completions`, { method: "POST", headers, body });
  expect(chat.status).toBe(201);
});

test("gateway.p3 all routes share one base address and one kind of authentication", async () => {
  expect(await readDocument(app)).toMatchObject({
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
  });
});

test("gateway.endpoints.p1 every route requires a key", async () => {
  // A route in another format is open only where the operator says so.
  const routes = (await listRoutes()).filter(([, path]) => !/responses|messages/.test(path));
  for (const [method, path] of routes) {
    const reply = await app.ask(method, path, { key: null });
    expect([path, ...(await readRefusal(reply))]).toEqual([path, 401, "missing_api_key", null]);
  }
});

test("gateway.does.1 gateway.endpoints.post_chat_completions answers 201 with JSON, or with a stream", async () => {
  const json = await app.chat("Hello");
  expect([json.status, json.headers.get("content-type")]).toEqual([201, "application/json"]);
  expect(await json.json()).toMatchObject({ object: "chat.completion" });
  const stream = await app.chat("Hello", { stream: true });
  expect([stream.status, stream.headers.get("content-type")]).toEqual([
    201,
    "text/event-stream; charset=utf-8",
  ]);
  expect(await stream.text()).toEndWith("data: [DONE]\n\n");
});

test("gateway.endpoints.post_chat_completions needs no scope", async () => {
  expect((await app.chat("Hello", {}, { key: `${KEY}-none` })).status).toBe(201);
});

test("gateway.does.2 gateway.endpoints.get_models answers 200, and needs no scope", async () => {
  for (const key of [KEY, `${KEY}-none`, `${KEY}-ownerless`]) {
    const reply = await app.get("/v1/models", { key });
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/json"]);
    const { data } = (await reply.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(["svc", "stub-1"]);
  }
});

test("gateway.does.4 the default model is reached by its alias, by its second alias, and without a model", async () => {
  for (const fields of [{}, { model: "svc" }, { model: "svc-v0" }, { model: "stub-1" }]) {
    const reply = await app.chat("Hello", fields);
    expect([fields, reply.status]).toEqual([fields, 201]);
    expect(reply.headers.get("deprecation")).toBeNull();
    expect(await reply.json()).toMatchObject({ model: "svc" });
  }
});

describe("gateway.p7 with an alias set by the operator", () => {
  let acme: TestApp;
  beforeAll(async () => {
    acme = await startApp({ settings: '[service]\nalias = "acme"' });
  });
  afterAll(() => acme.stop());

  test("gateway.p7 it replaces `svc` everywhere", async () => {
    const list = (await (await acme.get("/v1/models")).json()) as { data: { id: string }[] };
    expect(list.data[0]?.id).toBe("acme");
    for (const model of ["acme", "acme-v0"]) {
      const reply = await acme.chat("Hello", { model });
      expect(await reply.json()).toMatchObject({ model: "acme" });
      expect(reply.headers.get("deprecation")).toBeNull();
    }
    expect((await acme.chat("Hello", { model: "svc" })).headers.get("deprecation")).not.toBeNull();
    const internal = { headers: { "x-acme-internal-hop": "1" } };
    expect((await acme.get("/v1/models", internal)).status).toBe(403);
    const { secret } = await storeKey(acme.app.access, { account_id: null });
    expect(secret).toStartWith("acme_sk_");
  });
});

describe("gateway.errors.not_found", () => {
  test("gateway.errors.not_found every other method of every route, with and without a key", async () => {
    const routes = await listRoutes();
    for (const path of new Set(routes.map(([, path]) => path))) {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        if (routes.some((route) => route[0] === method && route[1] === path)) continue;
        for (const key of [KEY, null]) {
          const reply = await app.ask(method, path, { key });
          const says = [404, "not_found", null];
          expect([method, path, ...(await readRefusal(reply))] as unknown[]).toEqual([
            method,
            path,
            ...says,
          ]);
        }
      }
    }
  });

  test("gateway.errors.not_found unknown paths", async () => {
    const paths = ["/", "/v1", "/v1/", "/v1/models/", "/v1/models/svc/x", "/v2/models", "/models"];
    for (const path of [...paths, "/v1/chat", "/v1/responses", "/v1/completions"]) {
      const refusal = await readRefusal(await app.get(path));
      expect([path, ...refusal]).toEqual([path, 404, "not_found", null]);
    }
  });
});
