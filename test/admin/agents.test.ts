// Tests how the operator lists, holds and releases agents.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { AdminError, agentOperations, perform } from "../../src/admin/index.ts";
import { createPolicyPreview } from "../../src/agents/definitions/policy-preview.ts";
import { agentStore } from "../../src/agents/definitions/store.ts";
import { DEFAULT_BEHAVIOUR, DEFAULT_POLICY } from "../../src/agents/definitions/version.ts";
import { toolStore } from "../../src/agents/tools/http/store/index.ts";
import { readSettings } from "../../src/settings/index.ts";
import { AMPLE, makeVersion, makeVersionPlan } from "../store/agent-cases.ts";
import { makeRevision, within } from "../store/tool-cases.ts";
import { type AdminFixture, keyRequest, openFixture } from "./fixture.ts";

let fixture: AdminFixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const ONE = "01920000-0000-7000-8000-00000000000a";
const TWO = "01920000-0000-7000-8000-00000000000b";

async function createAgent(id: string, account: string): Promise<void> {
  const { id: account_id } = await fixture.admin.accounts.create(account);
  const now = fixture.clock.now();
  await fixture.database.bind(agentStore).create(
    {
      ...{ id, account_id, name: `Of ${account}`, slug: "helper", description: null },
      ...{ status: "active", current_version: 1, metadata: {}, expose: false },
      ...{ created_at: now, updated_at: now, archived_at: null },
    },
    {
      ...DEFAULT_BEHAVIOUR,
      ...{ agent_id: id, version: 1, tool_revisions: [], created_at: now },
      created_by_key_id: null,
    },
    false,
    AMPLE,
  );
}

test("an agent is made for a key, as that key could, and the log names the operator", async () => {
  await fixture.close();
  const tools = 'default_model = "able"\n[[models]]\nid = "able"\nself_hosted = true\n';
  const able = `[service]\n${tools}capabilities = ["tools"]\nupstream = { kind = "stub" }\n`;
  fixture = await openFixture([], able);
  const { admin } = fixture;
  const actor = { kind: "operator", name: "noura", via: "console" } as const;
  await admin.accounts.create("acme");
  const makeKey = async (scopes: string[], name: string) =>
    (await admin.keys.create(keyRequest({ scopes, name }))).key.id;
  const [key, other] = [await makeKey(["agents"], "one"), await makeKey([], "two")];
  const create = (fields: object) => {
    const asked = { key, name: "Noter", system_prompt: "Keep notes.", ...fields };
    return perform(admin, agentOperations.create, asked, actor);
  };
  const made = await create({ tools: ["memory_set"] });
  expect(made).toMatchObject({ name: "Noter", slug: "noter", account: "acme", status: "active" });
  const shown = await admin.agents.show(String(made.id), null);
  expect(shown).toMatchObject({ created_by_key_name: "one", tools: [{ name: "memory_set" }] });
  const output_schema = { type: "object", properties: { n: { type: "integer" } } };
  const other_fields = { name: "Teller", tools: ["memory_set"], expose: true, output_schema };
  const teller = await create(other_fields);
  const opened = await admin.agents.show(String(teller.id), null);
  expect(opened).toMatchObject({ agent: { expose: true }, version: { output_schema } });
  const [entry] = await admin.audit.list({ limit: 1 });
  expect(entry).toMatchObject({ actor: "noura", operation: "agents create", target: teller.id });
  await expect(create({ key: other })).rejects.toThrow("give one with the scope agents");
  await expect(create({ tools: ["memory"] })).rejects.toThrow('There is no tool "memory"');
  const twice = { tools: ["memory_set", "memory_set"] };
  await expect(create(twice)).rejects.toThrow("must name each tool once");
});

test("agents are listed with their owners, newest first, of all accounts or of one", async () => {
  const { agents } = fixture.admin;
  expect(await agents.list(null)).toEqual([]);
  await createAgent(ONE, "acme");
  await createAgent(TWO, "beta");
  const all = await agents.list(null);
  const none = { held: null, held_since: null, hold_reason: null };
  expect(all).toMatchObject([
    { id: TWO, account: "beta", name: "Of beta", slug: "helper", status: "active", ...none },
    { id: ONE, account: "acme", current_version: 1, ...none },
  ]);
  expect((await agents.list("acme")).map(({ id }) => id)).toEqual([ONE]);
  await expect(agents.list("acne")).rejects.toThrow('did you mean "acme"?');
});

