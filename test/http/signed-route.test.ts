// Tests a route with a signature: the router's earlier checks, their order, and the raw bytes.
import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { DatabaseUnavailable } from "../../src/database/index.ts";
import { createDocumentPage } from "../../src/http/openapi/document.ts";
import type { RouterOptions } from "../../src/http/router.ts";
import type { SignedRequest, SignedRouteSpec } from "../../src/http/signed-route.ts";
import { ApiError, apiError } from "../../src/platform/errors.ts";
import { openRaw } from "./raw-client.ts";
import { createTestServer } from "./test-server.ts";

const BYTES_MAX = 64 * 1024;
const Params = Type.Object({ trigger_id: Type.String({ description: "The id of a trigger." }) });
const PATH = "/v1/hooks/any%20name";
const JSON_TYPE = { "content-type": "application/json" };

type RefusalParts = [status: number, type: string, code: string | undefined, param: string | null];

async function readRefusal(response: Response): Promise<RefusalParts> {
  const body = (await response.json()) as {
    error: { message: string; type: string; code?: string; param: string | null };
  };
  expect(Object.keys(body)).toEqual(["error"]);
  expect(body.error.message).toMatch(/^.+\.$/);
  return [response.status, body.error.type, body.error.code, body.error.param];
}

interface Trial {
  path: string;
  method: string;
  headers: Record<string, string>;
  body: string;
  isOpen: boolean;
  isEnabled: boolean;
  isAble: boolean;
  exceedsAddress: boolean;
  isVerified: boolean;
}
const VALID: Trial = {
  ...{ path: PATH, method: "POST", headers: JSON_TYPE, body: '{"a":1}' },
  ...{ isOpen: true, isEnabled: true, isAble: true, exceedsAddress: false, isVerified: true },
};

type Handle = (ask: SignedRequest<unknown>) => Promise<readonly [number, unknown]>;

const openTestServer = (
  handle: Handle,
  options: Partial<RouterOptions> = {},
  requireAble: SignedRouteSpec["requireAble"] = async () => {},
) =>
  createTestServer(
    (router) => {
      const spec: SignedRouteSpec<typeof Params> = {
        ...{ summary: "A hook", feature: "triggers", params: Params, requireAble },
        ...{ body: Type.Unknown({ description: "Any JSON." }), bodyBytesMax: BYTES_MAX },
        request_headers: ["webhook-id", "webhook-timestamp", "webhook-signature"],
        replies: { 202: { description: "It has fired." } },
        refusals: ["invalid_signature", "agent_held", "hook_failed", "rate_limited"],
        refusal_headers: { 503: ["retry-after"] },
      };
      router.signed("/v1/hooks/:trigger_id", spec, handle);
    },
    { surface: "agents", ...options } as Partial<RouterOptions>,
  );

const open = (trial: Trial, handle: Handle) =>
  openTestServer(
    async (ask) => {
      if (!trial.isVerified) throw apiError("invalid_signature");
      return handle(ask);
    },
    {
      surface: "agents",
      isOpen: () => trial.isOpen,
      isEnabled: (feature) => feature !== "triggers" || trial.isEnabled,
      limitAddress() {
        if (!trial.exceedsAddress) return null;
        throw apiError("rate_limit_exceeded", { headers: { "retry-after": "7" } });
      },
      identify() {
        throw new Error("somebody asks for a key");
      },
      limiter: {
        take() {
          throw new Error("somebody counts a key");
        },
      },
    },
    async () => {
      if (!trial.isAble) throw apiError("triggers_unavailable");
    },
  );

