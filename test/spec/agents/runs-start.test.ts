// Starting runs: accepted bodies, replies, and the order of refusals.
import { describe, expect, test } from "bun:test";
import { allow, createKey } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { type Json, startRuns } from "./runs-front.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";

describe("a start", () => {
  test("agents.endpoints.runs.post_agents_id_runs, agents.states.none_post_v1_agents_id_runs, agents.does.run, agents.resources.run, agents.endpoints.runs.get_runs_id: replies 202 with the complete queued run", async () => {
    await using front = await startRuns();
    const run = await front.begin({ metadata: { ticket: "7" } });
    expect(run).toEqual({
      id: expect.any(String),
      agent_id: front.agent.id,
      version: 1,
      thread_id: expect.any(String),
      status: "queued",
      cancel_requested: false,
      trigger_kind: "manual",
      trigger_id: null,
      fire_id: null,
      input: { message: "Hello" },
      output: null,
      error: null,
      cost: {
        model: "0.000000",
        tools: "0.000000",
        total: "0.000000",
        prices: {
          currency: "SAR",
          models: { "stub-1": { prompt: "1.000000", completion: "2.000000" } },
          tools: {},
        },
      },
      usage: {
        ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, rounds: 0, tool_calls: 0 },
      },
      external_content: false,
      pending_approvals: [],
      metadata: { ticket: "7" },
      rerun_of: null,
      started_by_key_id: expect.any(String),
      recoveries: 0,
      created_at: "2026-11-20T12:00:00.000Z",
      started_at: null,
      finished_at: null,
    });
    expect(await front.read(`/v1/runs/${run.id}`)).toEqual(run);
  });

  test("half of a pair in the message is replaced, in the run and in its thread", async () => {
    await using front = await startRuns();
    const { id, input, thread_id } = await front.begin({ input: { message: "a\ud83db" } });
    expect(input).toEqual({ message: "a\ufffdb" });
    expect((await front.read(`/v1/runs/${id}`)).input).toEqual(input);
    const { data } = await front.read(`/v1/threads/${thread_id}/messages`);
    expect(data[0].content).toBe(input.message);
  });

  test("agents.does.thread: a run without a thread creates one, which the next run continues", async () => {
    await using front = await startRuns();
    const first = await front.begin();
    expect(await front.read(`/v1/threads/${first.thread_id}`)).toMatchObject({
      status: "busy",
      active_run_id: first.id,
      message_count: 1,
    });
    await front.finish(first);
    const second = await front.begin({ thread_id: first.thread_id.toUpperCase() });
    expect(second.thread_id).toBe(first.thread_id);
    const { data } = await front.read(`/v1/threads/${first.thread_id}/messages`);
    expect(data.map((one: Json) => [one.seq, one.run_id])).toEqual([
      [1, first.id],
      [2, second.id],
    ]);
  });

  test("agents.does.version: a run keeps the version that it started with", async () => {
    await using front = await startRuns();
    const first = await front.begin();
    await front.post(`/v1/agents/${front.agent.id}/versions`, { system_prompt: "Be long." });
    const second = await front.begin();
    expect([first.version, second.version]).toEqual([1, 2]);
    expect(await front.read(`/v1/runs/${first.id}`)).toEqual(first);
  });

  test("agents.does.cost.1, agents.does.cost.2: the prices of its model and tools are fixed at the start, unknown ones as null", async () => {
    const more = `[agents]\ntool_prices = { read_output = "0.5" }
[[models]]\nid = "free-1"\nself_hosted = true\ncapabilities = ["tools"]\nupstream = { kind = "stub" }\n`;
    await using front = await startRuns({ more });
    const tools = ["calculator", "read_output", "web_search"];
    const agent = await front.createAgent({ tools });
    const { cost } = await front.begin({}, agent);
    expect(cost.prices).toEqual({
      currency: "SAR",
      models: { "free-1": { prompt: null, completion: null } },
      tools: { calculator: "0.000000", read_output: "0.500000", web_search: null },
    });
  });

  test("agents.resources.budgets: budgets in the body can only lower those of the version", async () => {
    await using front = await startRuns();
    const agent = await front.createAgent({ budgets: { max_rounds: 5, max_cost_sar: "2" } });
    const start = (budgets: object) =>
      front.post(`/v1/agents/${agent.id}/runs`, { input: { message: "x" }, budgets });
    const accepted = (await (
      await start({ max_rounds: 4, max_cost_sar: 1.5, max_tool_calls: 7 })
    ).json()) as Json;
    expect((await front.store.find(accepted.id, null))!.budgets).toEqual({
      max_cost_sar: "1.500000",
      max_rounds: 4,
      max_tool_calls: 7,
      max_total_tokens: null,
      max_run_seconds: null,
    });
    for (const [name, value] of [
      ["max_rounds", 6],
      ["max_cost_sar", "2.000001"],
      ["max_cost_sar", "1e3"],
      ["max_cost_sar", 0.0000001],
    ]) {
      await expectRefusal(
        await start({ [name!]: value }),
        400,
        "invalid_request",
        `budgets.${name}`,
      );
    }
    for (const same of [{ max_rounds: null }, { max_rounds: 5, max_cost_sar: 2 }]) {
      const run = (await (await start(same)).json()) as Json;
      expect((await front.store.find(run.id, null))!.budgets).toMatchObject({
        ...{ max_rounds: 5, max_cost_sar: "2.000000" },
      });
    }
  });

  const long = "x".repeat(100_001);
  const WRONG: [body: unknown, param: string | null][] = [
    [{}, "input"],
    ["[]", null],
    ["{", null],
    [{ input: {} }, "input.message"],
    [{ input: { message: "" } }, "input.message"],
    [{ input: { message: long } }, "input.message"],
    [{ input: { message: "a\0b" } }, "input.message"],
    [{ input: { message: "a", hook: 1 } }, "input.hook"],
    [{ input: { message: "a" }, thread_id: "x" }, "thread_id"],
    [{ input: { message: "a" }, agent: "x" }, "agent"],
    [{ input: { message: "a" }, metadata: { a: 1 } }, "metadata"],
    [{ input: { message: "a" }, metadata: { a: "x".repeat(513) } }, "metadata"],
    [{ input: { message: "a" }, budgets: { max_rounds: 0 } }, "budgets.max_rounds"],
    [{ input: { message: "a" }, budgets: { max_run_seconds: 1e300 } }, "budgets.max_run_seconds"],
    [{ input: { message: "a" }, budgets: { rounds: 1 } }, "budgets.rounds"],
  ];
  test("agents.errors.p4, agents.errors.p5, agents.errors.p9: an invalid body is refused without a code, by its field", async () => {
    await using front = await startRuns();
    for (const [body, param] of WRONG) {
      const response = await front.post(`/v1/agents/${front.agent.id}/runs`, body);
      expect([body, response.status]).toEqual([body, 400]);
      await expectRefusal(response, 400, undefined, param);
    }
    await expectRefusal(await front.post("/v1/agents/7/runs", {}), 400, undefined, "id");
    const whole = { input: { message: "x".repeat(100_000) } };
    expect((await front.post(`/v1/agents/${front.agent.id}/runs`, whole)).status).toBe(202);
  });
});

