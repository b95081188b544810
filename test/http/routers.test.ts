// Tests both routers as the app builds them: their limits, and changed settings.
import { afterAll, expect, test } from "bun:test";
import type { Caller } from "../../src/access/index.ts";
import { createRouters } from "../../src/http/routers.ts";
import { HttpServer } from "../../src/http/server.ts";
import { createLog } from "../../src/platform/log.ts";
import { readSettings } from "../../src/settings/index.ts";
import { createManualClock } from "../support/clock.ts";
import { createSeededIds } from "../support/ids.ts";
import { caller, describeRoute, PLAIN_SERVER } from "./test-server.ts";

const started: HttpServer[] = [];
afterAll(() => Promise.all(started.map((server) => server.stop(0))));

const read = (text: string) => readSettings(text, "wadi.toml", {}, {});

/** Two routes of each surface; a key is the id of its caller, and all share one account. */
function createTrial(text: string) {
  const settings = read(text);
  const clock = createManualClock();
  const [ids, log] = [createSeededIds(), createLog(clock, () => {}, false)];
  const { trusted_proxies } = settings.server;
  const server = new HttpServer({
    ...PLAIN_SERVER,
    trusted_proxies,
    clock,
    ids,
    log,
  });
  const identify = async (authorization: string | null): Promise<Caller> => ({
    ...caller,
    key_id: authorization?.replace("Bearer ", "") ?? "none",
  });
  const routers = createRouters({
    settings,
    access: { identify, identifyKey: identify },
    server,
    clock,
    ids,
    log,
    observer: null,
  });
  const agents = { ...describeRoute<never>(), scope: "agents" as const };
  routers.gateway.get("/v1/models", describeRoute<never>(), () => [200, {}]);
  routers.gateway.get("/v1/others", describeRoute<never>(), () => [200, {}]);
  routers.agents.get("/v1/agents", describeRoute<never>(), () => [200, {}]);
  routers.agents.get("/v1/runs", describeRoute<never>(), () => [200, {}]);
  routers.agents.get("/v1/threads", agents, () => [200, {}]);
  server.open([routers.gateway, routers.agents], []);
  const init = (key: string, more = {}) => ({
    headers: { authorization: `Bearer ${key}`, ...more },
  });
  /** The status, or the seconds of Retry-After. */
  const ask = async (path: string, key = "a") => {
    const request = new Request(`http://localhost${path}`, init(key));
    const { status, headers } = await server.answer(request);
    return headers.get("retry-after") ?? status;
  };
  const listen = async () => {
    await server.start();
    started.push(server);
    return async (forwarded: string, key = "a") => {
      const more = { "x-forwarded-for": forwarded };
      return (await fetch(`${server.url}/v1/agents`, init(key, more))).status;
    };
  };
  return { routers, clock, ask, listen };
}

test("agents.limits.request_rate agents.limits.retry_after a key's limit slides, and an account's route closes", async () => {
  const { ask, clock } = createTrial("[limits]\nrequests_per_minute = 2");
  for (const path of ["/v1/agents", "/v1/models"]) {
    expect(await ask(path)).toBe(200);
  }
  await clock.advance(40_000);
  // All routes of the agents surface together, each of the gateway separately.
  expect([await ask("/v1/runs"), await ask("/v1/others")]).toEqual([200, 200]);
  expect(await ask("/v1/models")).toBe(200);
  expect([await ask("/v1/agents"), await ask("/v1/models")]).toEqual(["20", "60"]);
  // Another key of the same account.
  expect([await ask("/v1/agents", "b"), await ask("/v1/models", "b")]).toEqual([200, "60"]);
  await clock.advance(19_999);
  expect(await ask("/v1/runs")).toBe("1");
  await clock.advance(1);
  expect([await ask("/v1/runs"), await ask("/v1/models")]).toEqual([200, "40"]);
  expect(await ask("/v1/agents")).toBe("40");
});

test("agents.limits.request_rate an address is counted over all keys, known or not", async () => {
  const { ask, clock } = createTrial("[limits]\naddress_requests_per_minute = 3");
  for (const key of ["a", "b", "c"]) expect(await ask("/v1/agents", key)).toBe(200);
  expect(await ask("/v1/runs", "d")).toBe("60");
  // The gateway has no such limit.
  expect(await ask("/v1/models", "d")).toBe(200);
  await clock.advance(60_000);
  expect(await ask("/v1/agents", "d")).toBe(200);
});

test("agents.limits.request_rate a proxy's clients are counted separately, and other forwarded addresses are ignored", async () => {
  const settings = "[limits]\naddress_requests_per_minute = 1";
  const proxied = createTrial(`[server]\ntrusted_proxies = ["127.0.0.0/8", "::1"]\n${settings}`);
  const ask = await proxied.listen();
  expect([await ask("192.0.2.1"), await ask("192.0.2.2")]).toEqual([200, 200]);
  expect(await ask("1.1.1.1, 192.0.2.1")).toBe(429);
  const bare = await createTrial(settings).listen();
  expect([await bare("192.0.2.1"), await bare("192.0.2.2")]).toEqual([200, 429]);
});

test("agents.p5 agents.authentication.3 changed settings apply from the next request on", async () => {
  const { ask, routers } = createTrial("[agents]\nopen = false");
  expect([await ask("/v1/agents"), await ask("/v1/models")]).toEqual([503, 200]);
  routers.change(read("[agents]\nenforce_scope = false"));
  expect([await ask("/v1/agents"), await ask("/v1/threads")]).toEqual([200, 200]);
  routers.change(read(""));
  expect([await ask("/v1/agents"), await ask("/v1/threads")]).toEqual([200, 403]);
  routers.change(read("[limits]\nrequests_per_minute = 4"));
  expect([await ask("/v1/agents"), await ask("/v1/models")]).toEqual(["60", 200]);
  routers.change(read("[limits]\naddress_requests_per_minute = 6"));
  expect(await ask("/v1/agents", "b")).toBe(200);
  expect(await ask("/v1/agents", "b")).toBe("60");
});

test("at most 100,000 addresses of callers without a key are counted", () => {
  const { addresses } = createTrial("").routers.limiters;
  addresses.change(1);
  expect(addresses.claim("first")).toBe(0);
  expect(addresses.claim("first")).toBeGreaterThan(0);
  for (let n = 0; n < 100_000; n++) void addresses.claim(`a-${n}`);
  expect(addresses.claim("first")).toBe(0);
});
