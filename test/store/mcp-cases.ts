// Cases of the store of MCP servers, and of the tools that come from them.
import { expect } from "bun:test";
import type { McpDefinition } from "../../src/agents/tools/mcp/definition.ts";
import type { McpServerRow } from "../../src/agents/tools/mcp/server.ts";
import type { ServerReading } from "../../src/agents/tools/mcp/store.ts";
import type { Case, Stores } from "./cases.ts";
import { create as createConnection } from "./connection-cases.ts";
import { codeOf } from "./run-acts.ts";
import { makeRevision, within } from "./tool-cases.ts";

const NOW = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;
const HOST = "api.example.com";

export const makeServer = (name: string, fields: Partial<McpServerRow> = {}): McpServerRow => ({
  ...{ id: `m-${name}`, account_id: "a-1", name, url: `https://${HOST}/${name}` },
  ...{ connection_id: null, timeout_ms: 30_000, protocol_version: null, title: null },
  ...{ skipped: [], problem: null, refreshed_at: null, created_at: NOW, refresh_at: NOW + HOUR },
  ...fields,
});

export const define = (name: string, fields: Partial<McpDefinition> = {}): McpDefinition => ({
  ...{ name, title: null, description: `Does ${name}.`, parameters: { type: "object" } },
  ...{
    tool: name.toUpperCase(),
    annotations: { readOnlyHint: true },
    output_schema: null,
    is_task: false,
  },
  ...fields,
});
export const read = (...definitions: McpDefinition[]): ServerReading => ({
  ...{ definitions, skipped: [], protocol_version: "2026-07-28", title: "Far" },
});
export const take = (fields: object = {}) => ({
  ...{ now: NOW, limits: within(100), isAccepted: false, reserved: [] as string[] },
  ...fields,
});
const create = (
  { mcpServers }: Stores,
  name: string,
  reading: ServerReading,
  fields: Partial<McpServerRow> = {},
) => mcpServers.create(makeServer(name, fields), reading, take({ isAccepted: true }));
const refresh = ({ mcpServers }: Stores, name: string, reading: ServerReading, fields = {}) =>
  mcpServers.refresh({ id: `m-${name}`, account_id: "a-1" }, reading, take(fields));
const standingOf = async ({ tools }: Stores, name: string) =>
  (await tools.listStandings("a-1", [name]))[0];

