// Spec 000, "Response headers": what every reply carries, and what only some do.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sendRaw } from "../../http/raw-client.ts";
import { type AskOptions, KEY, startApp, type TestApp } from "../../support/app.ts";
import { expectRefusal, startFront } from "./front.ts";
import { readRefusal } from "./refusal.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ settings: "[limits]\nrequests_per_minute = 60", listens: true });
});
afterAll(() => app.stop());

const HELLO = { messages: [{ role: "user", content: "Hello" }] };
const CHAT = "/v1/chat/completions";

/** Every kind of reply there is, with the status that it has. */
const KINDS: [what: string, status: number, ask: (options: AskOptions) => Promise<Response>][] = [
  ["a list", 200, (options) => app.get("/v1/models", options)],
  ["a chat reply", 201, (options) => app.post(CHAT, HELLO, options)],
  ["a stream", 201, (options) => app.post(CHAT, { ...HELLO, stream: true }, options)],
  ["a broken body", 400, (options) => app.post(CHAT, "{", options)],
  ["a field at fault", 400, (options) => app.post(CHAT, {}, options)],
  ["no key", 401, (options) => app.get("/v1/models", { ...options, key: null })],
  ["an unknown key", 401, (options) => app.post(CHAT, HELLO, { ...options, key: "x" })],
  [
    "an internal key",
    403,
    (options) => app.get("/v1/models", { ...options, key: `${KEY}-internal` }),
  ],
  [
    "a missing scope",
    403,
    (options) => app.post(CHAT, { ...HELLO, think: true }, { ...options, key: `${KEY}-none` }),
  ],
  ["an unknown path", 404, (options) => app.get("/v1/nothing", options)],
  [
    "an unknown path without a key",
    404,
    (options) => app.get("/nothing", { ...options, key: null }),
  ],
  ["an unknown path of the agent service", 404, (options) => app.get("/v1/agents/x/y", options)],
  ["a wrong method", 404, (options) => app.ask("DELETE", "/v1/models", options)],
  ["HEAD", 404, (options) => app.ask("HEAD", "/v1/models", options)],
  ["OPTIONS", 404, (options) => app.ask("OPTIONS", CHAT, options)],
  ["a large body", 413, (options) => app.post(CHAT, "x".repeat(300_000), options)],
  ["a failed model server", 502, (options) => app.chat("!error upstream_error", {}, options)],
  ["a slow model server", 504, (options) => app.chat("!error upstream_timeout", {}, options)],
  ["a page", 200, (options) => app.get("/healthz", options)],
  ["the document", 200, (options) => app.get("/openapi.json", options)],
];

