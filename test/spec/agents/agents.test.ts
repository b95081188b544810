// The agents API for an agent's owner: creation, reads and changes.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Scope } from "../../../src/access/index.ts";
import { KEY, type TestApp } from "../../support/app.ts";
import { type Document, findBreach, type Schema } from "../gateway/document.ts";
import { allow, createKey } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { createAgent, type Json, readJson, startService } from "./service.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

const patch = (id: string, body: object, key = KEY) =>
  app.ask("PATCH", `/v1/agents/${id}`, { body, key });
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const DEFAULTS = {
  policy: {
    approval_ttl_seconds: 86_400,
    unattended_writes: false,
    writes_after_external_content: "require_approval",
    require_approval: [],
    on_approval_expired: "continue",
    on_unknown_outcome: "ask",
  },
  budgets: {
    ...{ max_cost_sar: null, max_rounds: 25 },
    ...{ max_tool_calls: null, max_total_tokens: null, max_run_seconds: null },
  },
  model_params: { temperature: null, top_p: null, max_tokens: null, reasoning: null },
  output_schema: null,
};

describe("POST /v1/agents", () => {
  test("agents.endpoints.agents.post_agents agents.endpoints.agents.get_agents_id agents.resources.agent an agent requires a name and a prompt", async () => {
    const agent = await createAgent(app, { name: "First one" });
    const { id, created_at } = agent;
    const version = {
      ...{ agent_id: id, version: 1, system_prompt: "Be brief.", model: "svc", tools: [] },
      ...{ tool_revisions: [], ...DEFAULTS, created_at },
      created_by_key_id: expect.stringMatching(UUID),
    };
    expect(agent).toEqual({
      ...{ id: expect.stringMatching(UUID), name: "First one", slug: "first-one" },
      ...{ description: null, status: "active", operator_hold: null, current_version: 1 },
      ...{
        metadata: {},
        expose: false,
        created_at,
        updated_at: created_at,
        archived_at: null,
        version,
      },
    });
    // agents.resources.p3
    expect(created_at).toMatch(ISO);
    expect(await readJson(await app.get(`/v1/agents/${id}`))).toEqual(agent);
  });

  test("agents.resources.version agents.resources.policy agents.resources.budgets an agent stores every field that is sent", async () => {
    const policy = {
      ...{ approval_ttl_seconds: 60, unattended_writes: true, on_approval_expired: "fail" },
      ...{ writes_after_external_content: "allow", on_unknown_outcome: "report" },
      require_approval: ["web_search"],
    };
    const budgets = {
      ...{ max_cost_sar: "0.500000", max_rounds: 200, max_tool_calls: 0 },
      ...{ max_total_tokens: 1, max_run_seconds: 2_147_483_647 },
    };
    const model_params = { temperature: 2, top_p: 0.5, max_tokens: 9, reasoning: true };
    const own = { slug: "all-of-it", description: "Line\nline", metadata: { "": "", ä: "x" } };
    const behaviour = { model: "second", tools: ["web_search", "calculator"], policy, budgets };
    const sent = { system_prompt: " \n", ...behaviour, model_params };
    const agent = await createAgent(app, { name: "All", ...own, ...sent });
    expect(agent).toMatchObject({ ...own, version: sent });
    expect(agent.version.tool_revisions).toEqual([
      { name: "web_search", revision: 1, kind: "builtin", risk: "read" },
      { name: "calculator", revision: 1, kind: "builtin", risk: "read" },
    ]);
  });

  test("null equals an omitted field, where the field has a default", async () => {
    const own = { slug: null, description: null, metadata: null, expose: null };
    const none = { ...own, model: null, tools: null };
    const whole = await createAgent(app, {
      ...{ ...none, policy: null, budgets: null, model_params: null, output_schema: null },
    });
    expect(whole).toMatchObject({ description: null, metadata: {}, expose: false });
    expect(whole.version).toMatchObject({ model: "svc", tools: [], ...DEFAULTS });
    const nulls = (fields: object) =>
      Object.fromEntries(Object.keys(fields).map((name) => [name, null]));
    const each = await createAgent(app, {
      policy: nulls(DEFAULTS.policy),
      budgets: nulls(DEFAULTS.budgets),
      model_params: nulls(DEFAULTS.model_params),
    });
    expect(each.version).toMatchObject(DEFAULTS);
  });

  test("an amount may be a string or a number, and is returned with six decimals", async () => {
    const amounts = ["0", "1.20", "12.000001", 0, 1.2, 0.000001, 3];
    const shown: string[] = [];
    for (const max_cost_sar of amounts) {
      const { version } = await createAgent(app, { budgets: { max_cost_sar } });
      shown.push(version.budgets.max_cost_sar);
    }
    expect(shown).toEqual([
      ...["0.000000", "1.200000", "12.000001", "0.000000"],
      ...["1.200000", "0.000001", "3.000000"],
    ]);
  });
});

