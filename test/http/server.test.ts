// Tests the server over raw sockets: odd requests, pages, internal errors, start and stop.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { HttpServer, type HttpServerOptions } from "../../src/http/server.ts";
import { openEventStream } from "../../src/http/sse.ts";
import { findClosedPort } from "../support/ports.ts";
import { openRaw, sendRaw } from "./raw-client.ts";
import { createTestServer, describeRoute, PLAIN_SERVER, type TestServer } from "./test-server.ts";

const KEY = "Authorization: Bearer key\r\n";
const HOST = "Host: localhost\r\n";
const GET = "GET /v1/things HTTP/1.1\r\n";
const POST = "POST /v1/things HTTP/1.1\r\n";

const failOnBug = (bug: unknown) => {
  throw bug;
};
/** Signals of the requests that wait in `/v1/slow`. */
let slow: PromiseWithResolvers<AbortSignal>;
let release: PromiseWithResolvers<void>;
/** The names of the clients of requests. */
const clients: string[] = [];

function createTrialServer(at: Partial<HttpServerOptions> = {}): TestServer {
  slow = Promise.withResolvers();
  release = Promise.withResolvers();
  return createTestServer(
    (router) => {
      router.get("/v1/things", describeRoute<never>(), ({ request }) => {
        clients.push(http.server.addressOf(request));
        return [200, { all: "things" }];
      });
      router.get("/v1/derived", describeRoute<never>(), ({ request }) => {
        const made = new Request("http://localhost/v1/other");
        const before = http.server.addressOf(made);
        http.server.derive(made, request);
        return [200, { before, after: http.server.addressOf(made) }];
      });
      router.post(
        "/v1/things",
        describeRoute(Type.Object({ size: Type.Integer() })),
        ({ body: { size } }) => [200, { size }],
      );
      router.get(
        "/v1/slow",
        { ...describeRoute<never>(), isSlow: true },
        async ({ request: { signal } }) => {
          slow.resolve(signal);
          await release.promise;
          return [200, { done: true }];
        },
      );
      router.get(
        "/v1/stream",
        { ...describeRoute<never>(), isSlow: true },
        ({ request: { signal } }) => {
          const stream = openEventStream(signal, failOnBug);
          stream.send("first");
          slow.resolve(stream.left);
          return stream.answer(200, {});
        },
      );
    },
    {},
    [
      { path: "/page", answer: () => new Response("a page\n") },
      {
        path: "/broken",
        answer: () => {
          throw new Error("secret detail");
        },
      },
      { path: "/rejecting", answer: () => Promise.reject(new Error("secret detail")) },
    ],
    at,
  );
}

let http: TestServer;
beforeAll(async () => {
  http = createTrialServer();
  await http.server.start();
});
afterAll(() => http.server.stop(0));

/** The status, and the code of an envelope that repeats the request's id. */
async function ask(text: string): Promise<[status: number, code?: string] | null> {
  const reply = await sendRaw(http.server.url, text);
  if (!reply) return null;
  if (reply.body === "") return [reply.status];
  const { code, request_id, size } = JSON.parse(reply.body);
  if (reply.status !== 200) expect(request_id).toBe(reply.headers["x-request-id"]);
  expect(reply.headers["content-type"]).toBe("application/json");
  return code === undefined ? [reply.status, size] : [reply.status, code];
}

