// MCP servers as an account registers, reads and deletes them, and who may.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { McpRequest } from "../../../../src/agents/tools/mcp/client.ts";
import type { ReadTools } from "../../../../src/agents/tools/mcp/definition.ts";
import type { McpServerRow } from "../../../../src/agents/tools/mcp/server.ts";
import { McpServers, type McpServersDeps } from "../../../../src/agents/tools/mcp/servers.ts";
import type { McpTarget } from "../../../../src/agents/tools/mcp/wire.ts";
import { readSettings } from "../../../../src/settings/index.ts";
import { expectRefusal } from "../../../spec/agents/refusal.ts";
import { createConnection, type Json, readJson } from "../../../spec/agents/service.ts";
import { register } from "../../../spec/agents/tools-bodies.ts";
import { allow } from "../../../spec/gateway/keys.ts";
import { KEY, type TestApp } from "../../../support/app.ts";
import { createManualClock } from "../../../support/clock.ts";
import { addServer, listTools, makeAgent, refresh, runOnce, setRisk, startMcp } from "./front.ts";
import { ECHO, openSessionPeer, openStatelessPeer } from "./peers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMcp();
});
afterAll(() => app.stop());

const NOWHERE = "01920000-0000-7000-8000-00000000dead";

describe("while the operator has not opened MCP servers", () => {
  test("none is registered or read, no tool is judged, and lists are empty", async () => {
    const closed = await startMcp("http_tools = true");
    const url = "https://api.example.com/mcp";
    const refused = [
      await closed.post("/v1/mcp/servers", { name: "far", url }),
      await closed.post(`/v1/mcp/servers/${NOWHERE}/refresh`, undefined),
      await closed.post("/v1/tools/far_echo/accept", { revision: 1 }),
      await closed.ask("PATCH", "/v1/tools/far_echo", { body: { risk: "read" } }),
    ];
    for (const reply of refused) await expectRefusal(reply, 403, "not_enabled");
    expect(await readJson(await closed.get("/v1/mcp/servers"))).toEqual({ data: [] });
    await closed.stop();
  });

  test("tools that were registered before are called by no run, version or trial", async () => {
    using peer = openStatelessPeer({ tools: [ECHO] });
    const some = await startMcp();
    await addServer(some, peer.url);
    await setRisk(some, "far_echo", "read");
    const agent = await makeAgent(some, ["far_echo"]);
    const text = '[agents]\nmcp = false\n[egress]\nallow = ["127.0.0.1:*"]\n';
    await some.app.change(readSettings(text, "wadi.toml", {}, { "server.port": 0 }));
    expect((await runOnce(some, agent, "far_echo")).result.outcome).toBe("disabled");
    const body = { name: "New", system_prompt: "Be brief.", tools: ["far_echo"] };
    await expectRefusal(await some.post("/v1/agents", body), 400, "invalid_request", "tools.0");
    const trial = { arguments: { text: "a" } };
    const key = `${KEY}-approver`;
    const tried = await some.post("/v1/tools/far_echo/test", trial, { key });
    await expectRefusal(tried, 403, "not_enabled");
    expect(peer.calls).toEqual([]);
    await some.stop();
  });
});

