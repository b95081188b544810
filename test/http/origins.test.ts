// Tests which web pages may send requests: dev's own, and the allowed origins.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Origins } from "../../src/http/origins.ts";
import { type RawReply, sendRaw } from "./raw-client.ts";
import { createTestServer, describeRoute, type TestServer } from "./test-server.ts";

const APP = "https://app.example";
const KEY = "Authorization: Bearer key";
const ALLOW = "access-control-allow-origin";

function openTestServer(isLocalOnly: boolean, cors_origins: readonly string[]): TestServer {
  const origins = {
    isLocalOnly,
    publicUrl: () => "https://wadi.example:8443/base",
    corsOrigins: () => cors_origins,
  };
  const page = { path: "/page", answer: () => new Response("a page\n") };
  return createTestServer(
    (router) => router.get("/v1/things", describeRoute<never>(), () => [200, { all: "things" }]),
    {},
    [page],
    { origins },
  );
}

const send = (http: TestServer, line: string, ...headers: string[]): Promise<RawReply | null> =>
  sendRaw(http.server.url, [`${line} HTTP/1.1`, ...headers, KEY, "", ""].join("\r\n"));

describe("with public keys", () => {
  let http: TestServer;
  beforeAll(async () => {
    http = openTestServer(true, [APP]);
    await http.server.start();
  });
  afterAll(() => http.server.stop(0));

  const own = [
    "localhost",
    "LocalHost",
    "app.localhost",
    "a.b.localhost",
    "127.0.0.1",
    "127.9.8.7",
  ];
  for (const name of [...own, "[::1]", "wadi.example"]) {
    for (const host of [name, `${name}:1`, `${name}:65535`]) {
      test(`the Host ${host} is accepted`, async () => {
        expect(await send(http, "GET /v1/things", `Host: ${host}`)).toMatchObject({ status: 200 });
      });
    }
  }

  const foreign = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "128.0.0.1"];
  const odd = [
    "",
    "notlocalhost",
    ".localhost",
    "localhost, evil.example",
    "user@localhost",
    "a b",
  ];
  for (const host of [...foreign, ...odd, "[::2]", "[::1].evil.example", "0.0.0.0", "10.0.0.1"]) {
    test(`the Host "${host}" is refused on every path, before its route is asked`, async () => {
      http.taken.length = 0;
      for (const path of ["/v1/things", "/page", "/v1/unknown", "/v1/../page"]) {
        const reply = await send(http, `GET ${path}`, `Host: ${host}`, "x-request-id: mine");
        expect(reply).toMatchObject({ status: 403, headers: { "x-request-id": "mine" } });
        expect(reply!.body).not.toContain('things"');
      }
      const { body } = (await send(http, "GET /v1/things", `Host: ${host}`))!;
      expect(JSON.parse(body).error).toMatchObject({ code: "permission_denied" });
      expect(http.taken).toEqual([]);
    });
  }

  test("an HTTP/1.0 request without a Host is refused", async () => {
    const text = `GET /v1/things HTTP/1.0\r\n${KEY}\r\n\r\n`;
    expect(await sendRaw(http.server.url, text)).toMatchObject({ status: 403 });
  });

  const pages = [
    "http://localhost",
    "http://localhost:3000",
    "https://127.0.0.1:1",
    "http://[::1]:5",
  ];
  for (const origin of [...pages, "http://app.localhost:5173", "https://wadi.example:8443", APP]) {
    test(`the Origin ${origin} is accepted`, async () => {
      const reply = await send(http, "GET /v1/things", "Host: localhost", `Origin: ${origin}`);
      expect(reply).toMatchObject({ status: 200 });
    });
  }
  for (const origin of ["https://evil.example", "null", "", "http://localhost.evil.example"]) {
    test(`the Origin "${origin}" is refused, before its route is asked`, async () => {
      http.taken.length = 0;
      const reply = await send(http, "GET /v1/things", "Host: localhost", `Origin: ${origin}`);
      expect(reply).toMatchObject({ status: 403 });
      expect(JSON.parse(reply!.body).error).toMatchObject({ code: "permission_denied" });
      expect(reply!.headers).not.toContainKey(ALLOW);
      expect(http.taken).toEqual([]);
    });
  }

  test("the agents surface refuses in its own envelope", async () => {
    const { body } = (await send(http, "GET /v1/runs", "Host: evil.example"))!;
    expect(JSON.parse(body)).toEqual({
      error: expect.objectContaining({ type: expect.any(String) }),
    });
  });
});