const serverCases: Case[] = [
  {
    method: "mcp_servers.create",
    title: "stores a server with its tools, irreversible and accepted",
    act: (stores) => create(stores, "far", read(define("far_a"), define("far_b"))),
    async check(answer, { mcpServers, tools }) {
      const row = makeServer("far", {
        ...{ protocol_version: "2026-07-28", title: "Far", refreshed_at: NOW },
      });
      expect(answer).toEqual(row);
      expect(await mcpServers.find("m-far", "a-1")).toEqual(row);
      expect(await mcpServers.find("m-far", "a-2")).toBeUndefined();
      expect(await tools.find("a-1", "far_a")).toMatchObject({
        ...{ revision: 1, risk: "irreversible", endpoint: row.url, idempotent: false },
        mcp: {
          ...{ server_id: "m-far", tool: "FAR_A", annotations: { readOnlyHint: true } },
          output_schema: null,
        },
      });
    },
  },
  {
    method: "mcp_servers.create",
    title: "refuses a name of the account that is taken, and an account that has 50",
    async setup(stores) {
      for (let n = 0; n < 49; n++) await create(stores, `s${n}`, read());
    },
    act: async (stores) => [
      await codeOf(create(stores, "s7", read(), { id: "m-other" })),
      await codeOf(create(stores, "s7", read(), { id: "m-theirs", account_id: "a-2" })),
      await codeOf(create(stores, "fiftieth", read())),
      await codeOf(create(stores, "one_more", read())),
    ],
    check: (answer) =>
      expect(answer).toEqual([
        ...["mcp_server_exists", "accepted", "accepted", "mcp_server_limit_reached"],
      ]),
  },
  {
    method: "mcp_servers.create",
    title: "names the tools that it cannot take, and takes the others",
    async setup(stores) {
      await stores.tools.register(makeRevision("far_b"), HOST, within(100));
      await create(stores, "far_c", read(define("far_c_d")));
    },
    act: ({ mcpServers }) =>
      mcpServers.create(
        makeServer("far"),
        read(define("far_a"), define("far_b"), define("far_c_d"), define("far_e")),
        take({ limits: within(3) }),
      ),
    async check(answer, { tools }) {
      expect((answer as McpServerRow).skipped).toEqual([
        { tool: "FAR_B", problem: "The account has registered a tool of this name." },
        { tool: "FAR_C_D", problem: "Another MCP server has a tool of this name." },
        { tool: "FAR_E", problem: "The account has 3 enabled tools." },
      ]);
      expect(await tools.find("a-1", "far_a")).toMatchObject({ status: "enabled" });
      expect(await tools.find("a-1", "far_e")).toBeUndefined();
    },
  },
  {
    method: "mcp_servers.create",
    title: "takes no name of a built-in tool",
    act: ({ mcpServers }) =>
      mcpServers.create(
        makeServer("far"),
        read(define("far_a"), define("far_b")),
        take({ reserved: ["far_b"] }),
      ),
    async check(answer, { tools }) {
      const problem = "The platform has a tool of this name.";
      expect((answer as McpServerRow).skipped).toEqual([{ tool: "FAR_B", problem }]);
      expect(await tools.find("a-1", "far_a")).toBeDefined();
      expect(await tools.find("a-1", "far_b")).toBeUndefined();
    },
  },
  {
    method: "mcp_servers.refresh",
    title: "leaves a tool its name that a built-in one has had since",
    setup: (stores) => create(stores, "far", read(define("far_a"))),
    act: (stores) => refresh(stores, "far", read(define("far_a")), { reserved: ["far_a"] }),
    async check(answer, { tools }) {
      expect((answer as McpServerRow).skipped).toEqual([]);
      expect(await tools.find("a-1", "far_a")).toMatchObject({ status: "enabled" });
    },
  },
  {
    method: "mcp_servers.create",
    title: "takes over the tools of a deleted server, which are irreversible again",
    async setup(stores) {
      await create(stores, "far", read(define("far_a")));
      const change = { account_id: "a-1", name: "far_a", risk: "read" as const, now: NOW };
      await stores.tools.setRisk(change, 1e9);
      await stores.mcpServers.remove("m-far", "a-1", NOW);
    },
    act: (stores) => create(stores, "far", read(define("far_a")), { id: "m-new" }),
    async check(_, stores) {
      expect(await standingOf(stores, "far_a")).toEqual({
        ...{ name: "far_a", revision: 3, risk: "irreversible", status: "enabled" },
        ...{ server_id: "m-new", is_changed: false },
      });
    },
  },
  {
    method: "mcp_servers.bind",
    title: "binds a connection without hosts to the server's, and finds no unknown one",
    async setup(stores) {
      await stores.secrets.claim("k-1");
      await createConnection(stores, "c-1");
    },
    act: ({ mcpServers }) => mcpServers.bind("c-1", "a-1", HOST),
    async check(_, { connections, mcpServers }) {
      expect((await connections.find("c-1", "a-1"))?.allowed_hosts).toEqual([HOST]);
      expect([
        await codeOf(mcpServers.bind("c-1", "a-1", "other.example.com")),
        await codeOf(mcpServers.bind("c-1", "a-2", HOST)),
        await codeOf(mcpServers.bind("c-none", "a-1", HOST)),
      ]).toEqual(["invalid_request", "connection_not_found", "connection_not_found"]);
    },
  },
  {
    method: "mcp_servers.remove",
    title: "deletes a server of the account, whose tools are off",
    async setup(stores) {
      await create(stores, "far", read(define("far_a")));
    },
    act: ({ mcpServers }) => mcpServers.remove("m-far", "a-1", NOW),
    async check(answer, stores) {
      expect(answer).toBe(true);
      expect(await stores.mcpServers.remove("m-far", "a-1", NOW)).toBe(false);
      await create(stores, "kept", read());
      expect(await stores.mcpServers.remove("m-kept", "a-2", NOW)).toBe(false);
      await stores.mcpServers.remove("m-kept", "a-1", NOW);
      expect(await stores.mcpServers.list("a-1")).toEqual([]);
      expect(await standingOf(stores, "far_a")).toMatchObject({ status: "disabled" });
    },
  },
];