describe("a server", () => {
  test("is listed, read and deleted, after which no run calls its tools", async () => {
    using peer = openStatelessPeer({ tools: [ECHO] });
    const server = await addServer(app, peer.url, { name: "short" });
    await setRisk(app, "short_echo", "read");
    const agent = await makeAgent(app, ["short_echo"]);
    const listed = await readJson(await app.get("/v1/mcp/servers"));
    expect(listed.data).toEqual([server]);
    expect(await readJson(await app.get(`/v1/mcp/servers/${server.id}`))).toEqual(server);
    expect((await app.ask("DELETE", `/v1/mcp/servers/${server.id}`)).status).toBe(204);
    for (const path of ["", "/tools"]) {
      const reply = await app.get(`/v1/mcp/servers/${server.id}${path}`);
      await expectRefusal(reply, 404, "mcp_server_not_found");
    }
    expect((await runOnce(app, agent, "short_echo")).result.outcome).toBe("disabled");
    expect(await readJson(await app.get("/v1/tools/short_echo"))).toMatchObject({
      ...{ kind: "mcp", status: "disabled", endpoint: peer.url, price_sar: "0.000000" },
    });
  });

  test("registered again at another address gets no call of a version from before", async () => {
    using before = openStatelessPeer({ tools: [ECHO] });
    using after = openStatelessPeer({ tools: [ECHO] });
    const { id } = await addServer(app, before.url, { name: "moved" });
    await setRisk(app, "moved_echo", "read");
    const agent = await makeAgent(app, ["moved_echo"]);
    await app.ask("DELETE", `/v1/mcp/servers/${id}`);
    const moved = await addServer(app, after.url, { name: "moved" });
    expect((await listTools(app, moved.id))[0]).toMatchObject({ risk: "irreversible" });
    const { result } = await runOnce(app, agent, "moved_echo");
    expect(result).toMatchObject({ outcome: "disabled" });
    expect(result.content).toContain("tool_changed");
    expect([...before.calls, ...after.calls]).toEqual([]);
  });

  test("that is down is registered with its problem, and keeps its tools when it goes down", async () => {
    const peer = openStatelessPeer({ tools: [ECHO] });
    const server = await addServer(app, peer.url, { name: "fragile" });
    peer[Symbol.dispose]();
    expect((await refresh(app, server.id)).problem).toMatch(/^No connection to 127/);
    expect(await listTools(app, server.id)).toMatchObject([{ status: "enabled" }]);
    const down = await addServer(app, peer.url, { name: "down" });
    expect(down).toMatchObject({ protocol_version: null, refreshed_at: null });
    expect(down.problem).toMatch(/^No connection to 127/);
  });

  test("keeps its name, its connection and its limits", async () => {
    using peer = openStatelessPeer({ tools: [] });
    const connection = await createConnection(app, { name: "Kept" });
    const fields = { name: "kept", connection_id: connection.id, timeout_ms: 1_000 };
    const server = await addServer(app, peer.url, fields);
    expect(server).toMatchObject(fields);
    const again = await app.post("/v1/mcp/servers", { name: "kept", url: peer.url });
    await expectRefusal(again, 409, "mcp_server_exists", "name");
    const removal = await app.ask("DELETE", `/v1/tools/connections/${connection.id}`);
    await expectRefusal(removal, 409, "connection_in_use");
    const unknown = { name: "other", url: peer.url, connection_id: NOWHERE };
    const refused = await app.post("/v1/mcp/servers", unknown);
    await expectRefusal(refused, 404, "connection_not_found", "connection_id");
    for (const name of ["Far", "a".repeat(25), "a-b", ""]) {
      const reply = await app.post("/v1/mcp/servers", { name, url: peer.url });
      await expectRefusal(reply, 400, undefined, "name");
    }
  });

  test("takes no built-in tool's name, at its registration and later", async () => {
    using peer = openStatelessPeer({ tools: [{ ...ECHO, name: "set" }, ECHO] });
    const server = await addServer(app, peer.url, { name: "memory" });
    const problem = "The platform has a tool of this name.";
    expect(server.skipped).toEqual([{ tool: "set", problem }]);
    peer.behaviour.tools = [{ ...ECHO, name: "get" }, ECHO];
    expect((await refresh(app, server.id)).skipped).toEqual([{ tool: "get", problem }]);
    expect(await listTools(app, server.id)).toMatchObject([{ name: "memory_echo" }]);
    for (const name of ["memory_set", "memory_get"]) {
      expect(await readJson(await app.get(`/v1/tools/${name}`))).toMatchObject({ kind: "builtin" });
    }
  });

  test.each([
    ["a stateless one", openSessionPeer, openStatelessPeer],
    ["one with sessions", openStatelessPeer, openSessionPeer],
  ])("that %s replaces at its address is read and called on", async (_, before, after) => {
    using first = before({ tools: [ECHO] });
    using second = after({ tools: [ECHO] });
    let peer = first;
    using front = Bun.serve({
      ...{ hostname: "127.0.0.1", port: 0 },
      async fetch(request) {
        const { method, headers } = request;
        const body = await request.text();
        return fetch(peer.url, { method, headers, ...(body !== "" && { body }) });
      },
    });
    const name = `replaced${front.port}`;
    const { id } = await addServer(app, `${front.url.origin}/mcp`, { name });
    const tool = `${name}_echo`;
    await setRisk(app, tool, "read");
    const agent = await makeAgent(app, [tool]);
    expect((await runOnce(app, agent, tool)).result.outcome).toBe("ok");
    peer = second;
    expect(await refresh(app, id)).toMatchObject({ problem: null, skipped: [] });
    expect((await runOnce(app, agent, tool)).result.outcome).toBe("ok");
    peer = first;
    expect((await runOnce(app, agent, tool)).result.outcome).toBe("ok");
    expect([first.calls.length, second.calls.length]).toEqual([2, 1]);
  });

  test("is one of four that an account reads at once, and keeps no other account waiting", async () => {
    const opened = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    let count = 0;
    using slow = Bun.serve({
      ...{ hostname: "127.0.0.1", port: 0 },
      async fetch() {
        if (++count === 4) arrived.resolve();
        await opened.promise;
        return new Response("No server.", { status: 404 });
      },
    });
    using peer = openStatelessPeer({ tools: [ECHO] });
    const { key } = await allow(app, "Neighbour", { scopes: ["agents"] });
    const { id } = await addServer(app, peer.url, { name: "quick" });
    const url = `${slow.url.origin}/mcp`;
    const reading = [1, 2, 3, 4].map((n) => addServer(app, url, { name: `slow${n}` }));
    await arrived.promise;
    const refused = [
      await app.post("/v1/mcp/servers", { name: "fifth", url: peer.url }),
      await app.post(`/v1/mcp/servers/${id}/refresh`, undefined),
    ];
    for (const reply of refused) {
      expect(reply.headers.get("retry-after")).toBe("1");
      await expectRefusal(reply, 429, undefined);
    }
    const own = { name: "quick", url: peer.url };
    expect((await app.post("/v1/mcp/servers", own, { key })).status).toBe(201);
    opened.resolve();
    await Promise.all(reading);
    await refresh(app, id);
  });

  test("and its tools belong to one account", async () => {
    using peer = openStatelessPeer({ tools: [ECHO] });
    const { id } = await addServer(app, peer.url, { name: "mine" });
    const { key } = await allow(app, "Other", { scopes: ["agents"] });
    const replies: Json[] = [
      await app.get(`/v1/mcp/servers/${id}`, { key }),
      await app.get(`/v1/mcp/servers/${id}/tools`, { key }),
      await app.post(`/v1/mcp/servers/${id}/refresh`, undefined, { key }),
      await app.ask("DELETE", `/v1/mcp/servers/${id}`, { key }),
    ];
    for (const reply of replies) await expectRefusal(reply, 404, "mcp_server_not_found");
    expect(await readJson(await app.get("/v1/mcp/servers", { key }))).toEqual({ data: [] });
    const accept = await app.post("/v1/tools/mine_echo/accept", { revision: 1 }, { key });
    await expectRefusal(accept, 404, "tool_not_found");
  });
});