describe("slugs", () => {
  test("agents.errors.slug_taken a slug in use is refused", async () => {
    await createAgent(app, { slug: "taken" });
    const other = await createAgent(app, { slug: "free" });
    const body = { name: "Taken", system_prompt: "x", slug: "taken" };
    await expectRefusal(await app.post("/v1/agents", body), 409, "slug_taken", "slug");
    await expectRefusal(await patch(other.id, { slug: "taken" }), 409, "slug_taken", "slug");
    const reply = await app.post(`/v1/agents/${other.id}/versions`, { slug: "taken" });
    await expectRefusal(reply, 409, "slug_taken", "slug");
    expect(await readJson(await app.get(`/v1/agents/${other.id}`))).toEqual(other);
    // It may equal its own slug and another account's.
    await readJson(await patch(other.id, { slug: "free" }));
    await createAgent(app, { slug: "taken" }, { key: `${KEY}-other` });
  });

  test("a generated slug gets a number if it is in use", async () => {
    const slugs: string[] = [];
    for (let n = 0; n < 4; n++) slugs.push((await createAgent(app, { name: "Two Words" })).slug);
    expect(slugs).toEqual(["two-words", "two-words-2", "two-words-3", "two-words-4"]);
  });

  test("concurrent creations get distinct slugs", async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, () => createAgent(app, { name: "Crowd" })),
    );
    expect(new Set(made.map(({ slug }) => slug)).size).toBe(20);
  });
});

describe("agents.errors.p11 the key must be able to call the model", () => {
  const create = (fields: object, key: string) =>
    app.post("/v1/agents", { name: "Helper", system_prompt: "x", ...fields }, { key });

  test("agents.errors.model_not_permitted agents.errors.model_not_found", async () => {
    const { key, grant } = await allow(app, "modelled", { scopes: ["agents"] });
    const refused = [403, "model_not_permitted", "model"] as const;
    await expectRefusal(await create({ model: "rented" }, key), ...refused);
    const unknown = [404, "model_not_found", "model"] as const;
    await expectRefusal(await create({ model: "secret" }, key), ...unknown);
    await expectRefusal(await create({ model: "nobody" }, key), ...unknown);
    await grant("rented");
    await grant("secret");
    expect((await readJson(await create({ model: "rented" }, key), 201)).version.model).toBe(
      "rented",
    );
    expect((await readJson(await create({ model: "secret" }, key), 201)).version.model).toBe(
      "secret",
    );
  });

  test("a key's model list narrows it, also for the default model", async () => {
    const { key } = await allow(app, "narrow", { scopes: ["agents"], models: ["second"] });
    await readJson(await create({ model: "second" }, key), 201);
    const refused = [403, "model_not_permitted", "model"] as const;
    await expectRefusal(await create({ model: "own" }, key), ...refused);
    await expectRefusal(await create({}, key), ...refused);
    await expectRefusal(await create({ model: "svc" }, key), ...refused);
  });

  test("the default model under any of its names is shown as the alias", async () => {
    const models: string[] = [];
    for (const model of [undefined, "svc", "svc-v0", "own"]) {
      models.push((await createAgent(app, { model })).version.model);
    }
    expect(models).toEqual(["svc", "svc", "svc", "own"]);
  });

  test("a model that is switched off or blocked may be named, since it may return", async () => {
    const { models } = app.app.admin;
    for (const [turn, back] of [
      ["off", "on"],
      ["block", "unblock"],
    ] as const) {
      await models.turn("own", turn);
      await createAgent(app, { model: "own" });
      await createAgent(app);
      await models.turn("own", back);
    }
  });
});

