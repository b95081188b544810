// Tests the console's session over HTTP: sign-in, its cookie on the operator API, and its end.
import { describe, expect, test } from "bun:test";
import { OPERATIONS } from "../../src/admin/operations/index.ts";
import { installationStore } from "../../src/installation/index.ts";
import { startApp } from "../support/app.ts";
import { findClosedPort } from "../support/ports.ts";

const USER = { kind: "user", name: "root", via: "command line" } as const;
const ORIGIN = "http://localhost";
const SESSION = "/console/session";
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

type PageHeaders = Record<string, string>;

async function open(options: Parameters<typeof startApp>[0] = {}) {
  const { app, clock, ask, stop } = await startApp(options);
  const { operators, sessions } = app.admin;
  await operators.create({ name: "noura", role: "operator" });
  await operators.create({ name: "sami", role: "approver" });
  const { id } = await app.database.bind(installationStore).find();
  const call = (method: string, path: string, headers: PageHeaders = {}, body?: unknown) =>
    ask(method, path, { key: null, headers, body });
  const link = async (as = "noura") => (await sessions.createLink(as, USER)).token;
  const trade = (token: string, headers: PageHeaders = { origin: ORIGIN }) =>
    call("POST", SESSION, { "user-agent": "Mozilla/5.0", ...headers }, { token });
  /** Returns the headers of a page that has signed in. */
  const signIn = async (as?: string) => {
    const reply = await trade(await link(as));
    const cookie = reply.headers.get("set-cookie")!.split(";", 1)[0]!;
    return { cookie, origin: ORIGIN };
  };
  return { app, clock, call, link, trade, signIn, stop, id };
}

const explain = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return [response.status, error.code, error.message.split(":")[0]];
};