describe("a tool of a server", () => {
  test("is described by its server alone", async () => {
    using peer = openStatelessPeer({ tools: [ECHO] });
    await addServer(app, peer.url, { name: "described" });
    const revision = {
      ...{ description: "Mine.", parameters: { type: "object" } },
      endpoint: "https://api.example.com/",
    };
    const reply = await app.post("/v1/tools/described_echo/revisions", revision);
    await expectRefusal(reply, 400, "invalid_request", "name");
    const shown = await readJson(await app.get("/v1/tools/described_echo"));
    // The schema names no draft any more, since it is one of 2020-12 here.
    expect(shown.parameters).toEqual({
      ...{ type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    });
  });

  test("is judged by its owner: a lower risk is a revision of its own, which keeps its pins", async () => {
    using peer = openStatelessPeer({ tools: [ECHO] });
    await addServer(app, peer.url, { name: "judged" });
    const before = await makeAgent(app, ["judged_echo"]);
    expect(await setRisk(app, "judged_echo", "read")).toMatchObject({ revision: 2, risk: "read" });
    const pins = (agent: Json) => agent.version.tool_revisions;
    expect(pins(before)).toEqual([
      { name: "judged_echo", revision: 1, kind: "mcp", risk: "irreversible" },
    ]);
    expect(pins(await makeAgent(app, ["judged_echo"]))).toMatchObject([{ revision: 2 }]);
    // Tools by HTTP state their risk in a revision.
    await register(app, { name: "posted" });
    for (const name of ["calculator", "posted"]) {
      const other = await app.ask("PATCH", `/v1/tools/${name}`, { body: { risk: "read" } });
      await expectRefusal(other, 404, "tool_not_found");
      const accepted = await app.post(`/v1/tools/${name}/accept`, { revision: 1 });
      await expectRefusal(accepted, 404, "tool_not_found");
    }
  });
});

test("an address that is refused binds no connection to its host", async () => {
  let bound = 0;
  const deps = {
    egress: { validate: () => ({ ok: false, reason: "It is not public." }) },
    store: { bind: async () => void bound++ },
  };
  const servers = new McpServers(deps as unknown as McpServersDeps);
  const body = { name: "far", url: "https://10.0.0.1/mcp", connection_id: NOWHERE };
  const creating = servers.create("a-1", body);
  expect(creating).rejects.toMatchObject({ code: "url_refused" });
  await creating.catch(() => {});
  expect(bound).toBe(0);
});

describe("the list of a server", () => {
  const ROW = { id: "s-1", account_id: "a-1", name: "far", url: "https://far.example.com/mcp" };

  /** Reads pages of so many tools, each of which takes ten seconds; the last page fails. */
  async function read(sizes: readonly number[], message = "It is away.") {
    const clock = createManualClock();
    const times: number[] = [];
    const ended: string[] = [];
    const refresh = async (_: unknown, { definitions, skipped }: ReadTools) => {
      return [definitions.length, skipped.length];
    };
    const deps = {
      client: {
        async request(_: McpTarget, { timeoutMs }: McpRequest) {
          const size = sizes[times.length];
          times.push(timeoutMs);
          await clock.advance(10_000);
          if (size === undefined) return { ok: false, message };
          const tools = Array.from({ length: size }, (_, n) => {
            return { name: `t${times.length}_${n}`, inputSchema: { type: "object" } };
          });
          const session = { revision: "2025-11-25", title: null };
          return { ok: true, answer: { result: { tools, nextCursor: "more" } }, session };
        },
        end: ({ session }: McpTarget) => void ended.push(session),
      },
      store: { refresh, noteProblem: async (_id: string, _a: string, problem: string) => problem },
      ...{ clock, checkSchema: async () => null, settings: () => ({ limits: {} }) },
      catalog: { find: () => undefined },
    };
    const servers = new McpServers(deps as unknown as McpServersDeps);
    const found = await servers.refresh({ ...ROW, connection_id: null } as McpServerRow);
    return { found: found as unknown, times, ended };
  }

  test("is read up to its 101st tool within half a minute, and its session ends with it", async () => {
    const ended = ["a-1 null https://far.example.com/mcp list"];
    const times = [30_000, 20_000];
    expect(await read([100, 1])).toEqual({ found: [100, 1], times, ended });
    expect(await read([101, 1])).toEqual({ found: [100, 1], times: [30_000], ended });
    expect(await read([1])).toEqual({ found: "It is away.", times, ended });
  });

  test("has a problem of 500 characters at most", async () => {
    const longest = "x".repeat(500);
    expect((await read([], longest)).found).toBe(longest);
    expect((await read([], `${longest}x`)).found).toBe(`${longest}…`);
  });
});