describe("with secret keys", () => {
  let closed: TestServer;
  let open: TestServer;
  beforeAll(async () => {
    closed = openTestServer(false, []);
    open = openTestServer(false, [APP, "tauri://localhost"]);
    await Promise.all([closed, open].map(({ server }) => server.start()));
  });
  afterAll(() => Promise.all([closed, open].map(({ server }) => server.stop(0))));
  const preflight = (http: TestServer, origin: string, ...headers: string[]) =>
    send(http, "OPTIONS /v1/things", "Host: a.example", `Origin: ${origin}`, ...headers);
  const ASKS = "Access-Control-Request-Method: POST";

  test("any Host and any Origin is answered, without CORS headers", async () => {
    const reply = await send(closed, "GET /v1/things", "Host: any.example", `Origin: ${APP}`);
    expect(reply).toMatchObject({ status: 200 });
    expect(reply!.headers).not.toContainKey(ALLOW);
  });

  test("gateway.errors.not_found OPTIONS is a wrong method if no origin is allowed", async () => {
    expect(await preflight(closed, APP, ASKS)).toMatchObject({ status: 404 });
  });

  test("an allowed origin gets a preflight reply, with the headers it names", async () => {
    const names = "authorization,content-type,x-stainless-os";
    const reply = await preflight(open, APP, ASKS, `Access-Control-Request-Headers: ${names}`);
    expect(reply).toMatchObject({
      status: 204,
      body: "",
      headers: {
        [ALLOW]: APP,
        "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": names,
        "access-control-max-age": "600",
        vary: "Origin",
        "x-request-id": expect.any(String),
      },
    });
  });

  test("malformed header names are not echoed, nor more than 2,048 characters of them", async () => {
    const echo = async (names: string) => {
      const asked = `Access-Control-Request-Headers: ${names}`;
      const { headers } = (await preflight(open, APP, ASKS, asked))!;
      return headers["access-control-allow-headers"];
    };
    const longest = "x".repeat(2_048);
    expect(await echo(longest)).toBe(longest);
    for (const names of ["a b;c", `${longest}x`]) {
      expect(await echo(names)).toBe("authorization, content-type");
    }
  });

  test("a reply that varies by another header varies by the origin too", () => {
    const origins = new Origins({
      ...{ isLocalOnly: false, publicUrl: () => "", corsOrigins: () => [APP] },
    });
    const reply = new Response("", { headers: { vary: "Accept-Encoding" } });
    expect(origins.expose(reply, APP).headers.get("vary")).toBe("Accept-Encoding, Origin");
  });

  test("a disallowed origin, and an OPTIONS that is no preflight, are wrong methods", async () => {
    for (const origin of ["https://app.example.evil", "http://app.example", "null"]) {
      const reply = await preflight(open, origin, ASKS);
      expect(reply).toMatchObject({ status: 404 });
      expect(reply!.headers).not.toContainKey(ALLOW);
    }
    expect(await preflight(open, APP)).toMatchObject({ status: 404 });
  });

  test("an allowed origin may read replies, errors and pages, and our headers", async () => {
    for (const [path, status] of [
      ["/v1/things", 200],
      ["/page", 200],
      ["/v1/no", 404],
    ] as const) {
      for (const origin of [APP, "tauri://localhost"]) {
        const reply = await send(open, `GET ${path}`, "Host: b.example", `Origin: ${origin}`);
        expect(reply).toMatchObject({ status, headers: { [ALLOW]: origin, vary: "Origin" } });
        const exposed = reply!.headers["access-control-expose-headers"]!.split(", ");
        expect(exposed).toContainValues(["request-id", "retry-after", "www-authenticate"]);
      }
    }
    const reply = await send(
      open,
      "GET /v1/things",
      "Host: b.example",
      "Origin: https://evil.example",
    );
    expect(reply!.status).toBe(200);
    expect(reply!.headers).not.toContainKey(ALLOW);
  });
});
