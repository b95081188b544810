// Spec 000, "Limits": how often, how much, and what happens exactly at the bounds.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { sendRaw, sendUnended } from "../../http/raw-client.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { allow, createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";

const CHAT = "/v1/chat/completions";

describe("gateway.limits.rate", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  /** Counters and closures are not shared between tests. */
  afterEach(() => app.clock.advance(120_000));
  afterAll(() => app.stop());

  /** Status, and Retry-After where there is one. */
  const list = async (key = KEY) => {
    const { status, headers } = await app.get("/v1/models", { key });
    const wait = headers.get("retry-after");
    return wait === null ? status : `${status} ${wait}`;
  };
  const exhaust = async (key?: string) => {
    for (let i = 0; i < 120; i++) expect(await list(key)).toBe(200);
  };

  test("gateway.limits.rate gateway.errors.rate_limit_exceeded 120 requests are answered, and the next is refused", async () => {
    await exhaust();
    expect(await readRefusal(await app.get("/v1/models"))).toEqual([
      429,
      "rate_limit_exceeded",
      null,
    ]);
  });

  test("gateway.limits.rate in any 60 seconds: a request is admitted exactly 60 s after an earlier one", async () => {
    expect(await list()).toBe(200);
    await app.clock.advance(30_000);
    for (let i = 0; i < 119; i++) expect(await list()).toBe(200);
    await app.clock.advance(30_000);
    // The first is 60 s old: one place, and no other.
    expect(await list()).toBe(200);
    expect(await list()).toBe("429 60");
  });

  test("gateway.limits.rate a request one millisecond too early exceeds the limit", async () => {
    await exhaust();
    await app.clock.advance(59_999);
    expect(await list()).toBe("429 60");
  });

  test("gateway.limits.after_exceeding the route is closed for 60 s, and Retry-After counts down", async () => {
    await exhaust();
    expect(await list()).toBe("429 60");
    await app.clock.advance(1);
    expect(await list()).toBe("429 60");
    await app.clock.advance(999);
    expect(await list()).toBe("429 59");
    await app.clock.advance(57_999);
    expect(await list()).toBe("429 2");
    await app.clock.advance(1);
    expect(await list()).toBe("429 1");
    await app.clock.advance(999);
    expect(await list()).toBe("429 1");
    await app.clock.advance(1);
    expect(await list()).toBe(200);
  });

  test("gateway.limits.after_exceeding a request after Retry-After is answered, and the full 120 are available again", async () => {
    await exhaust();
    await app.clock.advance(12_345);
    const wait = Number(String(await list()).split(" ")[1]);
    await app.clock.advance(wait * 1_000);
    await exhaust();
    expect(await list()).toBe("429 60");
  });

  test("gateway.limits.after_exceeding refused requests do not extend it", async () => {
    await exhaust();
    for (let second = 60; second > 0; second--) {
      expect(await list()).toBe(`429 ${second}`);
      await app.clock.advance(1_000);
    }
    expect(await list()).toBe(200);
  });

  test("gateway.limits.rate all keys of an account share one counter, whatever their scopes", async () => {
    const keys = [KEY, `${KEY}-none`, `${KEY}-approver`, await createKey(app, { models: [] })];
    for (let i = 0; i < 120; i++) expect(await list(keys[i % keys.length])).toBe(200);
    for (const key of keys) expect(await list(key)).toBe("429 60");
    // A new key adds no capacity.
    expect(await list(await createKey(app))).toBe("429 60");
  });

  test("gateway.limits.rate another account, and a key without one, have their own counters", async () => {
    const { key } = await allow(app, "third");
    const ownerless = await createKey(app, { account_id: null });
    await exhaust();
    expect(await list()).toBe("429 60");
    for (const other of [`${KEY}-other`, key, `${KEY}-ownerless`, ownerless]) {
      expect(await list(other)).toBe(200);
    }
    await app.clock.advance(60_000);
    await exhaust(ownerless);
    expect(await list(ownerless)).toBe("429 60");
    expect(await list(`${KEY}-ownerless`)).toBe(200);
  });

  test("gateway.limits.rate gateway.endpoints.get_models each route has its own counter, the model list too", async () => {
    await exhaust();
    expect(await list()).toBe("429 60");
    for (let i = 0; i < 120; i++) expect((await app.chat("Hello")).status).toBe(201);
    expect((await app.chat("Hello")).status).toBe(429);
  });

  test("gateway.limits.rate the query is no part of the route", async () => {
    for (let i = 0; i < 120; i++) await app.get(`/v1/models?page=${i}`);
    expect(await list()).toBe("429 60");
  });

  test("gateway.limits.rate a request refused for its body counts, one without a valid key does not", async () => {
    for (let i = 0; i < 60; i++) expect((await app.post(CHAT, "{")).status).toBe(400);
    for (let i = 0; i < 60; i++) {
      expect((await app.post(CHAT, {}, { key: null })).status).toBe(401);
      expect((await app.post(CHAT, {}, { key: `${KEY}-expired` })).status).toBe(401);
      expect((await app.post(CHAT, {}, { key: `${KEY}-internal` })).status).toBe(403);
      expect((await app.ask("PUT", CHAT)).status).toBe(404);
    }
    for (let i = 0; i < 60; i++) expect((await app.post(CHAT, {})).status).toBe(400);
    expect((await app.post(CHAT, "{")).status).toBe(429);
  });

  test("gateway.limits.tokens_per_minute_daily no limit applies to tokens, per minute or per day", async () => {
    for (let i = 0; i < 120; i++) {
      const reply = await app.chat("!tokens 1000", { max_tokens: 1_000 });
      expect(reply.status).toBe(201);
    }
    for (let minute = 0; minute < 10; minute++) {
      await app.clock.advance(60_000);
      await exhaust();
    }
  });
});