describe("Idempotency-Key", () => {
  const again = (key: string) => ({ headers: { "idempotency-key": key } });

  test("a repeated request gets the first run for 24 hours, whatever became of the agent", async () => {
    await using front = await startRuns();
    const first = (await (await front.askStart({}, again("a"))).json()) as Json;
    const { agent, account_id } = front;
    const held = { kind: "agent", id: agent.id, account_id, reason: null, since: 0 } as const;
    await front.app.access.holds.hold(held);
    await front.clock.advance(86_399_999);
    const second = await front.askStart({}, again("a"));
    expect([second.status, ((await second.json()) as Json).id]).toEqual([202, first.id]);
    await front.app.access.holds.release("agent", front.agent.id);
    await front.clock.advance(1);
    const third = (await (await front.askStart({}, again("a"))).json()) as Json;
    expect(third.id).not.toBe(first.id);
  });

  test("another body is refused, field order is ignored, and keys are separate per agent", async () => {
    await using front = await startRuns();
    const path = `/v1/agents/${front.agent.id}/runs`;
    const [a, b] = ['{"input":{"message":"x"},"metadata":{"a":"1","b":"2"}}', "{}"];
    const turned = '{"metadata":{"b":"2","a":"1"},"input":{"message":"x"}}';
    const first = (await (await front.post(path, a, again("k"))).json()) as Json;
    const same = (await (await front.post(path, turned, again("k"))).json()) as Json;
    expect(same.id).toBe(first.id);
    await expectRefusal(await front.askStart({}, again("k")), 409, "idempotency_conflict");
    await expectRefusal(await front.post(path, b, again("k")), 400, undefined, "input");
    const other = await front.createAgent();
    const response = await front.post(`/v1/agents/${other.id}/runs`, a, again("k"));
    expect(((await response.json()) as Json).id).not.toBe(first.id);
  });

  test("a key that is empty, too long or not printable is refused", async () => {
    await using front = await startRuns();
    for (const key of ["", "x".repeat(129), "ä"]) {
      const response = await front.askStart({}, again(key));
      await expectRefusal(response, 400, undefined, "Idempotency-Key");
    }
    expect((await front.askStart({}, again("~".repeat(128)))).status).toBe(202);
  });
});