const refreshCases: Case[] = [
  {
    method: "mcp_servers.refresh",
    title: "takes no tool whose account has used its names, nor a change after the thousandth",
    async setup(stores) {
      const names = Array.from({ length: 9 }, (_, n) => `used_${n}`);
      for (const name of names) {
        await stores.tools.register(makeRevision(name), HOST, within(100));
        await stores.tools.disable("a-1", name);
      }
      await create(stores, "far", read());
    },
    act: async (stores) => {
      const listed = [define("far_a"), define("far_b")];
      const limits = within(1);
      await refresh(stores, "far", read(...listed.slice(0, 1)), { limits });
      await stores.tools.disable("a-1", "far_a");
      const full = await refresh(stores, "far", read(...listed), { limits });
      await stores.numbered.number("a-1", "far_a", 999);
      await stores.tools.accept("a-1", "far_a", 999);
      const changed = (title: string) => refresh(stores, "far", read(define("far_a", { title })));
      return [full, await changed("one"), await changed("two")];
    },
    check: (answer) =>
      expect((answer as McpServerRow[]).map(({ skipped }) => skipped)).toEqual([
        [{ tool: "FAR_B", problem: "The account has used 10 names." }],
        [],
        [{ tool: "FAR_A", problem: "It has changed too often." }],
      ]),
  },
  {
    method: "mcp_servers.refresh",
    title: "adds a revision for each tool that changed, which waits to be accepted",
    async setup(stores) {
      await create(stores, "far", read(define("far_a"), define("far_b")));
    },
    act: (stores) =>
      refresh(stores, "far", read(define("far_a"), define("far_b", { description: "New." }))),
    async check(_, stores) {
      expect(await standingOf(stores, "far_a")).toMatchObject({ revision: 1, is_changed: false });
      expect(await standingOf(stores, "far_b")).toMatchObject({ revision: 2, is_changed: true });
    },
  },
  {
    method: "mcp_servers.refresh",
    title: "replaces a revision that waits, and gives its bytes back",
    async setup(stores) {
      await create(stores, "far", read(define("far_a")));
      await refresh(stores, "far", read(define("far_a", { description: "x".repeat(4_000) })));
    },
    act: (stores) => refresh(stores, "far", read(define("far_a", { description: "Short." }))),
    async check(_, { tools, storage }) {
      const rows = await tools.listRevisions("a-1", "far_a", { limit: 9, before: null });
      expect(rows.map(({ revision }) => revision)).toEqual([3, 1]);
      expect(await storage.find("a-1")).toBeLessThan(2_000);
    },
  },
  {
    method: "mcp_servers.refresh",
    title: "switches off what is listed no more, until it is listed again",
    async setup(stores) {
      await create(stores, "far", read(define("far_a"), define("far_b")));
    },
    act: async (stores) => {
      await refresh(stores, "far", read(define("far_b")));
      const gone = await standingOf(stores, "far_a");
      await refresh(stores, "far", read(define("far_a"), define("far_b")));
      return [gone?.status, (await standingOf(stores, "far_a"))?.status];
    },
    check: (answer) => expect(answer).toEqual(["disabled", "enabled"]),
  },
  {
    method: "mcp_servers.refresh",
    title: "switches off a changed tool for which the account has no room",
    async setup(stores) {
      await create(stores, "far", read(define("far_a")));
    },
    act: (stores) =>
      refresh(stores, "far", read(define("far_a", { description: "New." })), {
        limits: { tools: 100, stored_bytes: 10 },
      }),
    async check(answer, stores) {
      expect((answer as McpServerRow).skipped).toMatchObject([{ tool: "FAR_A" }]);
      expect(await standingOf(stores, "far_a")).toMatchObject({ status: "disabled", revision: 1 });
    },
  },
  {
    method: "mcp_servers.refresh",
    title: "finds no server that was deleted meanwhile",
    act: (stores) => refresh(stores, "far", read(define("far_a"))),
    async check(answer, { tools }) {
      expect(answer).toBeUndefined();
      expect(await tools.find("a-1", "far_a")).toBeUndefined();
    },
  },
  {
    method: "mcp_servers.noteProblem",
    title: "notes why a server could not be read, until it could",
    async setup(stores) {
      await create(stores, "far", read(define("far_a")));
    },
    act: ({ mcpServers }) => mcpServers.noteProblem("m-far", "a-1", "It is down."),
    async check(answer, stores) {
      expect(answer).toMatchObject({ name: "far", problem: "It is down." });
      const again = await refresh(stores, "far", read(define("far_a")));
      expect(again?.problem).toBeNull();
      expect(await stores.mcpServers.noteProblem("m-no", "a-1", "x")).toBeUndefined();
    },
  },
  {
    method: "mcp_servers.claimDue",
    title: "claims servers that are due, each once",
    async setup(stores) {
      for (const [n, name] of ["one", "two", "three"].entries()) {
        await create(stores, name, read(), { refresh_at: NOW + n });
      }
    },
    act: ({ mcpServers }) => mcpServers.claimDue(NOW + 1, NOW + HOUR, 1),
    async check(answer, { mcpServers }) {
      const again = () => mcpServers.claimDue(NOW + 1, NOW + HOUR, 9);
      const claimed = [answer as McpServerRow[], await again(), await again()];
      const names = claimed.map((rows) => rows.map(({ name }) => name));
      expect(names).toEqual([["one"], ["two"], []]);
    },
  },
  {
    method: "mcp_servers.claimDue",
    title: "claims none in a restored copy that is paused",
    async setup(stores) {
      await create(stores, "far", read(), { refresh_at: NOW });
      await stores.installation.adopt("copy", "original", NOW);
    },
    act: async ({ mcpServers }) => [
      await mcpServers.claimDue(NOW, NOW + HOUR, 9),
      await mcpServers.findNextDue(),
    ],
    async check(answer, { installation, mcpServers }) {
      expect(answer).toEqual([[], undefined]);
      await installation.resume();
      expect(await mcpServers.findNextDue()).toBe(NOW);
    },
  },
  {
    method: "mcp_servers.suspect",
    title: "makes a server due, at most a minute after it was read",
    async setup(stores) {
      await create(stores, "far", read());
    },
    act: ({ mcpServers }) => mcpServers.suspect("m-far", NOW + 1_000),
    async check(_, { mcpServers }) {
      expect(await mcpServers.findNextDue()).toBe(NOW + 60_000);
      await mcpServers.suspect("m-far", NOW + 90_000);
      expect(await mcpServers.findNextDue()).toBe(NOW + 60_000);
    },
  },
  {
    method: "mcp_servers.makeDue",
    title: "makes a server due at once, once",
    async setup(stores) {
      await create(stores, "far", read());
    },
    act: ({ mcpServers }) => mcpServers.makeDue("m-far", NOW + 1_000),
    async check(_, { mcpServers }) {
      expect(await mcpServers.findNextDue()).toBe(NOW + 1_000);
      await mcpServers.makeDue("m-far", NOW + 2_000);
      expect(await mcpServers.findNextDue()).toBe(NOW + 1_000);
    },
  },
];