describe("agents.endpoints.triggers.p3 a signed request is checked in one order, and the first error answers", () => {
  const faults: { what: string; break: (trial: Trial) => void; says: RefusalParts }[] = [
    {
      what: "its method",
      break: (trial) => (trial.method = "PUT"),
      says: [404, "not_found_error", "not_found", null],
    },
    {
      what: "agents.p5 the service that is not open",
      break: (trial) => (trial.isOpen = false),
      says: [503, "server_error", "not_enabled", null],
    },
    {
      what: "agents.errors.not_enabled triggers that are switched off, by its second status",
      break: (trial) => (trial.isEnabled = false),
      says: [503, "server_error", "not_enabled", null],
    },
    {
      what: "agents.errors.triggers_unavailable secrets that cannot be read",
      break: (trial) => (trial.isAble = false),
      says: [503, "server_error", "triggers_unavailable", null],
    },
    {
      what: "agents.limits.request_rate its client's address",
      break: (trial) => (trial.exceedsAddress = true),
      says: [429, "rate_limit_error", undefined, null],
    },
    {
      what: "agents.limits.body_size the size of its body",
      break: (trial) => (trial.body = trial.body.padEnd(BYTES_MAX + 1)),
      says: [413, "invalid_request_error", undefined, null],
    },
    {
      what: "agents.errors.unsupported_media_type its content type",
      break: (trial) => (trial.headers = { "content-type": "text/plain" }),
      says: [415, "invalid_request_error", "unsupported_media_type", null],
    },
    {
      what: "agents.errors.invalid_signature its signature",
      break: (trial) => (trial.isVerified = false),
      says: [401, "authentication_error", "invalid_signature", null],
    },
  ];
  const run = (broken: typeof faults) => {
    const trial = { ...VALID };
    for (const fault of broken) fault.break(trial);
    const { method, path, headers, body } = trial;
    return open(trial, async () => [202, {}]).ask(method, path, { headers, body });
  };

  test("agents.authentication.1 agents.endpoints.p1 a valid request is answered, with a key or without", async () => {
    for (const authorization of ["Bearer key", "Bearer other", "nonsense", ""]) {
      const headers = { ...JSON_TYPE, authorization };
      const { ask } = open(VALID, async () => [202, {}]);
      expect((await ask("POST", PATH, { headers, body: "{}" })).status).toBe(202);
    }
  });
  for (const [i, fault] of faults.entries()) {
    test(`${fault.what} decides alone, and before all later faults`, async () => {
      expect(await readRefusal(await run([fault]))).toEqual(fault.says);
      expect(await readRefusal(await run(faults.slice(i)))).toEqual(fault.says);
    });
  }

  test("agents.limits.retry_after the address's limit answers with Retry-After", async () => {
    const reply = await run(faults.filter(({ says }) => says[0] === 429));
    expect(reply.headers.get("retry-after")).toBe("7");
  });
});

test("agents.authentication.p2 the handler receives the unchanged bytes, the path's parameter and the headers", async () => {
  const asks: SignedRequest<unknown>[] = [];
  const { ask } = open(VALID, async (one) => {
    asks.push(one);
    return [202, { fire: 1 }];
  });
  const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0x7b, 0x20, 0xff, 0x00, 0x7d]);
  const headers = { ...JSON_TYPE, "webhook-id": "m-1", "x-request-id": "mine" };
  const reply = await ask("POST", `${PATH}?a=b`, { headers, body: bytes });
  expect([reply.status, await reply.json()]).toEqual([202, { fire: 1 }]);
  expect(reply.headers.get("x-request-id")).toBe("mine");
  expect(asks.map(({ params }) => params)).toEqual([{ trigger_id: "any name" }]);
  expect([...asks[0]!.body]).toEqual([...bytes]);
  expect(asks[0]!.headers.get("webhook-id")).toBe("m-1");
  await ask("POST", PATH, { headers: JSON_TYPE });
  expect(asks[1]!.body.length).toBe(0);
});