describe("a sign-in", () => {
  test("trades a link for a cookie of the installation and shows the session", async () => {
    const { app, clock, link, trade, id, stop } = await open();
    const reply = await trade(await link());
    const [cookie, ...attributes] = reply.headers.get("set-cookie")!.split("; ");
    expect(cookie).toMatch(new RegExp(`^wadi_session_${id.slice(-8)}=wadi_session_\\w{49}$`));
    const lifetime = `Max-Age=${(30 * DAY_MS) / 1000}`;
    expect(attributes).toEqual(["Path=/", lifetime, "HttpOnly", "SameSite=Strict"]);
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const [session] = await app.admin.sessions.list();
    expect(await reply.json()).toEqual({
      ...{ id: session!.id, operator: "noura", role: "operator", user_agent: "Mozilla/5.0" },
      ...{ address: "nowhere", created_at: new Date(clock.now()).toISOString() },
      last_seen_at: new Date(clock.now()).toISOString(),
      expires_at: new Date(clock.now() + 30 * DAY_MS).toISOString(),
      ...{ program: "wadi", needs_server: false },
    });
    await stop();
  });

  test("has a cookie that ends with the operator, to a second", async () => {
    const { app, trade, stop } = await open();
    await app.admin.operators.create({ name: "guest", role: "approver", lifetimeMs: 59_999 });
    const { token } = await app.admin.sessions.createLink("guest", USER);
    expect((await trade(token)).headers.get("set-cookie")).toContain("; Max-Age=59;");
    await stop();
  });

  test.each(["operator", "server"])(
    "is secure where the page of %s came by HTTPS",
    async (table) => {
      const settings = `[${table}]\npublic_url = "https://wadi.internal"\n`;
      const { link, trade, stop } = await open({ settings });
      const reply = await trade(await link(), { origin: "https://wadi.internal" });
      expect(reply.headers.get("set-cookie")!.split("; ")).toContain("Secure");
      await stop();
    },
  );

  test.each([
    ["server.host", '[server]\nhost = "wadi.internal"\n'],
    ["operator.listen", '[operator]\nlisten = "wadi.internal:9090"\n'],
  ])("is for pages of the name in %s, and of no other", async (_, settings) => {
    const { link, trade, stop } = await open({ settings });
    const token = await link();
    const tradeAt = (host: string) => trade(token, { host, origin: `http://${host}` });
    expect((await tradeAt("evil.internal:9090")).status).toBe(403);
    expect((await tradeAt("wadi.internal:9090")).status).toBe(200);
    await stop();
  });

  test("works once for a link, also for two at once", async () => {
    const { app, link, trade, stop } = await open();
    const token = await link();
    const both = await Promise.all([trade(token), trade(token)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    const used = await trade(token);
    expect(used.headers.has("set-cookie")).toBe(false);
    expect(await explain(used)).toEqual([401, "invalid_api_key", "This link was used before"]);
    expect(await app.admin.sessions.list()).toHaveLength(1);
    await stop();
  });

  test("is refused with an expired or unknown link, or one of a revoked operator", async () => {
    const { app, clock, link, trade, stop } = await open();
    const [old, revoked] = [await link(), await link("sami")];
    await app.admin.operators.revoke("sami");
    expect((await explain(await trade(revoked)))[0]).toBe(401);
    await clock.advance(30 * MINUTE_MS);
    expect((await explain(await trade(old)))[2]).toBe("This link has expired");
    expect((await explain(await trade("wadi_link_x")))[2]).toBe("This link is unknown");
    expect((await trade("x".repeat(600))).status).toBe(400);
    expect(await app.admin.sessions.list()).toEqual([]);
    await stop();
  });

  test("from another page or without an Origin leaves the link unused", async () => {
    const { call, link, trade, stop } = await open();
    const token = await link();
    for (const origin of ["http://localhost:3000", "https://evil.example", "null"]) {
      expect((await explain(await trade(token, { origin })))[0], origin).toBe(403);
    }
    expect((await explain(await trade(token, {})))[0]).toBe(403);
    // Another page learns nothing of what a body must be.
    const foreign = { origin: "https://evil.example" };
    expect((await call("POST", SESSION, foreign, { nonsense: 1 })).status).toBe(403);
    expect((await trade(token, { "sec-fetch-site": "same-origin" })).status).toBe(200);
    await stop();
  });

  test.each([SESSION, "/operator/link/session"])(
    "at %s sends a token alone, in at most 4 KiB, which no refusal quotes",
    async (path) => {
      const { call, stop } = await open();
      const send = async (body: unknown) => {
        const reply = await call("POST", path, { origin: ORIGIN }, body);
        return [reply.status, (await reply.text()).includes("4711")];
      };
      const padded = (length: number) => '{"token":"wadi_x"}'.padEnd(length);
      expect((await send(padded(4_096)))[0]).toBe(401);
      expect((await send(padded(4_097)))[0]).toBe(413);
      expect(await send({ token: 4_711 })).toEqual([400, false]);
      expect(await send({ token: "x", other: 1 })).toEqual([400, false]);
      await stop();
    },
  );

  test("is slowed down by the address of failed ones", async () => {
    const settings = "[operator]\nrequests_per_minute = 2\n";
    const { trade, stop } = await open({ settings });
    const status = async () => (await trade("wadi_link_x")).status;
    expect([await status(), await status(), await status()]).toEqual([401, 401, 429]);
    await stop();
  });
});

describe("a session on the operator API", () => {
  test("takes the place of a token, and its changes are logged as the console's", async () => {
    const { app, call, signIn, stop } = await open();
    const page = await signIn();
    const read = await call("GET", "/operator/v1/accounts", { cookie: page.cookie });
    expect([read.status, read.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const made = await call("POST", "/operator/v1/accounts", page, { name: "acme" });
    expect(made.status).toBe(200);
    const [entry] = await app.admin.audit.list({ limit: 1 });
    expect(entry).toMatchObject({
      ...{ actor: "noura", actor_kind: "operator", via: "console" },
      ...{ operation: "accounts create", target: "acme", outcome: "done" },
    });
    await stop();
  });

  test("writes for own pages only", async () => {
    const { app, call, signIn, stop } = await open();
    const { cookie } = await signIn();
    const write = async (headers: PageHeaders) =>
      (await call("POST", "/operator/v1/accounts", { cookie, ...headers }, { name: "acme" }))
        .status;
    expect(await write({})).toBe(403);
    expect(await write({ origin: "http://localhost:3000" })).toBe(403);
    expect(await write({ origin: "https://evil.example" })).toBe(403);
    expect(await write({ "sec-fetch-site": "same-site" })).toBe(403);
    expect((await app.admin.accounts.list()).map(({ name }) => name)).not.toContain("acme");
    expect(await write({ "sec-fetch-site": "same-origin" })).toBe(200);
    await stop();
  });

  test("is refused under a foreign Host, as a rebound name would have", async () => {
    const { app, call, stop } = await open({ listens: true });
    const { url } = app.server;
    const token = (await app.admin.sessions.createLink("noura", USER)).token;
    const trade = await call("POST", SESSION, { origin: url }, { token });
    const cookie = trade.headers.get("set-cookie")!.split(";", 1)[0]!;
    const status = async (path: string, host: string) =>
      (await call("GET", path, { cookie, host })).status;
    for (const path of ["/operator/v1/accounts", SESSION]) {
      expect(await status(path, new URL(url).host)).toBe(200);
      expect(await status(path, "evil.example")).toBe(403);
    }
    const body = { token: (await app.admin.sessions.createLink("noura", USER)).token };
    const rebound = { host: "evil.example", origin: "http://evil.example" };
    expect((await call("POST", SESSION, rebound, body)).status).toBe(403);
    expect((await call("POST", SESSION, { origin: url }, body)).status).toBe(200);
    await stop();
  });

  test("of an approver may do what its token may, and nothing else", async () => {
    const { call, signIn, stop } = await open();
    const page = await signIn("sami");
    expect(await (await call("GET", SESSION, page)).json()).toMatchObject({ role: "approver" });
    for (const { method, path, isForApprovers = false } of OPERATIONS) {
      const isRead = method === "GET" || method === "DELETE";
      const full = `/operator/v1${path.replaceAll(/:\w+/g, "0198f000-0000-7000-8000-000000000001")}`;
      const { status } = await call(method, full, page, isRead ? undefined : {});
      expect(status === 403, `${method} ${path}`).toBe(!isForApprovers);
    }
    await stop();
  });

  test("counts against the limit of its operator", async () => {
    const settings = "[operator]\nrequests_per_minute = 2\n";
    const { call, signIn, stop } = await open({ settings });
    const page = await signIn();
    const status = async () => (await call("GET", "/operator/v1/accounts", page)).status;
    expect([await status(), await status(), await status()]).toEqual([200, 200, 429]);
    expect((await call("GET", SESSION, page)).status).toBe(429);
    await stop();
  });

  test("is guessed slowly by an address, and so is its absence", async () => {
    const { id, call, stop } = await open({ settings: "[operator]\nrequests_per_minute = 2\n" });
    const page = { cookie: `wadi_session_${id.slice(-8)}=guess`, origin: ORIGIN };
    expect((await call("GET", "/operator/v1/accounts", page)).status).toBe(401);
    expect((await call("GET", SESSION)).status).toBe(401);
    expect((await call("GET", SESSION)).status).toBe(429);
    expect((await call("GET", "/operator/v1/accounts", page)).status).toBe(429);
    await stop();
  });

  test("is not asked where a token is sent, and is of no use on the public API", async () => {
    const { call, signIn, stop } = await open();
    const page = await signIn();
    const wrong = await call("GET", "/operator/v1/accounts", {
      ...page,
      authorization: "Bearer x",
    });
    expect((await explain(wrong))[1]).toBe("invalid_api_key");
    expect((await call("GET", "/v1/models", page)).status).toBe(401);
    await stop();
  });

  test("is none by the cookie of another installation", async () => {
    const { call, signIn, id, stop } = await open();
    const { cookie } = await signIn();
    const renamed = cookie.replace(id.slice(-8), "0badcafe");
    const other = await call("GET", "/operator/v1/accounts", { cookie: renamed });
    expect((await explain(other))[1]).toBe("missing_api_key");
    // Both may be sent, since ports of a host share their cookies.
    const both = `${renamed}x; ${cookie}`;
    expect((await call("GET", "/operator/v1/accounts", { cookie: both })).status).toBe(200);
    const forged = `${cookie.split("=")[0]}=wadi_session_forged`;
    expect((await explain(await call("GET", SESSION, { cookie: forged })))[1]).toBe(
      "invalid_api_key",
    );
    // A foreign page does not learn whether a session has ended.
    const foreign = { cookie: forged, origin: "https://evil.example" };
    expect((await call("GET", SESSION, foreign)).status).toBe(403);
    await stop();
  });

  test("ends with its operator at the next request", async () => {
    const { app, call, signIn, stop } = await open();
    const page = await signIn();
    expect((await call("GET", "/operator/v1/accounts", page)).status).toBe(200);
    await app.admin.operators.revoke("noura");
    const refused = await call("GET", "/operator/v1/accounts", page);
    expect(await explain(refused)).toEqual([401, "invalid_api_key", "The session has ended"]);
    expect((await call("GET", SESSION, page)).status).toBe(401);
    await stop();
  });
});

describe("the end of a session", () => {
  test("by its own page clears the cookie", async () => {
    const { app, call, signIn, stop } = await open();
    const page = await signIn();
    expect((await call("DELETE", SESSION, { cookie: page.cookie })).status).toBe(403);
    const ended = await call("DELETE", SESSION, page);
    expect([ended.status, ended.headers.get("set-cookie")]).toEqual([
      200,
      expect.stringMatching(/^wadi_session_\w+=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/),
    ]);
    expect((await call("GET", SESSION, page)).status).toBe(401);
    expect((await call("DELETE", SESSION, page)).status).toBe(401);
    const [entry] = await app.admin.audit.list({ limit: 1 });
    expect(entry).toMatchObject({ via: "console", operation: "operators end", outcome: "done" });
    await stop();
  });

  test("by another session, which finds it in the list", async () => {
    const { call, signIn, stop } = await open();
    const [lost, page] = [await signIn(), await signIn()];
    const { id } = (await (await call("GET", SESSION, lost)).json()) as { id: string };
    const list = await (await call("GET", "/operator/v1/sessions", page)).json();
    expect(list).toContainEqual(expect.objectContaining({ id, operator: "noura" }));
    expect((await call("DELETE", `/operator/v1/sessions/${id}`, page)).status).toBe(200);
    expect((await call("GET", SESSION, lost)).status).toBe(401);
    expect((await call("GET", SESSION, page)).status).toBe(200);
    await stop();
  });
});

test("a session makes no link, which would outlive it", async () => {
  const { call, signIn, stop } = await open();
  const refused = await call("POST", "/operator/v1/console/links", await signIn(), {});
  expect((await explain(refused))[0]).toBe(400);
  await stop();
});

test("switched off, the console's paths are 404", async () => {
  const { app, call, stop } = await open({ settings: "[operator]\nenabled = false\n" });
  for (const method of ["GET", "POST", "DELETE"]) {
    const body = method === "POST" ? { token: "x" } : undefined;
    for (const path of [SESSION, "/operator/link/session", "/operator/link/v1/approvals"]) {
      const { status } = await call(method, path, { origin: ORIGIN }, body);
      expect(status, `${method} ${path}`).toBe(404);
    }
  }
  await expect(app.admin.sessions.createLink("noura", USER)).rejects.toThrow("switched off");
  await stop();
});

test("the console answers where the operator API does", async () => {
  const port = findClosedPort();
  const settings = `[operator]\nlisten = "127.0.0.1:${port}"\n`;
  const { app, stop } = await open({ listens: true, settings });
  const status = async (at: string) => (await fetch(`${at}${SESSION}`)).status;
  expect([await status(`http://127.0.0.1:${port}`), await status(app.server.url)]).toEqual([
    401, 404,
  ]);
  const forwarded = await fetch(`${app.server.url}${SESSION}`, { headers: { via: "1.1 proxy" } });
  expect(forwarded.status).toBe(404);
  await stop();
});
