// Tests every route of operators against strangers: no session, another page's, another host's.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { OPERATIONS } from "../../src/admin/operations/index.ts";
import { startApp, type TestApp } from "../support/app.ts";

const USER = { kind: "user", name: "root", via: "command line" } as const;
const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const PARTNER = "https://app.wadi.sa";
const MINUTE_MS = 60_000;

/** Every route that reads or writes as an operator. */
const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ...OPERATIONS.map(
    ({ method, path }) =>
      [method as string, `/operator/v1${path.replaceAll(/:\w+/g, UNKNOWN)}`] as const,
  ),
  ["GET", "/operator/v1/changes"],
  ["GET", "/console/session"],
  ["DELETE", "/console/session"],
];

/** Routes of links to approvals, where a session of an operator is none. */
const LINK_ROUTES: typeof ROUTES = [
  ...OPERATIONS.filter(({ isForLinks }) => isForLinks).map(
    ({ method, path }) =>
      [method as string, `/operator/link/v1${path.replaceAll(/:\w+/g, UNKNOWN)}`] as const,
  ),
  ["GET", "/operator/link/session"],
  ["DELETE", "/operator/link/session"],
];

describe("a route of operators", () => {
  let started: TestApp;
  let cookie: string;

  beforeAll(async () => {
    // A page that may call the public API may not act for operators.
    const settings = `[server]\ncors_origins = ["${PARTNER}"]\n`;
    started = await startApp({ listens: true, settings });
    await started.app.admin.operators.create({ name: "noura", role: "operator" });
    const { token } = await started.app.admin.sessions.createLink("noura", USER);
    const headers = { origin: started.url };
    const reply = await started.ask("POST", "/console/session", {
      ...{ key: null, headers, body: { token } },
    });
    cookie = reply.headers.get("set-cookie")!.split(";", 1)[0]!;
  });
  afterAll(() => started.stop());

  const send = async (method: string, path: string, headers: Record<string, string>) => {
    const body = method === "GET" || method === "DELETE" ? undefined : {};
    const reply = await started.ask(method, path, { key: null, headers, body });
    const text = await reply.text();
    return { status: reply.status, code: text && JSON.parse(text).error?.code, reply };
  };
  const sendAll = async (
    headers: () => Record<string, string>,
    status: number,
    code: string,
    routes = ROUTES,
  ) => {
    for (const [method, path] of routes) {
      const found = await send(method, path, headers());
      expect([method, path, found.status, found.code]).toEqual([method, path, status, code]);
      expect(found.reply.headers.has("set-cookie")).toBeFalse();
    }
    // Attempts are limited.
    await started.clock.advance(MINUTE_MS);
  };

  test("is refused without a session", async () => {
    await sendAll(() => ({}), 401, "missing_api_key");
    await sendAll(() => ({ origin: started.url }), 401, "missing_api_key");
  });

  test("is refused below the path of links without one, also to an operator", async () => {
    expect(LINK_ROUTES.length).toBeGreaterThan(3);
    await sendAll(() => ({}), 401, "missing_api_key", LINK_ROUTES);
    await sendAll(() => ({ cookie, origin: started.url }), 401, "missing_api_key", LINK_ROUTES);
  });

  test("is refused with a session that is not in force", async () => {
    const forged = `${cookie.slice(0, -3)}abc`;
    await sendAll(() => ({ cookie: forged, origin: started.url }), 401, "invalid_api_key");
  });

  const origins = ["https://evil.example", PARTNER, "http://127.0.0.1:1", "null"];
  test.each(origins)("is refused to a page of %s", async (origin) => {
    await sendAll(() => ({ cookie, origin }), 403, "permission_denied");
  });

  test.each(["cross-site", "same-site"])(
    "is refused to a %s page without its origin",
    async (site) => {
      await sendAll(() => ({ cookie, "sec-fetch-site": site }), 403, "permission_denied");
    },
  );

  test("is refused under a foreign Host, as a rebound name would have", async () => {
    for (const host of ["evil.example", "127.0.0.1.evil.example:80"]) {
      const origin = `http://${host}`;
      await sendAll(() => ({ cookie, host, origin }), 403, "permission_denied");
    }
  });

  test("has changed nothing for any of them, and still serves the session's own page", async () => {
    const entries = await started.app.admin.audit.list({ limit: 10 });
    expect(entries.map(({ operation }) => operation)).toEqual(["console sign-in"]);
    expect((await send("GET", "/console/session", { cookie })).status).toBe(200);
  });
});

test("the page of the console is answered to own names only, and to links from anywhere", async () => {
  const { ask, stop } = await startApp({ listens: true });
  const get = (headers: Record<string, string>) =>
    ask("GET", "/console/runs", { key: null, headers });
  expect((await get({ "sec-fetch-site": "cross-site" })).status).toBe(200);
  const refused = await get({ host: "evil.example" });
  expect([refused.status, await refused.text()]).toEqual([
    403,
    expect.stringContaining("set operator.public_url"),
  ]);
  await stop();
});