describe("permission to start a run", () => {
  test("agents.errors.agent_not_found, agents.authentication.6: another account's agent is reported as unknown", async () => {
    await using front = await startRuns();
    const { key } = await allow(front, "rival", { scopes: ["agents"] });
    const foreign = await front.askStart({}, { key });
    const body = { input: { message: "x" } };
    const unknown = await front.post(`/v1/agents/${UNKNOWN}/runs`, body);
    expect(await foreign.text()).toBe(await unknown.clone().text());
    await expectRefusal(unknown, 404, "agent_not_found");
  });

  test("agents.errors.permission_denied, agents.authentication.4: a key without an owner starts nothing, whatever the agent", async () => {
    await using front = await startRuns();
    const key = await createKey(front, { account_id: null, scopes: ["agents"] });
    for (const id of [front.agent.id, UNKNOWN]) {
      const path = `/v1/agents/${id}/runs`;
      const response = await front.post(path, { input: { message: "x" } }, { key });
      await expectRefusal(response, 403, "permission_denied");
    }
  });

  test("agents.errors.agent_held, agents.does.agent: neither a held agent nor one of a held account starts a run", async () => {
    await using front = await startRuns();
    const { holds } = front.app.access;
    const { account_id, agent } = front;
    for (const [kind, id] of [
      ["agent", agent.id],
      ["account", account_id],
    ] as const) {
      await holds.hold({ kind, id, account_id, reason: null, since: 0 });
      await expectRefusal(await front.askStart(), 403, "agent_held");
      await holds.release(kind, id);
      expect((await front.askStart()).status).toBe(202);
    }
  });

  test("an archived agent starts no run", async () => {
    await using front = await startRuns();
    await front.ask("PATCH", `/v1/agents/${front.agent.id}`, { body: { status: "archived" } });
    await expectRefusal(await front.askStart(), 409, "agent_archived");
  });

  test("agents.errors.model_not_permitted, agents.errors.model_not_found, agents.authentication.1: the key must be able to call the version's model now", async () => {
    const more = `[[models]]\nid = "one"\nself_hosted = true\nupstream = { kind = "stub" }
[[models]]\nid = "secret"\nself_hosted = true\nvisibility = "private"\nupstream = { kind = "stub" }\n`;
    await using front = await startRuns({ more });
    const key = await createKey(front, { scopes: ["agents"], models: ["secret"] });
    await expectRefusal(await front.askStart({}, { key }), 403, "model_not_permitted", "model");
    const rights = await allow(front, "guest", { scopes: ["agents"] });
    await rights.grant("secret");
    const agent = await front.createAgent({ model: "secret" }, { key: rights.key });
    await rights.ungrant("secret");
    const path = `/v1/agents/${agent.id}/runs`;
    const response = await front.post(path, { input: { message: "x" } }, { key: rights.key });
    await expectRefusal(response, 404, "model_not_found", "model");
  });

  test("a model that is switched off or blocked does not prevent a start", async () => {
    await using front = await startRuns();
    for (const turn of ["off", "block"] as const) {
      await front.app.admin.models.turn("stub-1", turn);
      expect((await front.askStart()).status).toBe(202);
    }
  });
});