test("agents.errors.unsupported_media_type agents.endpoints.triggers.p4 only application/json is accepted, with any parameters", async () => {
  const { ask } = open(VALID, async () => [202, {}]);
  const statusOf = async (type: string | null) => {
    const headers: Record<string, string> = type === null ? {} : { "content-type": type };
    // A text would set a content type of its own.
    return (await ask("POST", PATH, { headers, body: Buffer.from("{}") })).status;
  };
  for (const type of [
    "application/json",
    "Application/JSON",
    "application/json;charset=utf-8",
    "application/json ; charset=latin-1",
    "application/json;",
  ]) {
    expect([type, await statusOf(type)]).toEqual([type, 202]);
  }
  for (const type of [
    ...[null, "", "text/plain", "text/json", "json", "application/jsonp", "application/json5"],
    ...["application/vnd.api+json", "application/cloudevents+json", "*/*"],
    ...["application/json, application/json", "text/plain; application/json"],
    ...["application/x-www-form-urlencoded", "multipart/form-data"],
  ]) {
    expect([type, await statusOf(type)]).toEqual([type, 415]);
  }
});

test("agents.endpoints.triggers.p4 agents.limits.body_size 64 KiB are accepted, announced or in chunks, and no byte more", async () => {
  const { ask } = open(VALID, async ({ body }) => [202, { bytes: body.length }]);
  const send = async (bytes: number, isChunked: boolean) => {
    const whole = Buffer.alloc(bytes, " ");
    const body = isChunked ? new Blob([whole]).stream() : whole;
    return ask("POST", PATH, { headers: JSON_TYPE, body });
  };
  for (const isChunked of [false, true]) {
    const fits = await send(BYTES_MAX, isChunked);
    expect([fits.status, await fits.json()]).toEqual([202, { bytes: BYTES_MAX }]);
    const refusal = await readRefusal(await send(BYTES_MAX + 1, isChunked));
    expect(refusal).toEqual([413, "invalid_request_error", undefined, null]);
  }
});

test("a database that fails is no bug: the sender is asked to send again", async () => {
  const { ask, lines } = open(VALID, async () => {
    throw new DatabaseUnavailable("the disk of /secret is full: make room");
  });
  const reply = await ask("POST", PATH, { headers: JSON_TYPE, body: "{}" });
  expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await reply.text()).not.toContain("secret");
  expect(lines).toEqual([]);
});

describe("agents.errors.internal_error unexpected failures", () => {
  const bugs: [string, unknown][] = [
    ["an error", new Error("the disk is full")],
    ["an internal ApiError", new ApiError("internal_error", {}, new Error("the disk is full"))],
    ["a hook that failed", new ApiError("hook_failed", {}, new Error("the disk is full"))],
  ];
  test.each(bugs)("%s is a 500 with its own code, and is logged", async (_, failure) => {
    const { ask, lines } = open(VALID, async () => {
      throw failure;
    });
    const headers = { ...JSON_TYPE, "x-request-id": "mine" };
    const reply = await ask("POST", PATH, { headers, body: "{}" });
    expect(await reply.clone().text()).not.toContain("disk");
    expect(await readRefusal(reply)).toEqual([500, "server_error", "internal_error", null]);
    expect(lines).toMatchObject([
      { level: "error", request_id: "mine", route: "POST /v1/hooks/:trigger_id" },
    ]);
    expect(JSON.stringify(lines)).toContain("the disk is full");
  });

  test("also if the availability check throws", async () => {
    const { ask } = openTestServer(
      async () => [202, {}],
      {},
      async () => {
        throw new Error("no database");
      },
    );
    const reply = await ask("POST", PATH, { headers: JSON_TYPE, body: "{}" });
    expect(await readRefusal(reply)).toEqual([500, "server_error", "internal_error", null]);
  });
});

test("a caller that leaves within its body is only logged", async () => {
  const { ask, lines } = open(VALID, async () => [202, {}]);
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from("{"));
      controller.error(new Error("the connection was closed"));
    },
  });
  expect((await ask("POST", PATH, { headers: JSON_TYPE, body })).status).toBe(499);
  expect(lines).toMatchObject([{ level: "info", code: "client_closed_request" }]);
});