describe("gateway.errors.headers.x_request_id gateway.endpoints.p2 every reply carries it", () => {
  for (const [what, status, ask] of KINDS) {
    test(`gateway.errors.headers.x_request_id gateway.endpoints.p2 ${what}`, async () => {
      const mine = await ask({ headers: { "x-request-id": "Mine-1._:" } });
      expect([mine.status, mine.headers.get("x-request-id")]).toEqual([status, "Mine-1._:"]);
      await mine.text();
      const made = await ask({});
      expect(made.headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
      await made.text();
    });
  }

  test("gateway.errors.headers.x_request_id a request over the limit", async () => {
    const key = `${KEY}-other`;
    for (let i = 0; i < 60; i++) await (await app.get("/v1/models", { key })).text();
    const reply = await app.get("/v1/models", { key, headers: { "x-request-id": "mine" } });
    expect([reply.status, reply.headers.get("x-request-id")]).toEqual([429, "mine"]);
  });
});

describe("gateway.limits.request_id", () => {
  const idOf = async (...sent: string[]) => {
    const lines = sent.map((one) => `x-request-id: ${one}\r\n`).join("");
    const reply = await sendRaw(app.url, `GET /healthz HTTP/1.1\r\nHost: x\r\n${lines}\r\n`);
    return reply!.headers["x-request-id"]!;
  };

  test("gateway.limits.request_id 1 to 128 characters of its alphabet are echoed", async () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
    for (const id of ["a", "-", alphabet, "x".repeat(128)]) expect(await idOf(id)).toBe(id);
  });

  test("gateway.limits.request_id anything else is replaced", async () => {
    const others = ["", "x".repeat(129), "a b", "a/b", "a,b", "\xe9", 'a"', "a\tb", "a;b", "<a>"];
    for (const id of others) {
      const made = await idOf(id);
      expect([id, made]).toEqual([id, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    }
    // Two are none.
    expect(await idOf("a", "b")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("gateway.limits.request_id generated ids are unique", async () => {
    const ids = [];
    for (let i = 0; i < 50; i++) ids.push(await idOf());
    expect(new Set(ids).size).toBe(50);
  });
});

describe("gateway.errors.headers.retry_after", () => {
  test("gateway.errors.headers.retry_after is only on replies that ask for a wait", async () => {
    for (const [what, , ask] of KINDS) {
      const reply = await ask({ key: `${KEY}-ownerless` });
      await reply.text();
      expect([what, reply.headers.get("retry-after")]).toEqual([what, null]);
    }
  });

  test("gateway.errors.headers.retry_after is whole seconds, at least 1", async () => {
    const key = `${KEY}-ownerless`;
    await app.clock.advance(120_000);
    for (let i = 0; i < 60; i++) await (await app.get("/v1/models", { key })).text();
    const waits: (string | null)[] = [];
    for (const ms of [0, 500, 58_499, 1_000]) {
      await app.clock.advance(ms);
      waits.push((await app.get("/v1/models", { key })).headers.get("retry-after"));
    }
    expect(waits).toEqual(["60", "60", "2", "1"]);
  });
});

test("gateway.errors.headers.deprecation gateway.errors.headers.link are on no reply to a known id", async () => {
  await app.clock.advance(120_000);
  for (const model of ["svc", "svc-v0", "stub-1", undefined]) {
    const { headers } = await app.chat("Hello", { model });
    const found = ["deprecation", "link", "sunset"].map((name) => headers.get(name));
    expect([model, ...found]).toEqual([model, null, null, null]);
  }
});

test("gateway.errors.headers.deprecation gateway.errors.internal_error is on an internal error too", async () => {
  const bug = new Error("a bug at secret.internal");
  const supply = {
    complete: () => Promise.reject(bug),
    countTokens: async () => null,
    isDown: () => false,
    start() {},
    stop() {},
  };
  const broken = await startApp({ openBackend: () => () => supply });
  try {
    for (const stream of [false, true]) {
      const reply = await broken.chat("Hello", { model: "unknown", stream });
      expect(reply.headers.get("deprecation")).toBe("@1790467200");
      expect(await readRefusal(reply)).toEqual([500, "internal_error", null]);
    }
    const known = await broken.chat("Hello");
    expect([known.status, known.headers.has("deprecation")]).toEqual([500, false]);
    // The log reports each failure.
    const logged = broken.lines.filter(({ message }) => message === "http: a request failed");
    expect(logged.map((line) => JSON.stringify(line).includes(bug.message))).toEqual([
      true,
      true,
      true,
    ]);
  } finally {
    await broken.stop();
  }
});

test("gateway.errors.headers.deprecation is on no 400 for a field, even one that the model lacks", async () => {
  await using front = await startFront({ model: 'capabilities = ["streaming"]' });
  const tool = { type: "function", function: { name: "add" } };
  const image = { type: "image_url", image_url: { url: "data:," } };
  const cases: [param: string, fields: object][] = [
    ["temperature", { temperature: 9 }],
    ["tools", { tools: [tool] }],
    ["reasoning", { reasoning: true }],
    ["messages.0.content.0", { messages: [{ role: "user", content: [image] }] }],
  ];
  for (const [param, fields] of cases) {
    const reply = await front.chat("Hello", { model: "unknown", ...fields });
    expect(reply.headers.has("deprecation")).toBeFalse();
    await expectRefusal(reply, 400, "invalid_request", param);
  }
  expect((await front.chat("Hello", { model: "unknown" })).headers.has("deprecation")).toBeTrue();
});