describe("threads", () => {
  test("agents.errors.thread_not_found, agents.errors.thread_agent_mismatch, agents.errors.thread_busy, agents.limits.one_run_per_thread: a thread must belong to the caller and the agent, and has one run at a time", async () => {
    await using front = await startRuns();
    const run = await front.begin();
    const { thread_id } = run;
    await expectRefusal(await front.askStart({ thread_id }), 409, "thread_busy", "thread_id");
    const other = await front.createAgent();
    const mismatched = await front.post(`/v1/agents/${other.id}/runs`, {
      ...{ input: { message: "x" }, thread_id },
    });
    await expectRefusal(mismatched, 409, "thread_agent_mismatch", "thread_id");
    const { key } = await allow(front, "rival", { scopes: ["agents"] });
    const theirs = await front.createAgent({}, { key });
    const path = `/v1/agents/${theirs.id}/runs`;
    const foreign = await front.post(path, { input: { message: "x" }, thread_id }, { key });
    const unknown = await front.askStart({ thread_id: UNKNOWN });
    expect(await foreign.text()).toBe(await unknown.clone().text());
    await expectRefusal(unknown, 404, "thread_not_found", "thread_id");
    await front.post(`/v1/runs/${run.id}/cancel`, undefined);
    expect((await front.askStart({ thread_id })).status).toBe(202);
  });
});

describe("limits", () => {
  test("agents.errors.active_runs_limit, agents.limits.run_admission_trigger_endpoint, agents.limits.retry_after: limits the queued and running runs", async () => {
    await using front = await startRuns({ limits: "active_runs = 2" });
    const first = await front.begin();
    await front.begin();
    const refused = await front.askStart();
    expect(refused.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    await expectRefusal(refused, 429, "active_runs_limit");
    await front.post(`/v1/runs/${first.id}/cancel`, undefined);
    expect((await front.askStart()).status).toBe(202);
  });

  test("agents.errors.daily_runs_limit: limits the runs in any 24 hours, and Retry-After says when the next may start", async () => {
    await using front = await startRuns({ limits: "daily_runs = 2" });
    await front.begin();
    await front.clock.advance(1_000);
    await front.begin();
    const refused = await front.askStart();
    expect(refused.headers.get("retry-after")).toBe("86399");
    await expectRefusal(refused, 429, "daily_runs_limit");
    await front.clock.advance(86_399_000);
    expect((await front.askStart()).status).toBe(202);
    expect((await front.askStart()).status).toBe(429);
  });

  test("agents.errors.daily_runs_limit: correcting a clock that was a year ahead leaves no account locked out", async () => {
    await using front = await startRuns({ limits: "daily_runs = 2" });
    const year_ms = 365 * 86_400_000;
    front.clock.shiftWall(year_ms);
    await front.begin();
    await front.begin();
    await expectRefusal(await front.askStart(), 429, "daily_runs_limit");
    front.clock.shiftWall(-year_ms);
    expect((await front.askStart()).status).toBe(202);
  });

  test("agents.errors.p12: the first error in the order of checks is reported", async () => {
    await using front = await startRuns({ limits: "active_runs = 1" });
    const run = await front.begin();
    const { thread_id } = run;
    await expectRefusal(await front.askStart({ thread_id }), 409, "thread_busy", "thread_id");
    await expectRefusal(
      await front.askStart({ thread_id: UNKNOWN }),
      404,
      "thread_not_found",
      "thread_id",
    );
    const key = await createKey(front, { scopes: ["agents"], models: [] });
    const fields = { thread_id: UNKNOWN };
    await expectRefusal(await front.askStart(fields, { key }), 403, "model_not_permitted", "model");
    const higher = { ...fields, budgets: { max_rounds: 200 } };
    const param = "budgets.max_rounds";
    await expectRefusal(await front.askStart(higher, { key }), 400, "invalid_request", param);
    await front.ask("PATCH", `/v1/agents/${front.agent.id}`, { body: { status: "archived" } });
    await expectRefusal(await front.askStart(fields, { key }), 409, "agent_archived");
    const { account_id, agent } = front;
    const held = { kind: "agent", id: agent.id, account_id, reason: null, since: 0 } as const;
    await front.app.access.holds.hold(held);
    await expectRefusal(await front.askStart(fields, { key }), 403, "agent_held");
    await expectRefusal(await front.askStart({ x: 1 }, { key }), 400, undefined, "x");
  });
});