describe("ownership", () => {
  const routes = (id: string): [string, string, object?][] => [
    ["GET", `/v1/agents/${id}`],
    ["PATCH", `/v1/agents/${id}`, { name: "Mine" }],
    ["POST", `/v1/agents/${id}/check`],
    ["GET", `/v1/agents/${id}/versions`],
    ["POST", `/v1/agents/${id}/versions`, {}],
  ];

  test("agents.authentication.6 agents.errors.agent_not_found another account's agent is reported as not found", async () => {
    const { id } = await createAgent(app);
    const missing = routes(crypto.randomUUID());
    for (const [i, [method, path, body]] of routes(id).entries()) {
      const [, other] = missing[i]!;
      for (const key of [`${KEY}-other`, `${KEY}-ownerless`]) {
        const theirs = await app.ask(method, path, { body, key });
        const none = await app.ask(method, other, { body, key });
        expect(await theirs.clone().text()).toBe(await none.text());
        await expectRefusal(theirs, 404, "agent_not_found");
      }
    }
    expect(await readJson(await app.get(`/v1/agents/${id}`))).toMatchObject({ name: "Helper" });
  });

  test("agents.resources.p4 an id is a UUID in any case", async () => {
    const { id } = await createAgent(app);
    expect((await readJson(await app.get(`/v1/agents/${id.toUpperCase()}`))).id).toBe(id);
    for (const [method, path, body] of routes("helper")) {
      await expectRefusal(await app.ask(method, path, { body }), 400, undefined, "id");
    }
  });

  test("agents.errors.permission_denied a key without an owner creates no agents, and owns none", async () => {
    const key = `${KEY}-ownerless`;
    const body = { name: "x", system_prompt: "x" };
    for (const fault of [{}, { budgets: { max_cost_sar: "1e3" } }, { tools: ["nothing"] }]) {
      const reply = await app.post("/v1/agents", { ...body, ...fault }, { key });
      await expectRefusal(reply, 403, "permission_denied");
    }
    expect(await readJson(await app.get("/v1/agents", { key }))).toEqual({ data: [] });
  });
});

describe("GET /v1/agents", () => {
  test("agents.endpoints.agents.get_agents lists every agent of the caller, newest first, without versions", async () => {
    const { key } = await allow(app, "lister", { scopes: ["agents"] });
    expect(await readJson(await app.get("/v1/agents", { key }))).toEqual({ data: [] });
    const made: Json[] = [];
    for (let n = 0; n < 30; n++) {
      if (n % 2) await app.clock.advance(1);
      const { version: _, ...agent } = await createAgent(app, { name: `n${n}` }, { key });
      made.unshift(agent);
    }
    expect(await readJson(await app.get("/v1/agents", { key }))).toEqual({ data: made });
    await expectRefusal(await app.get("/v1/agents?limit=1", { key }), 400, undefined, "limit");
  });
});

describe("PATCH /v1/agents/{id}", () => {
  test("agents.does.agent PATCH changes the fields that are sent; an archived agent shows its time", async () => {
    const made = await createAgent(app, { description: "old", metadata: { a: "b" } });
    await app.clock.advance(1_000);
    const at = new Date(app.clock.now()).toISOString();
    const archived = await readJson(await patch(made.id, { status: "archived", name: "New" }));
    const change = { name: "New", status: "archived", archived_at: at, updated_at: at };
    expect(archived).toEqual({ ...made, ...change });
    await app.clock.advance(1_000);
    const now = new Date(app.clock.now()).toISOString();
    const back = await readJson(
      await patch(made.id, { status: "active", description: null, metadata: null, slug: "newer" }),
    );
    const changes = { status: "active", archived_at: null, description: null, metadata: {} };
    expect(back).toEqual({ ...archived, ...changes, slug: "newer", updated_at: now });
    await app.clock.advance(1_000);
    expect(await readJson(await patch(made.id, {}))).toEqual(back);
    expect(await readJson(await patch(made.id, { name: "New" }))).toEqual(back);
  });

  test("fields of a version are refused, and a name has no default", async () => {
    const { id } = await createAgent(app);
    const refusals: [object, string][] = [
      [{ system_prompt: "x" }, "system_prompt"],
      [{ tools: [] }, "tools"],
      [{ name: null }, "name"],
      [{ slug: null }, "slug"],
      [{ status: "gone" }, "status"],
      [{ metadata: { a: null } }, "metadata"],
    ];
    for (const [body, param] of refusals) {
      await expectRefusal(await patch(id, body), 400, undefined, param);
    }
  });
});

