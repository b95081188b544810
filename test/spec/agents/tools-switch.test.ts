// The catalogue of an account's tools: reads, and switching them off and on.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { KEY, type TestApp } from "../../support/app.ts";
import { expectRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { createAgent, type Json, readJson, startService } from "./service.ts";
import { makeTool, register, revise } from "./tools-bodies.ts";

const OTHER = `${KEY}-other`;

let app: TestApp;
beforeAll(async () => {
  app = await startService();
});
afterAll(() => app.stop());

const list = async (key = KEY): Promise<Json[]> =>
  (await readJson(await app.get("/v1/tools", { key }))).data;
const turn = (name: string, verb: string) => app.post(`/v1/tools/${name}/${verb}`, undefined);

describe("agents.endpoints.tools.get_tools", () => {
  test("agents.endpoints.tools.get_tools agents.does.tool lists the platform's tools, then the account's by name, disabled ones included", async () => {
    const before = await list();
    for (const name of ["zeta", "alpha"]) await register(app, { name });
    const latest = await revise(app, "zeta", { title: "Zeta" });
    const off = await readJson(await turn("alpha", "disable"));
    const builtins = before.filter(({ kind }) => kind === "builtin");
    expect(await list()).toEqual([...builtins, off, latest]);
    expect([off.status, latest.status]).toEqual(["disabled", "enabled"]);
    expect(await list(OTHER)).toEqual(builtins);
    expect(await list(`${KEY}-ownerless`)).toEqual(builtins);
  });

  test("agents.endpoints.tools.get_tools a long catalogue is complete, with each tool once", async () => {
    const names = Array.from({ length: 120 }, (_, i) => `many_${String(i).padStart(3, "0")}`);
    for (const name of names) await register(app, { name }, { key: OTHER });
    const listed = (await list(OTHER)).map(({ name }) => name);
    expect(listed.filter((name) => name.startsWith("many_"))).toEqual(names);
    expect(new Set(listed).size).toBe(listed.length);
    expect(listed[0]).toBe("current_time");
  });
});

describe("agents.endpoints.tools.p1", () => {
  test("agents.endpoints.tools.p1 a platform tool is read like any other", async () => {
    const [builtin] = await list();
    expect(await readJson(await app.get(`/v1/tools/${builtin.name}`))).toEqual(builtin);
    const path = `/v1/tools/${builtin.name}/revisions`;
    expect(await readJson(await app.get(path))).toEqual({ data: [builtin], next_before: null });
    expect((await readJson(await app.get(`${path}?before=1`))).data).toEqual([]);
  });

  test("agents.endpoints.tools.p1 switching off and on can be repeated", async () => {
    const made = await register(app, { name: "switched" });
    for (const [verb, status] of [
      ["enable", "enabled"],
      ["disable", "disabled"],
      ["disable", "disabled"],
      ["enable", "enabled"],
    ] as const) {
      expect(await readJson(await turn("switched", verb))).toEqual({ ...made, status });
      expect(await readJson(await app.get("/v1/tools/switched"))).toEqual({ ...made, status });
    }
  });

  test("agents.endpoints.tools.p1 a disabled tool accepts revisions, all of them disabled", async () => {
    await register(app, { name: "resting" });
    await turn("resting", "disable");
    expect(await revise(app, "resting")).toMatchObject({ revision: 2, status: "disabled" });
    const { data } = await readJson(await app.get("/v1/tools/resting/revisions"));
    expect(data.map(({ status }: Json) => status)).toEqual(["disabled", "disabled"]);
  });
});

describe("agents.errors.tool_not_found", () => {
  /** Every route of one tool. */
  const askAll = (name: string, key = `${KEY}-approver`) => {
    const { name: _, ...revision } = makeTool();
    return Promise.all([
      app.get(`/v1/tools/${name}`, { key }),
      app.get(`/v1/tools/${name}/revisions`, { key }),
      app.post(`/v1/tools/${name}/revisions`, revision, { key }),
      app.post(`/v1/tools/${name}/disable`, undefined, { key }),
      app.post(`/v1/tools/${name}/enable`, undefined, { key }),
      app.post(`/v1/tools/${name}/test`, { arguments: {} }, { key }),
    ]);
  };

  test("agents.errors.tool_not_found agents.authentication.6 a tool of another account or with an impossible name is not found", async () => {
    await register(app, { name: "theirs_alone" }, { key: OTHER });
    const names = ["theirs_alone", "never", NOWHERE, "Send", "a%00b", "%ff", "x".repeat(3_000)];
    names.push("__proto__", "constructor", "%F0%9F%98%80", "a%2Fb", "..%2Ftools");
    const bodies = new Set<string>();
    for (const name of names) {
      for (const reply of await askAll(name)) {
        bodies.add(await reply.clone().text());
        await expectRefusal(reply, 404, "tool_not_found");
      }
    }
    expect(bodies.size).toBe(1);
  });

  test("agents.errors.tool_not_found no account can change the platform's tools", async () => {
    const [read, revisions, ...changes] = await askAll("calculator");
    expect([read!.status, revisions!.status]).toEqual([200, 200]);
    for (const reply of changes) {
      expect(((await reply.clone().json()) as Json).error.message).toContain("of the platform");
      await expectRefusal(reply, 404, "tool_not_found");
    }
  });
});

describe("agents.errors.not_enabled", () => {
  test("agents.errors.not_enabled agents.endpoints.tools.post_tools while http tools are off every change is refused, whatever the body, and reads work", async () => {
    const settings = { WADI_AGENTS__HTTP_TOOLS: "false" };
    const closed = await startService({ env: settings });
    const key = `${KEY}-approver`;
    const bodies = [makeTool(), {}, "{", "[]", { name: 1 }, "x".repeat(300_000), undefined];
    for (const path of [
      ...["/v1/tools", "/v1/tools/send_letter/revisions", "/v1/tools/send_letter/disable"],
      ...["/v1/tools/send_letter/enable", "/v1/tools/send_letter/test"],
    ]) {
      for (const body of bodies) {
        await expectRefusal(await closed.post(path, body, { key }), 403, "not_enabled");
      }
      // A missing scope is reported first.
      const unknown = await closed.post(path, {}, { key: `${KEY}-none` });
      await expectRefusal(unknown, 403, "scope_required");
    }
    expect((await readJson(await closed.get("/v1/tools"))).data.length).toBeGreaterThan(3);
    expect((await closed.get("/v1/tools/calculator")).status).toBe(200);
    await expectRefusal(await closed.get("/v1/tools/send_letter"), 404, "tool_not_found");
    await closed.stop();
  });
});

describe("tools of a version", () => {
  const pinsOf = ({ tool_revisions }: Json) =>
    tool_revisions.map(({ name, revision, kind }: Json) => `${name} ${revision} ${kind}`);
  const addVersion = async (id: string, body: object): Promise<Json> =>
    readJson(await app.post(`/v1/agents/${id}/versions`, body), 201);

  test("agents.does.version agents.does.tool a version pins the latest revision, and keeps the pin when it is inherited", async () => {
    await register(app, { name: "pinned", risk: "read" });
    const tools = ["calculator", "pinned"];
    const agent = await createAgent(app, { tools });
    expect(pinsOf(agent.version)).toEqual(["calculator 1 builtin", "pinned 1 http"]);
    await revise(app, "pinned", { risk: "irreversible" });
    const second = await addVersion(agent.id, { system_prompt: "Be briefer." });
    expect(second.tool_revisions).toEqual(agent.version.tool_revisions);
    const third = await addVersion(agent.id, { tools });
    expect(pinsOf(third)).toEqual(["calculator 1 builtin", "pinned 2 http"]);
    expect(third.tool_revisions[1].risk).toBe("irreversible");
    const { data } = await readJson(await app.post(`/v1/agents/${agent.id}/check`, undefined));
    expect(data.map(({ name, effect }: Json) => `${name} ${effect}`)).toEqual([
      ...["calculator runs", "pinned asks"],
    ]);
  });

  test("a tool that is switched off cannot be newly named, and can still be inherited", async () => {
    await register(app, { name: "tired" });
    const agent = await createAgent(app, { tools: ["tired"] });
    await turn("tired", "disable");
    const body = { name: "Late", system_prompt: "Be brief.", tools: ["calculator", "tired"] };
    const refused = await app.post("/v1/agents", body);
    await expectRefusal(refused, 400, "invalid_request", "tools.1");
    const named = await app.post(`/v1/agents/${agent.id}/versions`, { tools: ["tired"] });
    await expectRefusal(named, 400, "invalid_request", "tools.0");
    const inherited = await addVersion(agent.id, { system_prompt: "Be briefer." });
    expect(pinsOf(inherited)).toEqual(["tired 1 http"]);
    const { data } = await readJson(await app.post(`/v1/agents/${agent.id}/check`, undefined));
    expect(data).toMatchObject([{ name: "tired", status: "disabled", effect: "asks" }]);
    // It may be guarded in case it is enabled again, and even before it is named.
    const guard = { policy: { require_approval: ["tired"] } };
    expect((await addVersion(agent.id, guard)).policy.require_approval).toEqual(["tired"]);
    const before = await createAgent(app, { tools: [], ...guard });
    expect(before.version.policy.require_approval).toEqual(["tired"]);
  });

  test("agents.authentication.6 another account's tool cannot be named or guarded", async () => {
    await register(app, { name: "foreign" }, { key: OTHER });
    const body = { name: "Thief", system_prompt: "Be brief." };
    const named = await app.post("/v1/agents", { ...body, tools: ["foreign"] });
    await expectRefusal(named, 400, "invalid_request", "tools.0");
    const policy = { require_approval: ["calculator", "foreign"] };
    const guarded = await app.post("/v1/agents", { ...body, policy });
    await expectRefusal(guarded, 400, "invalid_request", "policy.require_approval.1");
    for (const name of ["a\u0000b", "\ud800"]) {
      const reply = await app.post("/v1/agents", { ...body, tools: [name] });
      await expectRefusal(reply, 400, "invalid_request", "tools.0");
    }
  });

  test("concurrent versions do not revert a pin", async () => {
    await register(app, { name: "raced" });
    const agent = await createAgent(app, { tools: ["raced"] });
    await revise(app, "raced");
    const bodies = [{ tools: ["raced"] }, ...new Array(5).fill({ description: "Others." })];
    await Promise.all(bodies.map((body) => addVersion(agent.id, body)));
    const { data } = await readJson(await app.get(`/v1/agents/${agent.id}/versions`));
    const revisions = data.map(({ tool_revisions }: Json) => tool_revisions[0].revision);
    // From the one that named it on, whichever of the six that was.
    expect(revisions).toEqual(revisions.toSorted((a: number, b: number) => b - a));
    expect(revisions[0]).toBe(2);
  });
});
