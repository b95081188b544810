// Versions: what they inherit, what they replace, and pages of them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { agentStore } from "../../../src/agents/definitions/store.ts";
import { AMPLE } from "../../store/agent-cases.ts";
import { KEY, type TestApp } from "../../support/app.ts";
import { createKey } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { createAgent, type Json, readJson, startService } from "./service.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

const post = (id: string, body: object, key = KEY) =>
  app.post(`/v1/agents/${id}/versions`, body, { key });
const add = async (id: string, body: object = {}): Promise<Json> =>
  readJson(await post(id, body), 201);
const read = async (id: string): Promise<Json> => readJson(await app.get(`/v1/agents/${id}`));
const list = async (id: string, query = ""): Promise<Json> =>
  readJson(await app.get(`/v1/agents/${id}/versions${query}`));

describe("POST /v1/agents/{id}/versions", () => {
  test("agents.endpoints.agents.post_agents_id_versions the new version is current, the old ones stay", async () => {
    const agent = await createAgent(app, { tools: ["calculator"] });
    await app.clock.advance(1_000);
    const second = await add(agent.id, { system_prompt: "Be long." });
    const created_at = new Date(app.clock.now()).toISOString();
    const changes = { version: 2, system_prompt: "Be long.", created_at };
    expect(second).toEqual({ ...agent.version, ...changes });
    const { version: _, ...own } = agent;
    expect(await read(agent.id)).toEqual({
      ...{ ...own, current_version: 2, updated_at: created_at },
      version: second,
    });
    expect((await list(agent.id)).data).toEqual([second, agent.version]);
  });

  test("agents.does.version every omitted field is inherited, in objects field by field", async () => {
    const { id, version } = await createAgent(app, {
      ...{ model: "second", tools: ["web_search"] },
      policy: { unattended_writes: true, require_approval: ["web_search"] },
      budgets: { max_cost_sar: "1.5", max_rounds: 7 },
      model_params: { temperature: 0.5 },
    });
    const behaviour = ({ version: _, created_at: __, ...rest }: Json) => rest;
    expect(behaviour(await add(id))).toEqual(behaviour(version));
    const third = await add(id, {
      policy: { approval_ttl_seconds: 60 },
      budgets: { max_tool_calls: 3 },
      model_params: { top_p: 0 },
    });
    expect(behaviour(third)).toEqual({
      ...behaviour(version),
      policy: { ...version.policy, approval_ttl_seconds: 60 },
      budgets: { ...version.budgets, max_tool_calls: 3 },
      model_params: { ...version.model_params, top_p: 0 },
    });
    const fourth = await add(id, { policy: { unattended_writes: null }, budgets: null });
    expect(fourth.policy).toEqual({ ...third.policy, unattended_writes: false });
    expect(fourth.budgets).toMatchObject({ max_cost_sar: null, max_rounds: 25 });
    expect(fourth.model_params).toEqual(third.model_params);
    const fifth = await add(id, { model: null, tools: null, policy: null, model_params: null });
    expect(fifth).toMatchObject({ model: "svc", tools: [], tool_revisions: [] });
    expect(fifth.policy.require_approval).toEqual([]);
    expect(fifth.model_params.temperature).toBeNull();
    expect(fifth.system_prompt).toBe(version.system_prompt);
  });

  test("name, slug, description and metadata belong to the agent", async () => {
    const { id } = await createAgent(app, { metadata: { a: "b" }, description: "old" });
    const fields = { name: "New name", slug: "new-slug-of-it", description: null, metadata: {} };
    const made = await add(id, fields);
    expect(Object.keys(made)).not.toContain("name");
    expect(await read(id)).toMatchObject({ ...fields, current_version: 2, version: made });
  });

  test("expected_version refuses to overwrite a version that the caller has not seen", async () => {
    const agent = await createAgent(app);
    await add(agent.id, { expected_version: 1, system_prompt: "2" });
    const late = await post(agent.id, { expected_version: 1, name: "Late" });
    await expectRefusal(late, 409, "version_conflict", "expected_version");
    expect(await read(agent.id)).toMatchObject({ current_version: 2, name: "Helper" });
    await add(agent.id, { expected_version: 2 });
  });

  test("concurrent versions lose nothing: each inherits from the previous one", async () => {
    const { id } = await createAgent(app);
    const bodies = [
      ...[{ policy: { unattended_writes: true } }, { policy: { approval_ttl_seconds: 77 } }],
      ...[{ budgets: { max_rounds: 3 } }, { budgets: { max_tool_calls: 4 } }],
      ...[{ tools: ["calculator"] }, { model: "second" }, { system_prompt: "New" }],
      ...[{ model_params: { top_p: 0.5 } }, { model_params: { temperature: 1 } }, {}],
    ];
    const made = await Promise.all(bodies.map((body) => add(id, body)));
    const numbers = made.map(({ version }) => version).toSorted((a, b) => a - b);
    expect(numbers).toEqual(bodies.map((_, i) => i + 2));
    const { version } = await read(id);
    expect(version).toMatchObject({
      ...{ version: 11, tools: ["calculator"], model: "second", system_prompt: "New" },
      tool_revisions: [{ name: "calculator" }],
      policy: { unattended_writes: true, approval_ttl_seconds: 77 },
      budgets: { max_rounds: 3, max_tool_calls: 4 },
      model_params: { top_p: 0.5, temperature: 1 },
    });
  });

  test("agents.errors.p11 the key must be able to call the model, even an inherited one", async () => {
    const { id } = await createAgent(app);
    const key = await createKey(app, { scopes: ["agents"], models: ["second"] });
    const refused = [403, "model_not_permitted", "model"] as const;
    await expectRefusal(await post(id, { system_prompt: "x" }, key), ...refused);
    await expectRefusal(await post(id, { model: "own" }, key), ...refused);
    const unknown = [404, "model_not_found", "model"] as const;
    await expectRefusal(await post(id, { model: "nobody" }), ...unknown);
    await expectRefusal(await post(id, { model: "secret" }), ...unknown);
    expect((await read(id)).current_version).toBe(1);
    const made = await readJson(await post(id, { model: "second" }, key), 201);
    const own = await add(id);
    expect([made.model, own.model]).toEqual(["second", "second"]);
    expect(made.created_by_key_id).not.toBe(own.created_by_key_id);
  });

  test("agents.errors.p9 agents.errors.invalid_request its fields are validated like those of a first version", async () => {
    const { id } = await createAgent(app);
    const strict: [object, string][] = [
      [{ system_prompt: null }, "system_prompt"],
      [{ name: null }, "name"],
      [{ slug: null }, "slug"],
      [{ status: "archived" }, "status"],
      [{ version: 2 }, "version"],
      [{ expected_version: 0 }, "expected_version"],
      [{ expected_version: null }, "expected_version"],
      [{ policy: { on_approval_expired: "ask" } }, "policy.on_approval_expired"],
      [{ tools: ["a", "a"] }, "tools"],
      [{ metadata: { a: 1 } }, "metadata"],
    ];
    for (const [body, param] of strict) {
      await expectRefusal(await post(id, body), 400, undefined, param);
    }
    const code = [400, "invalid_request"] as const;
    await expectRefusal(await post(id, { tools: ["nothing"] }), ...code, "tools.0");
    const slip = { policy: { require_approval: ["nothing"] } };
    await expectRefusal(await post(id, slip), ...code, "policy.require_approval.0");
    const dear = { budgets: { max_cost_sar: "1e3" } };
    await expectRefusal(await post(id, dear), ...code, "budgets.max_cost_sar");
    // Of several faults the first in this order is reported.
    const unknown = { model: "nowhere" };
    const unguarded = { ...unknown, ...slip };
    const toolless = { ...unguarded, tools: ["nothing"] };
    const param = "budgets.max_cost_sar";
    await expectRefusal(await post(id, { ...toolless, ...dear }), ...code, param);
    await expectRefusal(await post(id, toolless), ...code, "tools.0");
    await expectRefusal(await post(id, unguarded), ...code, "policy.require_approval.0");
    await expectRefusal(await post(id, unknown), 404, "model_not_found", "model");
    expect((await list(id)).data).toHaveLength(1);
  });

  test("a tool that no longer exists is inherited as pinned, and cannot be newly named", async () => {
    const made = await createAgent(app, { tools: ["calculator"] });
    const { id: account_id } = (await app.app.access.accounts.find("dev"))!;
    const gone = { name: "gone", revision: 7, kind: "builtin", risk: "write" } as const;
    const found = await app.app.database.bind(agentStore).find(made.id, account_id);
    const [id, slug] = [crypto.randomUUID(), "of-an-older-release"];
    const older = { ...found!.version, agent_id: id, tools: ["gone"], tool_revisions: [gone] };
    const agent = { ...found!.agent, id, slug };
    await app.app.database.bind(agentStore).create(agent, older, false, AMPLE);
    expect(await add(id)).toMatchObject({ version: 2, tools: ["gone"], tool_revisions: [gone] });
    const rejected = await post(id, { tools: ["calculator", "gone"] });
    await expectRefusal(rejected, 400, "invalid_request", "tools.1");
  });

  test("an absent body equals a body without fields", async () => {
    const { id } = await createAgent(app);
    expect(await readJson(await app.ask("POST", `/v1/agents/${id}/versions`), 201)).toMatchObject({
      version: 2,
    });
  });
});