test("an agent is shown with a version, its tools by risk, and what its policy does with them", async () => {
  const { agents } = fixture.admin;
  await createAgent(ONE, "acme");
  const pin = { revision: 1, kind: "builtin", risk: "read" } as const;
  const plan = makeVersionPlan({
    ...{ agent_id: ONE, account_id: (await agents.list("acme"))[0]!.account_id },
    change: {
      tools: ["calculator", "memory_set", "web_search"],
      policy: { unattended_writes: true, require_approval: ["web_search"] },
    },
    tool_revisions: [
      { ...pin, name: "calculator" },
      { ...pin, name: "memory_set", risk: "write" },
      { ...pin, name: "web_search" },
    ],
  });
  await fixture.database.bind(agentStore).addVersion(plan);
  const [listed] = await agents.list("acme");
  const tools = { read: 2, write: 1, irreversible: 0 };
  expect(listed).toMatchObject({ model: "svc", tools, recent_runs: [], current_version: 2 });
  const shown = await agents.show(ONE, null);
  expect(shown).toMatchObject({ agent: { id: ONE, account: "acme" }, version: { version: 2 } });
  expect(shown.tools.map(({ name, decision, why }) => [name, decision, why])).toEqual([
    ["calculator", "runs", []],
    ["memory_set", "asks_after_external_content", ["external_content"]],
    ["web_search", "asks", ["listed"]],
  ]);
  expect((await agents.show(ONE, 1)).tools).toEqual([]);
  await expect(agents.show(ONE, 7)).rejects.toThrow("the agent has no version 7");
  expect(await agents.listVersions(ONE, 9)).toMatchObject([
    { version: 2, created_by_key_id: "k-2", created_by_key_name: null, model: "svc" },
    { version: 1, created_by_key_id: null },
  ]);
});

test.each([
  ["", true],
  ["[agents]\nhttp_tools = false\n", false],
])(
  "tools of a version are shown as its runs find them, with %j in the settings",
  async (more, isOn) => {
    const { database } = fixture;
    const { id: account_id } = await fixture.admin.accounts.create("acme");
    const tools = database.bind(toolStore);
    const names = ["send", "quiet"];
    for (const name of names) {
      const first = makeRevision(name, { account_id, title: "First" });
      await tools.register(first, "api.example.com", within(9));
      const second = { ...first, title: "Second", risk: "read" } as const;
      await tools.revise(second, "api.example.com", within(9).stored_bytes);
    }
    await tools.disable(account_id, "quiet");
    const pin = { revision: 1, kind: "http", risk: "write" } as const;
    const preview = createPolicyPreview(database, readSettings(more, "wadi.toml", {}, {}));
    const shown = await preview(account_id, {
      ...makeVersion(ONE, { policy: { ...DEFAULT_POLICY, unattended_writes: true } }),
      tool_revisions: [
        ...names.map((name) => ({ ...pin, name })),
        // A release of the program may change the risk of what it has built in.
        { name: "memory_set", revision: 1, kind: "builtin", risk: "read" },
      ],
    });
    const asks = { decision: "asks_after_external_content", why: ["external_content"] };
    expect(shown).toMatchObject([
      { name: "send", title: "First", risk: "write", is_off: !isOn, ...asks },
      { name: "quiet", title: "First", risk: "write", is_off: true, ...asks },
      { name: "memory_set", risk: "write", is_off: false, ...asks },
    ]);
  },
);

test("an agent's own hold takes precedence over its account's, and a release returns the hold", async () => {
  const { accounts, agents } = fixture.admin;
  await createAgent(ONE, "acme");
  await createAgent(TWO, "beta");
  const since = fixture.clock.now();
  await accounts.hold("acme", "unpaid");
  const look = async () => (await agents.list("acme"))[0];
  expect(await look()).toMatchObject({ held: "account", hold_reason: "unpaid", held_since: since });
  const hold = await agents.hold(ONE.toUpperCase(), "it loops");
  expect(hold).toMatchObject({ kind: "agent", id: ONE, reason: "it loops", since });
  expect(await look()).toMatchObject({ held: "agent", hold_reason: "it loops" });
  expect((await agents.list("beta"))[0]).toMatchObject({ held: null });
  expect(await agents.release(ONE)).toEqual({ id: ONE, wasHeld: true });
  expect(await agents.release(ONE)).toEqual({ id: ONE, wasHeld: false });
  expect(await look()).toMatchObject({ held: "account" });
});

test("a malformed agent id is not quoted, an unknown one is", async () => {
  const { agents } = fixture.admin;
  for (const verb of [agents.release, (id: string) => agents.hold(id, null)]) {
    const secret = verb("svc_sk_secret");
    await expect(secret).rejects.toThrow("that is no agent's id: `wadi agents list` shows them");
    await expect(secret).rejects.toBeInstanceOf(AdminError);
    await expect(verb(TWO)).rejects.toThrow(`there is no agent "${TWO}": see \`wadi agents list\``);
  }
});

test("two versions differ field by field, and not in when and by whom they were made", async () => {
  await createAgent(ONE, "acme");
  const { agents } = fixture.admin;
  const { id: account_id } = (await fixture.access.accounts.find("acme"))!;
  const change = { system_prompt: "Be loud.", policy: { unattended_writes: true } };
  const plan = makeVersionPlan({
    ...{ agent_id: ONE, account_id, change, tool_revisions: [] },
    now: fixture.clock.now() + 1,
  });
  await fixture.database.bind(agentStore).addVersion(plan);
  expect(await agents.diff(ONE, 1, 2)).toEqual({
    ...{ agent: ONE, from: 1, to: 2 },
    changes: [
      { field: "system_prompt", before: "", after: "Be loud." },
      { field: "policy.unattended_writes", before: false, after: true },
    ],
  });
  expect((await agents.diff(ONE, 2, 2)).changes).toEqual([]);
  await expect(agents.diff(ONE, 1, 3)).rejects.toThrow("no version 3, but up to 2");
});
