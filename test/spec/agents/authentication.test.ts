// Spec 001, "Authentication": every route against every kind of key.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Scope } from "../../../src/access/index.ts";
import { storeKey } from "../../support/access.ts";
import { type AskOptions, KEY, type TestApp } from "../../support/app.ts";
import { createKey } from "../gateway/keys.ts";
import { readRefusal } from "./refusal.ts";
import {
  askRoute,
  isDecision,
  listRoutes,
  NOWHERE,
  type Route,
  readDocument,
  TRIAL,
} from "./routes.ts";
import { createAgent, readJson, startService } from "./service.ts";

/** Deciding needs another scope, a test one more, and these require their own. */
const CERTAIN = ["GET /v1/agents/usage", TRIAL];
const isCertain = (route: Route) =>
  CERTAIN.includes(nameOf(route)) || /^\/v1\/(?:triggers|webhooks)/.test(route.path);

let app: TestApp;
let lenient: TestApp;
let routes: Route[];
beforeAll(async () => {
  app = await startService();
  lenient = await startService({ env: { WADI_AGENTS__ENFORCE_SCOPE: "false" } });
  routes = listRoutes(await readDocument(app));
});
afterAll(async () => {
  await app.stop();
  await lenient.stop();
});

const nameOf = ({ method, path }: Route) => `${method} ${path}`;

/** Sends every route the same request and expects the same reply. */
async function expectEverywhere(options: AskOptions, says: unknown[], on = app): Promise<void> {
  for (const route of routes) {
    const reply = await askRoute(on, route, options);
    expect([nameOf(route), await readRefusal(reply)]).toEqual([nameOf(route), says]);
  }
}

describe("agents.authentication.1", () => {
  test("agents.authentication.1 agents.endpoints.p1 agents.errors.p9 every route requires a key", async () => {
    expect(routes.length).toBeGreaterThan(18);
    await expectEverywhere({ key: null }, [401, undefined, null]);
    for (const authorization of ["Bearer", KEY, `Basic ${KEY}`, `Bearer${KEY}`]) {
      await expectEverywhere({ headers: { authorization } }, [401, undefined, null]);
    }
  });

  test("agents.authentication.1 a key in any other place is ignored", async () => {
    const headers = { "x-api-key": KEY, cookie: `key=${KEY}` };
    const reply = await app.get(`/v1/agents?api_key=${KEY}`, { key: null, headers });
    expect(await readRefusal(reply)).toEqual([401, undefined, null]);
  });

  test("agents.authentication.1 unknown, revoked and expired keys get identical bytes on every route", async () => {
    const bodies = new Set<string>();
    for (const key of ["x", `${KEY}x`, `${KEY}-revoked`, `${KEY}-expired`, "svc_sk_"]) {
      await expectEverywhere({ key }, [401, undefined, null]);
      for (const route of routes) bodies.add(await (await askRoute(app, route, { key })).text());
    }
    expect(bodies.size).toBe(1);
  });

  test("agents.authentication.1 a revoked key is refused on its next request", async () => {
    const account_id = (await app.app.access.accounts.find("dev"))!.id;
    const request = { account_id, scopes: ["agents" as const] };
    const { key, secret } = await storeKey(app.app.access, request);
    expect((await app.get("/v1/agents", { key: secret })).status).toBe(200);
    await app.app.admin.keys.revoke(key.id);
    expect((await app.get("/v1/agents", { key: secret })).status).toBe(401);
  });
});

