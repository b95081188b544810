// The pages of the documentation over HTTP: readable without a key or a network, and harmless.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeCommands } from "../../src/cli/help.ts";
import { listTopics } from "../../src/docs/index.ts";
import { ERROR_CODES } from "../../src/platform/errors.ts";
import { startApp, type TestApp } from "../support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ listens: true });
});
afterAll(() => app.stop());

const topics = [
  ...listTopics({ writeCommands }),
  ...["changes", "api", "operator-api"].map((name) => ({ name })),
];
const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const get = (path: string, headers = {}) => app.get(path, { key: null, headers });

describe("every page", () => {
  const paths = ["/docs", ...topics.map(({ name }) => `/docs/${name}`)];
  for (const path of paths) {
    test(`${path} is HTML that loads the stylesheet of this server and nothing else`, async () => {
      const reply = await get(path);
      const { status, headers } = reply;
      expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(headers.get("content-security-policy")).toBe(
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; " +
          "frame-ancestors 'none'",
      );
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-request-id")).not.toBeNull();
      const text = await reply.text();
      expect(text).toStartWith("<!doctype html>");
      expect(text).not.toMatch(/<(script|img|iframe|object|form|style)\b|\sstyle=|\son\w+=/i);
      const loaded = [...text.matchAll(/<link [^>]*href="([^"]+)"/g)].map(([, href]) => href);
      expect(loaded).toEqual(["/docs/style.css"]);
      const links = [...text.matchAll(/<a [^>]*href="(\/[^"#]*)/g)].map(([, href]) => href!);
      for (const link of new Set(links)) {
        const { status } = await get(link, HTML);
        expect([link, status]).toEqual([link, 200]);
      }
    });
  }

  test("HEAD returns only the headers, and other methods are not found", async () => {
    const head = await app.ask("HEAD", "/docs/security", { key: null });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await app.ask("POST", "/docs/security", { key: null })).status).toBe(404);
  });

  test("its text is identical at every request", async () => {
    expect(await (await get("/docs/errors")).text()).toBe(await (await get("/docs/errors")).text());
  });
});

test("unknown pages are the gateway's 404", async () => {
  for (const path of ["/docs/unknown", "/docs/", "/docs/style", "/docs/agents.md"]) {
    const reply = await get(path, HTML);
    const { code } = (await reply.json()) as { code: string };
    expect([path, reply.status, code]).toEqual([path, 404, "not_found"]);
  }
});

test("the stylesheet is CSS that loads nothing", async () => {
  const reply = await get("/docs/style.css");
  expect([reply.status, reply.headers.get("content-type")]).toEqual([
    200,
    "text/css; charset=utf-8",
  ]);
  expect(await reply.text()).not.toMatch(/@import|url\(/);
});

describe("/", () => {
  test("shows people the address and the documentation", async () => {
    const reply = await get("/", HTML);
    expect([reply.status, reply.headers.get("vary")]).toEqual([200, "Accept"]);
    expect(reply.headers.get("cache-control")).toBe("no-store");
    const text = await reply.text();
    const links = ["/console/", "/docs", "/openapi.json"].map((path) => `href="${path}"`);
    for (const part of [`${app.url}/v1`, ...links]) {
      expect(text).toContain(part);
    }
  });

  test("is the JSON 404 for clients that do not accept HTML, HEAD included", async () => {
    for (const headers of [{}, { accept: "application/json" }, { accept: "*/*" }]) {
      const reply = await get("/", headers);
      const body = (await reply.json()) as { code: string; request_id: string };
      expect([reply.status, body.code]).toEqual([404, "not_found"]);
      expect(body.request_id).toBe(reply.headers.get("x-request-id")!);
    }
    expect((await app.ask("HEAD", "/", { key: null })).status).toBe(404);
    expect((await app.ask("POST", "/", { key: null, headers: HTML })).status).toBe(404);
  });

  test("shows the public address, escaped", async () => {
    const elsewhere = '[operator]\nlisten = "127.0.0.1:9"\n';
    const settings = `${elsewhere}[server]\npublic_url = "https://acme.example/ai/"`;
    const named = await startApp({ settings });
    const text = await (await named.get("/", { key: null, headers: HTML })).text();
    expect(text).toContain("<code>https://acme.example/ai/v1</code>");
    // The console has an address of its own there.
    expect(text).not.toContain("/console/");
    await named.stop();
  });
});

test("every error code has an address, and operations link to it", async () => {
  const errors = await (await get("/docs/errors")).text();
  const ids = [...errors.matchAll(/<tr id="(\w+)">/g)].map(([, id]) => id!);
  const codes = Object.entries(ERROR_CODES).filter(([, entry]) => !("gateway" in entry));
  expect(ids).toEqual(codes.map(([code]) => code));
  const api = await (await get("/docs/api")).text();
  const linked = [...api.matchAll(/href="\/docs\/errors#(\w+)"/g)].map(([, code]) => code!);
  expect(linked).toContain("model_offline");
  expect(new Set(linked).difference(new Set(ids)).size).toBe(0);
});

test.each([
  ["api", "/openapi.json"],
  ["operator-api", "/operator/openapi.json"],
])("/docs/%s has each operation, field and schema of its document", async (name, source) => {
  const text = await (await get(`/docs/${name}`)).text();
  const document = (await (await app.get(source)).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
    components: { schemas: Record<string, { properties?: object }> };
  };
  const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!));
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    expect(ids).toContain(operation.operationId);
  }
  for (const [schema, { properties = {} }] of Object.entries(document.components.schemas)) {
    expect(ids).toContain(`schema-${schema}`);
    for (const field of Object.keys(properties)) expect(text).toContain(`<code>${field}</code>`);
  }
  const targets = [...text.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id!);
  expect(new Set(targets).difference(ids).size).toBe(0);
  // An id that is used twice leads to the first of two places.
  expect(ids.size).toBe([...text.matchAll(/ id="/g)].length);
});

test("references contain every error code, and HTML in a text is escaped", async () => {
  const errors = await (await get("/docs/errors")).text();
  for (const [code, entry] of Object.entries(ERROR_CODES)) {
    if (!("gateway" in entry)) expect(errors).toContain(`<code>${code}</code>`);
  }
  expect(await (await get("/docs/settings")).text()).toContain("a &lt;think&gt; block");
});
