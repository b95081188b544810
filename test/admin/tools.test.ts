// Tests the operator's commands for registered tools.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { toolStore } from "../../src/agents/tools/http/store/index.ts";
import { mcpServerStore } from "../../src/agents/tools/mcp/store.ts";
import { define, makeServer, read, take } from "../store/mcp-cases.ts";
import { makeRevision, within } from "../store/tool-cases.ts";
import { type AdminFixture, openFixture } from "./fixture.ts";

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture(["stub-1"], "[limits]\ntools = 2\n");
  for (const account of ["beta", "acme"]) await fixture.admin.accounts.create(account);
});
afterEach(() => fixture.close());

async function register(account: string, name: string, revisions = 1): Promise<void> {
  const { id: account_id } = (await fixture.access.accounts.find(account))!;
  const store = fixture.database.bind(toolStore);
  const revision = makeRevision(name, { account_id });
  await store.register(revision, "api.example.com", within(1_000));
  for (let n = 1; n < revisions; n++)
    await store.revise(revision, "api.example.com", within(9).stored_bytes);
}

test("tools are listed with their owners in their latest revision, of all accounts or of one", async () => {
  const { tools } = fixture.admin;
  expect(await tools.list(null)).toEqual([]);
  for (const name of ["zeta", "alpha"]) await register("acme", name, 2);
  await register("beta", "mine");
  const list = async (account: string | null) =>
    (await tools.list(account)).map(({ account: owner, name, revision }) => [
      owner,
      name,
      revision,
    ]);
  const acme = [
    ["acme", "alpha", 2],
    ["acme", "zeta", 2],
  ];
  expect(await list("acme")).toEqual(acme);
  expect((await list(null)).toSorted()).toEqual([...acme, ["beta", "mine", 1]]);
  await expect(tools.list("acne")).rejects.toThrow('did you mean "acme"?');
});

test("a long list is read to its end", async () => {
  const names = Array.from({ length: 230 }, (_, i) => `tool_${String(i).padStart(3, "0")}`);
  for (const name of names) await register("acme", name);
  expect((await fixture.admin.tools.list("acme")).map(({ name }) => name)).toEqual(names);
});

test("a tool is shown, disabled and enabled by its name and its owner", async () => {
  const { tools } = fixture.admin;
  await register("acme", "send", 3);
  const shown = await tools.show("send", "acme");
  expect(shown).toMatchObject({
    ...{ account: "acme", name: "send", kind: "http", revision: 3, status: "enabled" },
    ...{ price_sar: 0, latest: true },
  });
  expect(shown).not.toHaveProperty("account_id");
  for (const _ of [1, 2]) {
    expect(await tools.disable("send", "acme")).toEqual({ ...shown, status: "disabled" });
  }
  expect(await tools.show("send", "acme")).toMatchObject({ status: "disabled" });
  for (const _ of [1, 2]) expect(await tools.enable("send", "acme")).toEqual(shown);
});

test("a wrong or unknown tool name gets the nearest name", async () => {
  const { tools } = fixture.admin;
  await register("acme", "send_letter");
  for (const verb of [tools.show, tools.disable, tools.enable]) {
    await expect(verb("send_leter", "acme")).rejects.toThrow('did you mean "send_letter"?');
    const theirs = verb("send_letter", "beta");
    await expect(theirs).rejects.toThrow('there is no tool "send_letter": see `wadi tools list`');
    await expect(theirs).rejects.toBeInstanceOf(AdminError);
    await expect(verb("a\u0000b", "acme")).rejects.toBeInstanceOf(AdminError);
    await expect(verb("send_letter", "gamma")).rejects.toThrow("there is no account");
  }
});

test("agents.errors.tool_limit_reached tools cannot be enabled beyond the account's limit", async () => {
  const { tools } = fixture.admin;
  await register("acme", "one");
  await tools.disable("one", "acme");
  for (const name of ["two", "three"]) await register("acme", name);
  const enabled = tools.enable("one", "acme");
  await expect(enabled).rejects.toThrow("The account has 2 enabled tools");
  await expect(enabled).rejects.toBeInstanceOf(AdminError);
});

test("MCP servers are listed with their owners, and a change of a tool is shown and accepted", async () => {
  const { tools } = fixture.admin;
  const { id: account_id } = (await fixture.access.accounts.find("acme"))!;
  const servers = fixture.database.bind(mcpServerStore);
  const row = makeServer("far", { account_id });
  await servers.create(row, read(define("far_a")), take());
  expect(await tools.listServers(null)).toMatchObject([{ account: "acme", name: "far" }]);
  expect(await tools.listServers("beta")).toEqual([]);
  await servers.refresh(row, read(define("far_a", { description: "Other." })), take());
  const changes = [{ field: "description", before: "Does far_a.", after: "Other." }];
  expect(await tools.showChanges("far_a", "acme")).toMatchObject({
    ...{ account: "acme", revision: 2, accepted_revision: 1, changes },
  });
  await expect(tools.accept("far_a", "acme", 1)).rejects.toThrow("revision 2 is the latest");
  expect(await tools.accept("far_a", "acme", 2)).toMatchObject({ kind: "mcp", revision: 2 });
  expect((await tools.showChanges("far_a", "acme")).changes).toEqual([]);
  const [listed] = await tools.listServers("acme");
  expect(listed).toMatchObject({ connection: null, tools: 1, changed: 0 });
  await register("acme", "mine");
  await expect(tools.showChanges("mine", "acme")).rejects.toThrow(AdminError);
});

test("an MCP server is shown with its tools, and read again at once", async () => {
  const { tools } = fixture.admin;
  const { id: account_id } = (await fixture.access.accounts.find("acme"))!;
  const servers = fixture.database.bind(mcpServerStore);
  const id = "0198a6f2-5f0e-7a31-9c44-2b8d1f6e0a11";
  const refresh_at = fixture.clock.now() + 1_000;
  const row = makeServer("far", { account_id, id, refresh_at });
  await servers.create(row, read(define("far_a")), take());
  expect(await tools.showServer(id)).toMatchObject({
    ...{ account: "acme", name: "far", connection: null },
    tools: [{ account: "acme", name: "far_a", risk: "irreversible", changes: [] }],
  });
  await tools.refresh(id);
  expect(await servers.findNextDue()).toBe(fixture.clock.now());
  await expect(tools.refresh(account_id)).rejects.toThrow("there is no server");
  await expect(tools.showServer("far")).rejects.toThrow("that is no server's id");
});

test("the risk of an MCP server's tool is set as a new revision, and of no other tool", async () => {
  const { tools } = fixture.admin;
  const { id: account_id } = (await fixture.access.accounts.find("acme"))!;
  const servers = fixture.database.bind(mcpServerStore);
  await servers.create(makeServer("far", { account_id }), read(define("far_a")), take());
  expect(await tools.setRisk("far_a", "acme", "read")).toMatchObject({ risk: "read", revision: 2 });
  expect((await tools.showChanges("far_a", "acme")).changes).toEqual([]);
  await register("acme", "mine");
  await expect(tools.setRisk("mine", "acme", "read")).rejects.toThrow(AdminError);
});