describe("a route is found whatever the Host header", () => {
  const hosts = [
    "localhost",
    "a",
    "ab",
    "",
    "a b",
    "x?y",
    "x#y",
    "x/v1",
    "/",
    "u:p@x",
    "[bad",
    "é",
  ];
  for (const host of [...hosts, "x:99999", "[::1]:80", "a\\b", "127.1", "x".repeat(255)]) {
    test(`Host: ${host.slice(0, 20)}`, async () => {
      const from = (line: string) => `${line} HTTP/1.1\r\nHost: ${host}\r\n${KEY}\r\n`;
      expect(await ask(from("GET /v1/things"))).toEqual([200, undefined]);
      expect(await ask(from("GET /v1/things?to=http://x/v1/slow"))).toEqual([200, undefined]);
      expect(await ask(from("GET /zz/v1/things"))).toEqual([404, "not_found"]);
      expect(await ask(from("GET /"))).toEqual([404, "not_found"]);
    });
  }

  test("and its client is counted by its address", async () => {
    clients.length = 0;
    for (const host of ["localhost", "a", ""]) {
      await ask(`${GET}Host: ${host}\r\n${KEY}\r\n`);
    }
    expect(clients).toEqual(Array(3).fill("127.0.0.1"));
  });

  test("a body arrives with it, and a departed caller is noticed", async () => {
    const head = `${POST}Host: a\r\n${KEY}Content-Length: 10\r\n\r\n`;
    expect(await ask(`${head}{"size":5}`)).toEqual([200, 5] as never);
    slow = Promise.withResolvers();
    const client = await openRaw(http.server.url);
    client.write(`GET /v1/slow HTTP/1.1\r\nHost: a\r\n${KEY}\r\n`);
    const signal = await slow.promise;
    client.leave();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
});

describe("request lines", () => {
  const rows: [what: string, line: string, says: [number, string?] | null][] = [
    ["the path as it is", "GET /v1/things HTTP/1.1", [200]],
    ["with a query", "GET /v1/things?x=1&x=2 HTTP/1.1", [200]],
    ["with an empty query", "GET /v1/things? HTTP/1.1", [200]],
    ["as a whole address", "GET http://example.com/v1/things HTTP/1.1", [200]],
    ["as a whole address with a short host", "GET http://a/v1/things HTTP/1.1", [200]],
    ["as an https address", "GET https://example.com/v1/things HTTP/1.1", [200]],
    ["with dots that lead back", "GET /v1/x/../things HTTP/1.1", [200]],
    ["with dots that lead out of /v1 and back", "GET /v1/../v1/things HTTP/1.1", [200]],
    ["with dots that lead out of /v1", "GET /v1/../page HTTP/1.1", [404, "not_found"]],
    ["with escaped dots", "GET /v1/%2e%2e/page HTTP/1.1", [404, "not_found"]],
    ["with dots after a backslash", "GET /v1/..\\page HTTP/1.1", [404, "not_found"]],
    ["with dots from deeper", "GET /v1/things/../../page HTTP/1.1", [404, "not_found"]],
    ["with dots after a longer name", "GET /v1x/../page HTTP/1.1", [404, "not_found"]],
    ["with dots that a backslash hides", "GET /v1\\..\\page HTTP/1.1", [404, "not_found"]],
    ["that dots lead to a page", "GET /x/../page HTTP/1.1", [404, "not_found"]],
    ["of HTTP/1.0", "GET /v1/things HTTP/1.0", [200]],
    ["with a trailing slash", "GET /v1/things/ HTTP/1.1", [404, "not_found"]],
    ["with two slashes in front", "GET //v1/things HTTP/1.1", [404, "not_found"]],
    ["in other case", "GET /V1/Things HTTP/1.1", [404, "not_found"]],
    ["with an escaped letter", "GET /v1/%74hings HTTP/1.1", [404, "not_found"]],
    ["with an escaped slash", "GET /v1%2fthings HTTP/1.1", [404, "not_found"]],
    ["with a broken escape", "GET /v1/things%zz HTTP/1.1", [404, "not_found"]],
    ["with bytes beyond ASCII", "GET /v1/th\xefngs HTTP/1.1", [404, "not_found"]],
    ["with a path of 9 KB", `GET /v1/${"x".repeat(9_000)} HTTP/1.1`, [404, "not_found"]],
    ["without a path", "GET HTTP/1.1", [400]],
    ["of an unknown version", "GET /v1/things HTTP/2.0", [505]],
    ["of no HTTP at all", "\x16\x03\x01\x02", [400]],
  ];
  for (const [what, line, says] of rows) {
    test(what, async () => {
      const reply = await ask(`${line}\r\n${HOST}${KEY}\r\n`);
      expect(reply?.filter((part) => part !== undefined)).toEqual(says as never);
    });
  }
});

describe("gateway.errors.not_found a wrong method is answered like an unknown path", () => {
  for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"]) {
    test(method, async () => {
      const says = [404, "not_found"] as never;
      expect(await ask(`${method} /v1/things HTTP/1.1\r\n${HOST}${KEY}\r\n`)).toEqual(says);
    });
  }

  test("HEAD, whose reply has no body", async () => {
    const text = `HEAD /v1/things HTTP/1.1\r\n${HOST}${KEY}x-request-id: mine\r\n\r\n`;
    const reply = await sendRaw(http.server.url, text);
    expect(reply).toMatchObject({ status: 404, body: "", headers: { "x-request-id": "mine" } });
  });

  test("a method that the server's parser does not know ends the connection", async () => {
    for (const method of ["BREW", "get"]) {
      expect(await ask(`${method} /v1/things HTTP/1.1\r\n${HOST}${KEY}\r\n`)).toBeNull();
    }
  });
});

describe("ambiguous requests are refused", () => {
  const rows: [what: string, text: string][] = [
    [
      "a length and chunks",
      `${POST}${HOST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      "chunks and a length",
      `${POST}${HOST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
    ],
    ["two lengths", `${POST}${HOST}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`],
    ["a list of lengths", `${POST}${HOST}Content-Length: 4, 4\r\n\r\nabcd`],
    ["a length with a sign", `${POST}${HOST}Content-Length: +4\r\n\r\nabcd`],
    ["a length below zero", `${POST}${HOST}Content-Length: -1\r\n\r\n`],
    ["another encoding", `${POST}${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    [
      "an encoding that resembles chunked",
      `${POST}${HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      "a chunk without a size",
      `${POST}${HOST}${KEY}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n`,
    ],
    ["a header on two lines", `${GET}${HOST}X-A: b\r\n c\r\n\r\n`],
    ["a space in front of a colon", `${GET}${HOST}Authorization : Bearer key\r\n\r\n`],
    ["no Host", `${GET}${KEY}\r\n`],
  ];
  for (const [what, text] of rows) {
    test(what, async () => {
      const client = await openRaw(http.server.url);
      client.write(text);
      expect(await client.read()).toMatchObject({ status: 400 });
      await client.closed;
    });
  }

  test("gateway.authentication.2 two Authorization headers", async () => {
    const twice = `${GET}${HOST}${KEY}${KEY}\r\n`;
    expect(await ask(twice)).toEqual([401, "invalid_api_key"]);
  });

  test("oversized headers", async () => {
    const long = `X-Long: ${"x".repeat(33 * 1024)}\r\n`;
    expect(await ask(`${GET}${HOST}${KEY}${long}\r\n`)).toEqual([431]);
    const many = Array.from({ length: 400 }, (_, i) => `X-${i}: 1\r\n`).join("");
    expect(await ask(`${GET}${HOST}${KEY}${many}\r\n`)).toEqual([431]);
  });

  test("two Host headers, neither of which has an effect", async () => {
    expect(await ask(`${GET}${HOST}Host: evil\r\n${KEY}\r\n`)).toEqual([200, undefined]);
  });
});

test("a caller that waits for 100 Continue gets it, and then the reply", async () => {
  const client = await openRaw(http.server.url, "POST");
  client.write(`${POST}${HOST}${KEY}Content-Length: 10\r\nExpect: 100-continue\r\n\r\n`);
  while (!client.rest().includes("100 Continue")) {
    await new Promise((resolve) => client.socket.once("data", resolve));
  }
  client.write('{"size":5}');
  expect(await client.read()).toMatchObject({ status: 200, body: '{"size":5}' });
  client.leave();
});

test("a refused body does not affect the next request of its connection", async () => {
  const client = await openRaw(http.server.url, "POST");
  const body = "x".repeat(150 * 1024);
  client.write(`${POST}${HOST}${KEY}Content-Length: ${body.length}\r\n\r\n${body}`);
  expect(await client.read()).toMatchObject({ status: 413 });
  client.write(`${POST}${HOST}Content-Length: ${body.length}\r\n\r\n${body}`);
  expect(await client.read()).toMatchObject({ status: 401 });
  client.write(`${POST}${HOST}${KEY}Content-Length: 10\r\n\r\n{"size":5}`);
  expect(await client.read()).toMatchObject({ status: 200 });
  client.leave();
});

test("gateway.limits.body_size a repeated length does not admit a larger body", async () => {
  const body = JSON.stringify({ size: 5, filling: "x".repeat(150 * 1024) });
  const length = `Content-Length: ${body.length}\r\n`;
  const reply = await sendRaw(http.server.url, `${POST}${HOST}${KEY}${length}${length}\r\n${body}`);
  expect(reply).toMatchObject({ status: 413 });
});

test("gateway.errors.client_closed_request a caller who leaves within a body is an info line, and no error", async () => {
  const { lines, server } = http;
  for (const length of [
    "Content-Length: 10\r\n\r\n{",
    "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
  ]) {
    lines.length = 0;
    const client = await openRaw(server.url, "POST");
    client.write(`${POST}${HOST}${KEY}x-request-id: mine\r\n${length}`);
    // One whole request on another connection: the first has been read by then.
    await ask(`${GET}${HOST}${KEY}\r\n`);
    client.leave();
    while (lines.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(lines).toMatchObject([
      {
        level: "info",
        request_id: "mine",
        route: "POST /v1/things",
        code: "client_closed_request",
        status: 499,
      },
    ]);
  }
});

describe("a page", () => {
  test("needs no key, answers HEAD, and has the request's id", async () => {
    const get = await sendRaw(http.server.url, `GET /page HTTP/1.1\r\n${HOST}\r\n`);
    expect(get).toMatchObject({ status: 200, body: "a page\n" });
    expect(get!.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    const text = `HEAD /page HTTP/1.1\r\n${HOST}x-request-id: mine\r\n\r\n`;
    const head = await sendRaw(http.server.url, text);
    expect(head).toMatchObject({ status: 200, body: "", headers: { "x-request-id": "mine" } });
    expect(await ask(`POST /page HTTP/1.1\r\n${HOST}\r\n`)).toEqual([404, "not_found"]);
  });

  for (const path of ["/broken", "/rejecting"]) {
    test(`${path} is an internal error with a log line, and no details`, async () => {
      http.lines.length = 0;
      const text = `GET ${path} HTTP/1.1\r\n${HOST}x-request-id: mine\r\n\r\n`;
      const reply = (await sendRaw(http.server.url, text))!;
      expect(reply.status).toBe(500);
      expect(reply.headers["x-request-id"]).toBe("mine");
      expect(JSON.parse(reply.body)).toMatchObject({ code: "internal_error", request_id: "mine" });
      expect(reply.body).not.toContain("secret");
      expect(http.lines).toMatchObject([{ level: "error" }]);
    });
  }
});

describe("unknown paths are answered in the envelope of their surface", () => {
  const isGateway = async (path: string) => {
    const reply = await http.ask("GET", path);
    expect(reply.status).toBe(404);
    const body = (await reply.json()) as object;
    expect(Object.keys(body).length).toBe("statusCode" in body ? 5 : 1);
    return "statusCode" in body;
  };
  const agents = [
    "agents",
    "runs",
    "threads",
    "approvals",
    "tools",
    "triggers",
    "hooks",
    "webhooks",
  ];
  for (const segment of agents) {
    test(`/v1/${segment}: agents`, async () => {
      for (const rest of ["", "/", "/x/y", "?x=1", "/x?y"]) {
        expect([rest, await isGateway(`/v1/${segment}${rest}`)]).toEqual([rest, false]);
      }
      const others = [`/${segment}`, `/v2/${segment}`, `/v1/${segment}s`, `/v1?/${segment}`];
      for (const path of [...others, `//v1/${segment}`, `/v1//${segment}`, `/v1/x/${segment}`]) {
        expect([path, await isGateway(path)]).toEqual([path, true]);
      }
    });
  }
  test("all others: gateway", async () => {
    for (const path of ["/", "/v1", "/v1/", "/v1/model", "/v1/chat", "/favicon.ico"]) {
      expect([path, await isGateway(path)]).toEqual([path, true]);
    }
  });
});

describe("start and stop", () => {
  test("an occupied port is reported in one sentence with advice", async () => {
    const port = new URL(http.server.url).port;
    const { clock } = http;
    const log = { info() {}, warn() {}, error() {} };
    const ids = { uuid: () => "", token: () => "" };
    const second = new HttpServer({ ...PLAIN_SERVER, port: Number(port), clock, ids, log });
    second.open([], []);
    expect(() => second.start()).toThrow(
      `port ${port} on 127.0.0.1 is taken: stop what listens there, or choose another with --port`,
    );
    const elsewhere = new HttpServer({ ...PLAIN_SERVER, host: "192.0.2.1", clock, ids, log });
    elsewhere.open([], []);
    expect(() => elsewhere.start()).toThrow("choose another address with --host");
  });

  test("a start without a free address for the operator API leaves no port open", async () => {
    const port = findClosedPort();
    const operatorListen = new URL(http.server.url).host;
    const { server } = createTrialServer({ port, operatorListen });
    expect(() => server.start()).toThrow("choose another with operator.listen");
    await expect(openRaw(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
  });

  test("a stop does not show the operator API to a proxy's clients", async () => {
    const { clock } = http;
    const log = { info() {}, warn() {}, error() {} };
    const ids = { uuid: () => "", token: () => "" };
    const server = new HttpServer({ ...PLAIN_SERVER, clock, ids, log });
    const path = "/operator/v1/things";
    server.open([], [], () => [
      { method: "GET" as const, path, answer: async () => new Response("things") },
    ]);
    const statusOf = async (headers: Record<string, string>) =>
      (await server.answer(new Request(`http://localhost${path}`, { headers }))).status;
    const listStatuses = async () => [
      await statusOf({}),
      await statusOf({ "x-forwarded-for": "192.0.2.1" }),
    ];
    server.start();
    expect(await listStatuses()).toEqual([200, 404]);
    const stopping = server.stop(0);
    expect(await listStatuses()).toEqual([503, 404]);
    await stopping;
  });

  test("a stop lets running requests end, admits no new ones, and ends before its deadline", async () => {
    const { server } = createTrialServer();
    await server.start();
    const { url } = server;
    const idle = await openRaw(url);
    idle.write(`${GET}${HOST}${KEY}\r\n`);
    await idle.read();
    const running = await openRaw(url);
    running.write(`GET /v1/slow HTTP/1.1\r\n${HOST}${KEY}\r\n`);
    await slow.promise;

    const stopping = server.stop(10_000);
    await idle.closed;
    await expect(openRaw(url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    release.resolve();
    expect(await running.read()).toMatchObject({ status: 200, body: '{"done":true}' });
    await stopping;
    await running.closed;
  });

  test("a request after the stop began is refused, on an open connection", async () => {
    const { server } = createTrialServer();
    await server.start();
    const running = await openRaw(server.url);
    running.write(`GET /v1/slow HTTP/1.1\r\n${HOST}${KEY}\r\n`);
    await slow.promise;
    const late = await openRaw(server.url);
    late.write(GET);
    // A round trip on a later connection: the half request has arrived.
    expect((await sendRaw(server.url, `${GET}${HOST}${KEY}\r\n`))?.status).toBe(200);
    const stopping = server.stop(10_000);
    expect(server.isStopping).toBe(true);
    late.write(`${HOST}${KEY}\r\n`);
    const reply = (await late.read())!;
    expect([reply.status, JSON.parse(reply.body).code]).toEqual([503, "service_unavailable"]);
    expect(reply.headers.connection).toBe("close");
    await late.closed;
    release.resolve();
    expect((await running.read())!.status).toBe(200);
    await stopping;
  });

  test("a request beyond the deadline is told to end, then cut, and sees its caller leave", async () => {
    const told: number[] = [];
    const endRequests = () => void told.push(clock.monotonic());
    const { server, clock } = createTrialServer({ endRequests });
    await server.start();
    const client = await openRaw(server.url);
    client.write(`GET /v1/stream HTTP/1.1\r\n${HOST}${KEY}\r\n`);
    const left = await slow.promise;
    while (!client.rest().includes("data: first")) {
      await new Promise((resolve) => client.socket.once("data", resolve));
    }
    let isStopped = false;
    const stopping = Promise.resolve(server.stop(10_000)).then(() => {
      isStopped = true;
    });
    await clock.advance(9_999);
    expect(told).toEqual([]);
    // Its deadline, and the time for a last reply.
    await clock.advance(1);
    expect(told).toEqual([10_000]);
    await clock.advance(999);
    expect([isStopped, left.aborted]).toEqual([false, false]);
    await clock.advance(1);
    await stopping;
    await client.closed;
    expect(left.aborted).toBe(true);
  });

  test("a stop without any time cuts its requests off at once", async () => {
    const told: number[] = [];
    const endRequests = () => void told.push(clock.monotonic());
    const { server, clock } = createTrialServer({ endRequests });
    await server.start();
    const client = await openRaw(server.url);
    client.write(`GET /v1/stream HTTP/1.1\r\n${HOST}${KEY}\r\n`);
    await slow.promise;
    const stopping = server.stop(0);
    await clock.advance(0);
    await clock.advance(0);
    await Promise.all([stopping, client.closed]);
    expect(told).toEqual([0]);
  });

  test("a server that never started stops at once", async () => {
    await createTrialServer().server.stop(10_000);
  });
});

test("a request that is made for another one has the client of that", async () => {
  const reply = await sendRaw(http.server.url, `GET /v1/derived HTTP/1.1\r\n${HOST}${KEY}\r\n`);
  expect(JSON.parse(reply!.body)).toEqual({ before: "nowhere", after: "127.0.0.1" });
});