describe("GET /v1/agents/{id}/versions", () => {
  const numbers = ({ data }: Json): number[] => data.map(({ version }: Json) => version);

  test("agents.endpoints.agents.get_agents_id_versions agents.limits.versions_page pages, newest first", async () => {
    const { id } = await createAgent(app);
    const one = await list(id);
    expect([numbers(one), one.next_before]).toEqual([[1], null]);
    for (let n = 2; n <= 45; n++) await add(id);
    const first = await list(id);
    expect(numbers(first)).toEqual(Array.from({ length: 20 }, (_, i) => 45 - i));
    expect(first.next_before).toBe(26);
    const second = await list(id, `?before=${first.next_before}&limit=20`);
    expect([numbers(second)[0], second.next_before]).toEqual([25, 6]);
    const last = await list(id, "?before=6");
    // Shorter than its limit: there is no other.
    expect([numbers(last), last.next_before]).toEqual([[5, 4, 3, 2, 1], null]);
    const exact = await list(id, "?before=6&limit=5");
    expect([numbers(exact), exact.next_before]).toEqual([[5, 4, 3, 2, 1], null]);
    const whole = await list(id, "?limit=100");
    expect([whole.data.length, whole.next_before]).toEqual([45, null]);
    expect(numbers(await list(id, "?before=2147483647&limit=1"))).toEqual([45]);
    expect(await list(id, "?before=1")).toEqual({ data: [], next_before: null });
  });

  test("agents.limits.versions_page an invalid page is refused", async () => {
    const { id } = await createAgent(app);
    const refusals = {
      limit: ["limit=0", "limit=101", "limit=x", "limit=", "limit=1.5", "limit=1&limit=2"],
      before: ["before=0", "before=2147483648", "before=-1"],
      after: ["after=1", "limit=1&after=1"],
    };
    for (const [param, queries] of Object.entries(refusals)) {
      for (const query of queries) {
        const reply = await app.get(`/v1/agents/${id}/versions?${query}`);
        await expectRefusal(reply, 400, undefined, param);
      }
    }
  });
});