test("its replies are counted like all others", async () => {
  const observed: unknown[] = [];
  const observer = {
    onReply: (...told: unknown[]) => void observed.push(told.slice(0, 2)),
    onRefusal: (code: string) => void observed.push(code),
  };
  const { ask } = openTestServer(async () => [202, {}], { surface: "agents", observer });
  for (const headers of [JSON_TYPE, {}]) await ask("POST", PATH, { headers, body: "{}" });
  const route = { method: "POST", path: "/v1/hooks/:trigger_id" };
  expect(observed).toEqual([[route, 202], "unsupported_media_type", [route, 415]]);
});

describe("over a socket", () => {
  const dial = async () => {
    const http = open(VALID, async ({ headers, body }) => [
      202,
      { id: headers.get("webhook-id"), bytes: body.length },
    ]);
    await http.server.start();
    const client = await openRaw(http.server.url);
    const end = async () => {
      client.leave();
      await http.server.stop(0);
    };
    return { client, end };
  };
  const head = (lines: string[]) =>
    [`POST ${PATH} HTTP/1.1`, "Host: localhost", ...lines, "", ""].join("\r\n");

  test("agents.limits.body_size a length that is announced as too long is refused before the body", async () => {
    const { client, end } = await dial();
    client.write(head(["Content-Type: application/json", `Content-Length: ${BYTES_MAX + 1}`]));
    expect((await client.read())!.status).toBe(413);
    await end();
  });

  test("agents.limits.body_size a chunked body is refused at the first excess byte", async () => {
    const { client, end } = await dial();
    client.write(head(["Content-Type: application/json", "Transfer-Encoding: chunked"]));
    const chunk = " ".repeat(BYTES_MAX);
    // The rest is discarded after the reply.
    client.socket.once("data", () => client.write("0\r\n\r\n"));
    client.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n1\r\n \r\n`);
    expect((await client.read())!.status).toBe(413);
    await end();
  });

  test("a repeated header arrives as one, with a comma and a space between", async () => {
    const { client, end } = await dial();
    client.write(
      head([
        ...["Content-Type: application/json", "webhook-id: a", "Webhook-Id: b"],
        "Content-Length: 2",
      ]).concat("{}"),
    );
    const { status, body } = (await client.read())!;
    expect([status, JSON.parse(body)]).toEqual([202, { id: "a, b", bytes: 2 }]);
    await end();
  });
});

test("agents.authentication.7 the document describes it without a key, and with its headers and errors", async () => {
  const http = openTestServer(async () => [202, {}]);
  const page = createDocumentPage({ routers: [http.router], version: "1" });
  // biome-ignore lint/suspicious/noExplicitAny: the document has any shape.
  const document = (await (await page.answer()).json()) as any;
  const { post } = document.paths["/v1/hooks/{trigger_id}"];
  expect(post.security).toEqual([]);
  expect(post.requestBody).toEqual({
    required: true,
    content: { "application/json": { schema: { description: "Any JSON." } } },
  });
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature", "x-request-id"];
  expect(post.parameters.slice(1)).toEqual(
    names.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  );
  expect(document.components.parameters["webhook-id"]).toMatchObject({
    in: "header",
    required: true,
  });
  const statuses = Object.keys(post.responses);
  expect(statuses).toEqual(["202", "400", "401", "413", "429", "500", "503"]);
  expect(post.responses["401"].description).toBe(
    "`invalid_signature`: The signature could not be verified.",
  );
  for (const code of ["not_enabled", "agent_held", "service_unavailable"]) {
    expect(post.responses["503"].description).toContain(`\`${code}\`: `);
  }
  expect(Object.keys(post.responses["503"].headers)).toEqual(["x-request-id", "retry-after"]);
  expect(post.responses["500"].description).toContain("`internal_error`: ");
});