describe("gateway.limits.body_size", () => {
  const KB = 1_024;
  const LIMIT = 256 * KB;
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ listens: true, settings: "[limits]\nrequests_per_minute = 100000" });
  });
  afterAll(() => app.stop());

  /** A chat request of this many bytes. */
  const fill = (bytes: number) => {
    const [head, tail] = ['{"messages":[{"role":"user","content":"!say ok"}],"x":"', '"}'];
    return head + "x".repeat(bytes - head.length - tail.length) + tail;
  };
  const HEAD = `POST ${CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\n`;
  const codeOf = (reply: Awaited<ReturnType<typeof sendRaw>>) => {
    const { error } = JSON.parse(reply!.body) as { error?: { code: string } };
    return [reply!.status, error?.code];
  };
  const tooLarge = [413, "request_too_large"];

  test("gateway.limits.body_size gateway.endpoints.chat_completions.5 gateway.errors.request_too_large 256 KB are answered, and one byte more is refused", async () => {
    expect((await app.post(CHAT, fill(LIMIT))).status).toBe(201);
    const reply = await app.post(CHAT, fill(LIMIT + 1));
    expect(await readRefusal(reply)).toEqual([413, "request_too_large", null]);
  });

  test("gateway.limits.body_size bytes are counted, not characters", async () => {
    const body = fill(LIMIT - 2).replace("xx", "éé");
    expect((await app.post(CHAT, body)).status).toBe(201);
    expect((await app.post(CHAT, fill(LIMIT - 1).replace("xx", "éé"))).status).toBe(413);
  });

  test("gateway.limits.body_size the same applies to chunked bodies of any chunk size", async () => {
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
    const send = (body: string, size: number) => {
      const chunks = body.match(new RegExp(`[^]{1,${size}}`, "g"))!.map(chunk);
      return sendRaw(
        app.url,
        `${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunks.join("")}0\r\n\r\n`,
      );
    };
    for (const size of [LIMIT + 1, 60_000, 1_000]) {
      expect(codeOf(await send(fill(LIMIT), size))).toEqual([201, undefined]);
      expect(codeOf(await send(fill(LIMIT + 1), size))).toEqual(tooLarge);
    }
  });

  test("gateway.limits.body_size a Content-Length over the limit is refused before the body is sent", async () => {
    for (const length of [LIMIT + 1, 10 ** 9, 10 ** 15]) {
      const reply = await sendUnended(app, `${HEAD}Content-Length: ${length}\r\n\r\n`);
      expect([length, ...codeOf(reply)]).toEqual([length, ...tooLarge]);
    }
  });

  test("gateway.limits.body_size a chunked body is refused before its end, whatever its host", async () => {
    for (const host of ["localhost", "llm", "x"]) {
      const head = HEAD.replace(/Host: [^\r]*/i, `Host: ${host}`);
      const body = fill(LIMIT + 1);
      const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
      const reply = await sendUnended(app, `${head}Transfer-Encoding: chunked\r\n\r\n`, chunk);
      expect(codeOf(reply)).toEqual(tooLarge);
    }
  });

  test("gateway.limits.body_size a route without a body refuses a long one too", async () => {
    const head = HEAD.replace(/^POST [^ ]+/, "GET /v1/models");
    const long = await sendRaw(app.url, `${head}Content-Length: ${100 * 1024 + 1}\r\n\r\n`);
    expect(codeOf(long)).toEqual(tooLarge);
  });

  test("gateway.limits.body_size the key is checked first", async () => {
    const head = HEAD.replace(KEY, "x");
    const reply = await sendUnended(app, `${head}Content-Length: ${LIMIT + 1}\r\n\r\n`);
    expect(codeOf(reply)).toEqual([401, "invalid_api_key"]);
  });

  test("gateway.limits.body_size an empty body lacks its first required field", async () => {
    for (const length of ["Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n"]) {
      const end = length.startsWith("T") ? "0\r\n\r\n" : "";
      const reply = await sendRaw(app.url, `${HEAD}${length}\r\n${end}`);
      expect(codeOf(reply)).toEqual([400, "invalid_request"]);
      expect(JSON.parse(reply!.body).error.param).toBe("messages");
    }
  });
});

describe("limits of fields", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.stop());

  const readRefused = async (fields: object) => {
    const reply = await app.chat("Hello", fields);
    return reply.ok ? "ok" : (await readRefusal(reply))[2];
  };

  test("gateway.limits.messages at least 1 item", async () => {
    expect(await readRefused({ messages: [] })).toBe("messages");
    expect(await readRefused({ messages: [{ role: "user", content: "" }] })).toBe("ok");
  });

  test("gateway.limits.stop at most 4 strings of 1 to 256 characters", async () => {
    expect(await readRefused({ stop: ["a", "b", "c", "d"] })).toBe("ok");
    expect(await readRefused({ stop: ["a", "b", "c", "d", "e"] })).toBe("stop");
    expect(await readRefused({ stop: ["a", ""] })).toBe("stop.1");
    expect(await readRefused({ stop: ["x".repeat(256)] })).toBe("ok");
    expect(await readRefused({ stop: ["x".repeat(257)] })).toBe("stop.0");
    expect(await readRefused({ stop: "x".repeat(256) })).toBe("ok");
    expect(await readRefused({ stop: "x".repeat(257) })).toBe("stop");
  });

  test("gateway.limits.user at most 256 characters, of any size", async () => {
    expect(await readRefused({ user: "x".repeat(256) })).toBe("ok");
    expect(await readRefused({ user: "😀".repeat(256) })).toBe("ok");
    expect(await readRefused({ user: "x".repeat(257) })).toBe("user");
    expect(await readRefused({ user: "😀".repeat(257) })).toBe("user");
  });
});