describe("agents.authentication.2", () => {
  const says = [403, "scope_required", null];
  /** A decision first reports a missing approval: its scope has tests of its own. */
  const expectScopeRequired = async (options: AskOptions) => {
    for (const route of routes) {
      const refusal = await readRefusal(await askRoute(app, route, options));
      const expected = isDecision(route) ? [404, "approval_not_found", null] : says;
      expect([nameOf(route), refusal]).toEqual([nameOf(route), expected]);
    }
  };

  test("agents.authentication.2 agents.errors.scope_required no other scope replaces `agents`", async () => {
    const others: Scope[] = ["agents.approve", "embeddings", "search", "reasoning", "think"];
    for (const scopes of [[], others]) {
      await expectScopeRequired({ key: await createKey(app, { scopes }) });
    }
  });

  test("agents.authentication.2 agents.endpoints.p2 `agents` alone opens every route", async () => {
    const key = await createKey(app, { scopes: ["agents"] });
    const owned = { agent_id: (await createAgent(app)).id };
    for (const route of routes) {
      const { status } = await askRoute(app, route, { key, owned });
      const created = route.method === "POST" ? 201 : 200;
      const expected = nameOf(route) === TRIAL ? 403 : route.path.includes("{") ? 404 : created;
      expect([nameOf(route), status]).toEqual([nameOf(route), expected]);
    }
  });

  test("agents.authentication.2 the scope is checked before the request is read", async () => {
    const key = `${KEY}-none`;
    await expectScopeRequired({ key, body: undefined, headers: { "content-type": "text/x" } });
    for (const path of ["/v1/agents/mine", "/v1/runs?colour=red", "/v1/runs/1/steps?limit=0"]) {
      expect(await readRefusal(await app.get(path, { key }))).toEqual(says);
    }
  });
});

describe("agents.authentication.3", () => {
  test("agents.authentication.3 the grace period accepts a key without `agents`, except where the refusal is certain", async () => {
    for (const route of routes) {
      const name = nameOf(route);
      const reply = await askRoute(lenient, route, { key: `${KEY}-none` });
      if (isCertain(route)) {
        expect([name, await readRefusal(reply)]).toEqual([name, [403, "scope_required", null]]);
      } else {
        const expected = route.path.includes("{") ? 404 : route.method === "POST" ? 201 : 200;
        expect([name, reply.status]).toEqual([name, expected]);
      }
    }
  });

  test("agents.authentication.3 the grace period accepts no invalid key", async () => {
    await expectEverywhere({ key: null }, [401, undefined, null], lenient);
    const denied = [403, "permission_denied", null];
    await expectEverywhere({ key: `${KEY}-internal` }, denied, lenient);
  });
});

describe("agents.authentication.4", () => {
  const says = [403, "permission_denied", null];

  test("agents.authentication.4 agents.errors.permission_denied an internal key calls no route", async () => {
    await expectEverywhere({ key: `${KEY}-internal` }, says);
  });

  test("agents.authentication.4 an internal header closes every route to every valid key", async () => {
    const headers = { "x-svc-internal-hop": "" };
    await expectEverywhere({ headers }, says);
    await expectEverywhere({ headers, key: "x" }, [401, undefined, null]);
  });

  test("agents.authentication.4 agents.errors.permission_denied a key without an owner creates nothing and finds nothing", async () => {
    const key = await createKey(app, { account_id: null, scopes: ["agents", "agents.approve"] });
    const { id } = await createAgent(app);
    for (const route of routes) {
      const reply = await askRoute(app, route, { key, params: { id } });
      const name = nameOf(route);
      // It starts no run of another owner: the agent's existence is not disclosed.
      if (name === "POST /v1/agents/{id}/runs") expect(await readRefusal(reply)).toEqual(says);
      else if (route.path.includes("{")) expect([name, reply.status]).toEqual([name, 404]);
      else if (route.method === "POST") expect(await readRefusal(reply)).toEqual(says);
      else expect([name, reply.status]).toEqual([name, 200]);
    }
    const start = { input: { message: "Hello" } };
    const reply = await app.post(`/v1/agents/${NOWHERE}/runs`, start, { key });
    expect(await readRefusal(reply)).toEqual(says);
    for (const path of ["/v1/agents", "/v1/runs", "/v1/threads"]) {
      expect((await readJson(await app.get(path, { key }))).data).toEqual([]);
    }
  });
});

test("agents.resources.p4 a missing object is reported as not found only after the key passes its checks", async () => {
  const path = `/v1/agents/${NOWHERE}`;
  expect((await app.get(path)).status).toBe(404);
  expect((await app.get(path, { key: `${KEY}-none` })).status).toBe(403);
  expect((await app.get(path, { key: null })).status).toBe(401);
});