const readCases: Case[] = [
  {
    method: "mcp_servers.find",
    title: "finds a server of the account only",
    setup: (stores) => create(stores, "far", read()),
    act: ({ mcpServers }) => mcpServers.find("m-far", "a-2"),
    check: (answer) => expect(answer).toBeUndefined(),
  },
  {
    method: "mcp_servers.list",
    title: "lists the servers of an account by name",
    async setup(stores) {
      for (const name of ["b", "a"]) await create(stores, name, read());
      await create(stores, "c", read(), { account_id: "a-2" });
    },
    act: ({ mcpServers }) => mcpServers.list("a-1"),
    check: (answer) =>
      expect((answer as McpServerRow[]).map(({ name }) => name)).toEqual(["a", "b"]),
  },
  {
    method: "mcp_servers.findOverview",
    title: "finds a server of any account, with the name of its connection",
    async setup(stores) {
      await stores.secrets.claim("k-1");
      await createConnection(stores, "c-1", { account_id: "a-2", name: "post" });
      await create(stores, "far", read(), { account_id: "a-2", connection_id: "c-1" });
    },
    act: ({ mcpServers }) => mcpServers.findOverview("m-far"),
    async check(answer, { mcpServers }) {
      expect(answer).toMatchObject({ id: "m-far", account_id: "a-2", connection: "post" });
      expect(await mcpServers.findOverview("m-none")).toBeUndefined();
    },
  },
  {
    method: "mcp_servers.listOverviews",
    title: "counts the tools that servers have, and those that wait to be accepted",
    async setup(stores) {
      await create(stores, "b", read(define("b_1"), define("b_2"), define("b_3")));
      await create(stores, "a", read(), { account_id: "a-2" });
      await refresh(stores, "b", read(define("b_1", { title: "One" }), define("b_2")));
    },
    act: ({ mcpServers }) => mcpServers.listOverviews(null),
    async check(answer, { mcpServers }) {
      const [a, b] = [
        { name: "a", connection: null, tools: 0, changed: 0 },
        { name: "b", connection: null, tools: 2, changed: 1 },
      ];
      expect(answer).toMatchObject([a!, b!]);
      expect(await mcpServers.listOverviews("a-1")).toMatchObject([b!]);
    },
  },
  {
    method: "mcp_servers.listTools",
    title: "lists a server's tools, with the accepted revision of changed ones",
    async setup(stores) {
      await create(stores, "far", read(define("far_b"), define("far_a")));
      await refresh(stores, "far", read(define("far_a"), define("far_b", { title: "B" })));
    },
    act: ({ mcpServers }) => mcpServers.listTools("m-far", "a-1"),
    check: (answer) =>
      expect(answer).toMatchObject({
        latest: [
          { name: "far_a", revision: 1, accepted: 1 },
          { name: "far_b", revision: 2, accepted: 1, title: "B" },
        ],
        accepted: [{ name: "far_b", revision: 1, title: null }],
      }),
  },
  {
    method: "mcp_servers.findNextDue",
    title: "finds when the next server is due, if there is any",
    act: async (stores) => {
      const none = await stores.mcpServers.findNextDue();
      for (const [name, refresh_at] of [
        ["one", 9],
        ["two", 5],
      ] as const) {
        await create(stores, name, read(), { refresh_at });
      }
      return [none, await stores.mcpServers.findNextDue()];
    },
    check: (answer) => expect(answer).toEqual([undefined, 5]),
  },
];

