// Spec 000, embeddings: the quota beside the limit of every route, and being off.
import { describe, expect, test } from "bun:test";
import { KEY, startApp, type TestApp } from "../../support/app.ts";
import { createKey } from "./keys.ts";
import { readRefusal } from "./refusal.ts";

const PATH = "/v1/embeddings";

/** `200`, or what was refused with its Retry-After. */
const ask = async (app: TestApp, key = KEY, body: unknown = { input: "Hello" }) => {
  const reply = await app.post(PATH, body, { key });
  if (reply.status === 200) {
    await reply.text();
    return "200";
  }
  const [status, code] = await readRefusal(reply);
  return [status, code, reply.headers.get("retry-after")].filter(Boolean).join(" ");
};

async function withApp(settings: string, run: (app: TestApp) => Promise<void>): Promise<void> {
  const app = await startApp({ settings });
  try {
    await run(app);
  } finally {
    await app.stop();
  }
}

describe("gateway.limits.embeddings_quota", () => {
  test("gateway.limits.embeddings_quota gateway.errors.rate_limit_exceeded 20 in any 60 seconds, and the next as soon as one leaves the window", () =>
    withApp("", async (app) => {
      for (let n = 0; n < 20; n++) {
        expect(await ask(app)).toBe("200");
        await app.clock.advance(1_000);
      }
      expect(await ask(app)).toBe("429 rate_limit_exceeded 40");
      await app.clock.advance(39_999);
      expect(await ask(app)).toBe("429 rate_limit_exceeded 1");
      await app.clock.advance(1);
      // The quota closes nothing: requests are admitted as old ones leave the window.
      expect([await ask(app), await ask(app)]).toEqual(["200", "429 rate_limit_exceeded 1"]);
    }));

  test("gateway.limits.embeddings_quota all keys of an account share it, and other accounts have their own", () =>
    withApp("", async (app) => {
      const second = await createKey(app, { scopes: ["embeddings"] });
      for (let n = 0; n < 20; n++) expect(await ask(app, n % 2 ? KEY : second)).toBe("200");
      for (const key of [KEY, second]) {
        expect(await ask(app, key)).toBe("429 rate_limit_exceeded 60");
      }
      expect(await ask(app, `${KEY}-other`)).toBe("200");
    }));

  test("gateway.limits.embeddings_quota only valid requests count", () =>
    withApp("", async (app) => {
      for (let n = 0; n < 30; n++) {
        expect(await ask(app, KEY, { input: "" })).toBe("400 invalid_request");
        expect(await ask(app, `${KEY}-none`)).toBe("403 scope_required");
      }
      for (let n = 0; n < 20; n++) expect(await ask(app)).toBe("200");
    }));

  test("gateway.limits.embeddings_quota is in addition to the limit of the route, which counts every request", () =>
    withApp("[limits]\nrequests_per_minute = 3", async (app) => {
      expect(await ask(app, KEY, { input: "" })).toBe("400 invalid_request");
      expect([await ask(app), await ask(app)]).toEqual(["200", "200"]);
      expect(await ask(app)).toBe("429 rate_limit_exceeded 60");
    }));

  test("gateway.limits.embeddings_quota does not touch chats", () =>
    withApp("[embeddings]\nrequests_per_minute = 1", async (app) => {
      expect([await ask(app), await ask(app)]).toEqual(["200", "429 rate_limit_exceeded 60"]);
      expect((await app.chat("Hello")).status).toBe(201);
    }));
});

describe("gateway.errors.service_unavailable", () => {
  test("gateway.errors.service_unavailable a service switched off by the operator says so, without Retry-After", () =>
    withApp('[embeddings]\nkind = "off"', async (app) => {
      for (let n = 0; n < 21; n++) expect(await ask(app)).toBe("503 service_unavailable");
      const { headers } = await app.post(PATH, { input: "Hello" });
      expect(headers.has("x-should-retry")).toBeFalse();
    }));

  test("gateway.errors.service_unavailable an invalid request is reported first", () =>
    withApp('[embeddings]\nkind = "off"', async (app) => {
      expect(await ask(app, KEY, { input: "" })).toBe("400 invalid_request");
      expect(await ask(app, `${KEY}-none`)).toBe("403 scope_required");
    }));

  test("gateway.errors.service_unavailable the stub makes no vectors in front of real models", () => {
    const model = '[[models]]\nid = "m"\n[models.upstream]\nkind = "openai"\n';
    return withApp(`${model}urls = ["http://127.0.0.1:1/v1"]`, async (app) => {
      expect(await ask(app)).toBe("503 service_unavailable");
    });
  });
});

test("gateway.errors.headers.x_should_retry is on no refusal that did no work", () =>
  withApp("[embeddings]\nrequests_per_minute = 1", async (app) => {
    await ask(app);
    for (const body of [{ input: "" }, { input: "Hello" }]) {
      const { status, headers } = await app.post(PATH, body);
      expect([status >= 400, headers.has("x-should-retry")]).toEqual([true, false]);
    }
  }));
