// Spec 001, "Limits": the request rate of a key and an address, and the size of a body.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { sendUnended } from "../../http/raw-client.ts";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { createKey } from "../gateway/keys.ts";
import { readRefusal } from "./refusal.ts";
import { askRoute, isDecision, listRoutes, type Route, readDocument } from "./routes.ts";
import { startService } from "./service.ts";

describe("agents.limits.request_rate", () => {
  let app: TestApp;
  let routes: Route[];
  beforeAll(async () => {
    app = await startApp();
    routes = listRoutes(await readDocument(app));
  });
  /** Counters are not shared between tests. */
  afterEach(() => app.clock.advance(60_000));
  afterAll(() => app.stop());

  /** Sends this many requests, over all routes in turn. */
  const askAround = async (count: number, key: string) => {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) {
      statuses.push((await askRoute(app, routes[i % routes.length]!, { key })).status);
    }
    return statuses;
  };

  test("agents.limits.request_rate a key gets 120 requests over all routes together, and no more on any route", async () => {
    const key = await createKey(app, { scopes: ["agents"] });
    expect(await askAround(120, key)).not.toContain(429);
    for (const route of routes) {
      const reply = await askRoute(app, route, { key });
      expect([route.path, reply.headers.get("retry-after")]).toEqual([route.path, "60"]);
      // agents.errors.p4: the request limit has no code.
      expect(await readRefusal(reply)).toEqual([429, undefined, null]);
    }
  });

  test("agents.limits.request_rate agents.limits.retry_after the window slides: a request is admitted 60 s after an earlier one", async () => {
    const key = await createKey(app, { scopes: ["agents"] });
    const wait = async () => (await app.get("/v1/runs", { key })).headers.get("retry-after");
    await askAround(60, key);
    await app.clock.advance(20_000);
    await askAround(60, key);
    expect(await wait()).toBe("40");
    // Part of a second is a whole one.
    await app.clock.advance(39_001);
    expect(await wait()).toBe("1");
    await app.clock.advance(999);
    // No route closes after refusals: sixty are admitted, and then twenty seconds later more.
    expect(await askAround(60, key)).not.toContain(429);
    expect(await wait()).toBe("20");
  });

  test("agents.limits.request_rate refusals count, and keys of one account have separate limits", async () => {
    const [first, second] = [
      await createKey(app, { scopes: [] }),
      await createKey(app, { scopes: ["agents"] }),
    ];
    // 404: deciding on what is not there.
    expect(new Set(await askAround(120, first))).toEqual(new Set([403, 404]));
    expect(await askAround(1, first)).toEqual([429]);
    expect(await askAround(1, second)).not.toContain(429);
    // The gateway counts for itself.
    expect((await app.get("/v1/models", { key: first })).status).toBe(200);
  });

  test("agents.limits.request_rate invalid keys are refused before the limit; the request is not read after it", async () => {
    const key = await createKey(app, { scopes: ["agents"] });
    await askAround(120, key);
    for (const path of ["/v1/agents/mine", "/v1/runs?colour=red"]) {
      expect((await app.get(path, { key })).status).toBe(429);
      expect((await app.get(path, { key: "x" })).status).toBe(401);
    }
  });
});

describe("agents.limits.request_rate by address", () => {
  test("agents.limits.request_rate agents.limits.retry_after a client's address is counted over all keys, known or unknown", async () => {
    const env = { WADI_LIMITS__ADDRESS_REQUESTS_PER_MINUTE: "10" };
    const app = await startApp({ listens: true, env });
    for (const key of [KEY, `${KEY}-other`, "x", null, `${KEY}-none`]) {
      for (let i = 0; i < 2; i++) {
        expect((await app.get("/v1/agents", { key })).status).not.toBe(429);
      }
    }
    for (const key of [KEY, "x", null]) {
      const reply = await app.get("/v1/runs", { key });
      expect(reply.headers.get("retry-after")).toBe("60");
      expect(await readRefusal(reply)).toEqual([429, undefined, null]);
    }
    expect((await app.get("/v1/models")).status).toBe(200);
    await app.clock.advance(60_000);
    expect((await app.get("/v1/runs")).status).toBe(200);
    await app.stop();
  });
});

describe("agents.limits.body_size", () => {
  const BYTES_MAX = 256 * 1024;
  let app: TestApp;
  let withBody: Route[];
  beforeAll(async () => {
    app = await startService({ listens: true });
    const all = listRoutes(await readDocument(app));
    // A decision on what is not there is refused before its body.
    withBody = all.filter((route) => route.body && !isDecision(route));
  });
  afterAll(() => app.stop());

  /** The same JSON, padded to this many bytes. */
  const stretch = (route: Route, bytes: number) => {
    const text = JSON.stringify(route.body!.examples?.[0] ?? {});
    return text.padEnd(bytes);
  };

  test("agents.limits.body_size agents.errors.p10 a body of 256 KB is read, and one byte more is 413 without code", async () => {
    for (const route of withBody) {
      const key = `${KEY}-approver`;
      const fits = await askRoute(app, route, { key, body: stretch(route, BYTES_MAX) });
      expect([route.path, [201, 404]]).toEqual([route.path, expect.arrayContaining([fits.status])]);
      const reply = await askRoute(app, route, { key, body: stretch(route, BYTES_MAX + 1) });
      expect([route.path, await readRefusal(reply)]).toEqual([route.path, [413, undefined, null]]);
    }
  });

  test("agents.limits.body_size a chunked body is refused as soon as it exceeds the limit", async () => {
    const gone = "01920000-0000-7000-8000-00000000dead";
    const lines = [
      "POST /v1/agents",
      `POST /v1/runs/${gone}/cancel`,
      `DELETE /v1/webhooks/${gone}`,
    ];
    for (const line of lines) {
      const head =
        `${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\n` +
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
      const spaces = " ".repeat(64 * 1024);
      const chunk = `${spaces.length.toString(16)}\r\n${spaces}\r\n`;
      // The fifth is beyond, and no end is ever sent.
      const reply = (await sendUnended(app, head, chunk.repeat(5)))!;
      expect([line, reply.status, JSON.parse(reply.body).error]).toEqual([
        ...[line, 413],
        { message: expect.any(String), type: "invalid_request_error", param: null },
      ]);
    }
  });

  test("agents.limits.body_size a Content-Length over the limit is refused before the body is read", async () => {
    for (const path of ["/v1/agents", "/v1/runs/01920000-0000-7000-8000-00000000dead/cancel"]) {
      const head =
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${BYTES_MAX + 1}\r\n\r\n`;
      expect([path, (await sendUnended(app, head))!.status]).toEqual([path, 413]);
    }
  });

  test("agents.limits.body_size a text of the field's maximum length fits, in any script", async () => {
    const body = { name: "😀".repeat(200), system_prompt: "x".repeat(100_000) };
    expect((await app.post("/v1/agents", body)).status).toBe(201);
    const longer = { ...body, system_prompt: "x".repeat(100_001) };
    const reply = await app.post("/v1/agents", longer);
    expect(await readRefusal(reply)).toEqual([400, undefined, "system_prompt"]);
  });
});