const lower = ({ tools }: Stores, name: string) =>
  tools.setRisk({ account_id: "a-1", name, risk: "read", now: NOW + 1 }, 1e9);

const judgementCases: Case[] = [
  {
    method: "tools.accept",
    title: "accepts the latest revision only, and of tools of MCP servers only",
    async setup(stores) {
      await create(stores, "far", read(define("far_a")));
      await refresh(stores, "far", read(define("far_a", { title: "A" })));
      await stores.tools.register(makeRevision("mine"), HOST, within(100));
    },
    act: ({ tools }) => tools.accept("a-1", "far_a", 2),
    async check(answer, stores) {
      const { tools } = stores;
      expect(answer).toMatchObject({ revision: 2, title: "A" });
      expect(await standingOf(stores, "far_a")).toMatchObject({ is_changed: false });
      expect([
        await codeOf(tools.accept("a-1", "far_a", 1)),
        await tools.accept("a-2", "far_a", 2),
        (await tools.accept("a-1", "mine", 1))?.mcp,
      ]).toEqual(["tool_changed", undefined, null]);
    },
  },
  {
    method: "tools.setRisk",
    title: "adds an accepted revision of another risk, but none while a change waits",
    async setup(stores) {
      await create(stores, "far", read(define("far_a"), define("far_b")));
      await refresh(stores, "far", read(define("far_a"), define("far_b", { title: "B" })));
    },
    act: (stores) => lower(stores, "far_a"),
    async check(answer, stores) {
      expect(answer).toMatchObject({ revision: 2, risk: "read", created_at: NOW + 1 });
      expect([
        (await lower(stores, "far_a"))?.revision,
        await codeOf(lower(stores, "far_b")),
        await lower(stores, "none"),
      ]).toEqual([2, "tool_changed", undefined]);
      expect(await standingOf(stores, "far_a")).toMatchObject({ risk: "read", is_changed: false });
    },
  },
  {
    method: "tools.setRisk",
    title: "refuses a revision after the thousandth",
    async setup(stores) {
      await create(stores, "far", read(define("far_a")));
      await stores.numbered.number("a-1", "far_a", 999);
      await stores.tools.accept("a-1", "far_a", 999);
    },
    act: (stores) => lower(stores, "far_a"),
    async check(answer, { tools }) {
      expect(answer).toMatchObject({ revision: 1_000 });
      const raise = { account_id: "a-1", name: "far_a", risk: "write" as const, now: NOW };
      expect(await codeOf(tools.setRisk(raise, 1e9))).toBe("tool_limit_reached");
    },
  },
];

export const mcpCases: readonly Case[] = [
  ...serverCases,
  ...refreshCases,
  ...readCases,
  ...judgementCases,
];