describe("agents.does.agent operator_hold", () => {
  test("shows the agent's hold, or else its account's", async () => {
    const { account_id, key } = await allow(app, "held", { scopes: ["agents"] });
    const { id } = await createAgent(app, {}, { key });
    const read = async () => {
      const one = await readJson(await app.get(`/v1/agents/${id}`, { key }));
      const { data } = await readJson(await app.get("/v1/agents", { key }));
      expect(data[0].operator_hold).toEqual(one.operator_hold);
      return one.operator_hold;
    };
    const { holds } = app.app.access;
    const since = new Date(app.clock.now()).toISOString();
    expect(await read()).toBeNull();
    const hold = { kind: "account", id: account_id, account_id, reason: "unpaid" } as const;
    await holds.hold({ ...hold, since: app.clock.now() });
    expect(await read()).toEqual({ scope: "account", reason: "unpaid", since });
    await app.app.admin.agents.hold(id, null);
    expect(await read()).toEqual({ scope: "agent", reason: null, since });
    // A hold stops runs, and nothing else.
    const held = await readJson(await app.ask("PATCH", `/v1/agents/${id}`, { key, body: {} }));
    expect(held.operator_hold.scope).toBe("agent");
    await readJson(await app.post(`/v1/agents/${id}/versions`, {}, { key }), 201);
    await app.app.admin.agents.release(id);
    await holds.release("account", account_id);
    expect(await read()).toBeNull();
  });
});

describe("POST /v1/agents/{id}/check", () => {
  test("agents.does.risk.read reports for each tool whether its calls ask, run or are refused", async () => {
    const tools = ["web_search", "calculator"];
    const policy = { require_approval: ["calculator"] };
    const { id } = await createAgent(app, { tools, policy });
    const key = await createKey(app, { scopes: ["agents", "search"] });
    const reply = await readJson(await app.ask("POST", `/v1/agents/${id}/check`, { key }));
    const builtin = {
      ...{ revision: 1, kind: "builtin", risk: "read", status: "enabled" },
      missing_scope: null,
    };
    const runs = { effect: "runs", why: [], why_after_external_content: [] };
    const asks = { effect: "asks", why: ["listed"], why_after_external_content: ["listed"] };
    expect(reply).toEqual({
      ...{ agent_id: id, version: 1, missing_scopes: [] },
      data: [
        { name: "web_search", ...builtin, ...runs },
        { name: "calculator", ...builtin, ...asks },
      ],
    });
  });
});

test("gateway.authentication.4 a check names the scopes that the key lacks", async () => {
  const tools = ["web_search", "calculator"];
  const { id } = await createAgent(app, { tools, model_params: { reasoning: true } });
  const check = async (scopes: Scope[]) => {
    const key = await createKey(app, { scopes: ["agents", ...scopes] });
    const checked = await readJson(await app.ask("POST", `/v1/agents/${id}/check`, { key }));
    return [checked.missing_scopes, checked.data.map((tool: Json) => tool.missing_scope)];
  };
  expect(await check([])).toEqual([
    ["reasoning", "search"],
    ["search", null],
  ]);
  expect(await check(["search"])).toEqual([["reasoning"], [null, null]]);
  expect(await check(["search", "reasoning"])).toEqual([[], [null, null]]);
});

test("agents.resources.p1 replies have every field of their schemas, which require the non-nullable fields", async () => {
  const document = (await readJson(await app.get("/openapi.json"))) as Document;
  const { schemas } = document.components;
  const agent = await createAgent(app, { tools: ["calculator"] });
  const { version } = agent;
  const shown: [string, Json][] = [
    ["AgentDetail", agent],
    ["AgentVersion", version],
    ["AgentList", await readJson(await app.get("/v1/agents"))],
    ["AgentVersionList", await readJson(await app.get(`/v1/agents/${agent.id}/versions`))],
    ["AgentCheck", await readJson(await app.ask("POST", `/v1/agents/${agent.id}/check`))],
  ];
  const mayBeNull = ({ anyOf = [] }: Schema) => anyOf.some(({ type }) => type === "null");
  for (const [name, value] of shown) {
    const { properties = {}, required } = schemas[name]!;
    expect([name, Object.keys(value)]).toEqual([name, Object.keys(properties)]);
    const never = Object.keys(properties).filter((field) => !mayBeNull(properties[field]!));
    expect([name, required]).toEqual([name, never]);
    expect([name, findBreach(document, schemas[name]!, value)]).toEqual([name, []]);
  }
});
