// Runs from their start to their end, by the stub model's scripts, as callers see them.
import { describe, expect, test } from "bun:test";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";

/** An engine executes here; `limits` and `more` as in startRuns. */
const begin = (settings: { limits?: string; more?: string } = {}) =>
  startRuns(settings, { listens: true });

const FINAL = ["succeeded", "failed", "budget_exceeded", "cancelled"];
async function follow(app: RunsFront, id: string, isThere: (run: Json) => boolean): Promise<Json> {
  for (;;) {
    const run = await app.read(`/v1/runs/${id}`);
    if (isThere(run)) return run;
    await app.clock.advance(0);
  }
}
const ended = (app: RunsFront, id: string) =>
  follow(app, id, ({ status }) => FINAL.includes(status));
const stepsOf = async (app: RunsFront, id: string) => {
  const { data } = await app.read(`/v1/runs/${id}/steps`);
  expect(data.map(({ seq }: Json) => seq)).toEqual(data.map((_: Json, i: number) => i + 1));
  return data as Json[];
};

const TOOLS = { tools: ["calculator", "current_time"] };
const SCRIPT = '!tool calculator {"expression":"0.1+0.2"}\n!next\n!say It is 0.3.';

describe("a run", () => {
  test("is queued, runs, and succeeds (agents.states.queued_platform_start, agents.states.running_model_and_tools_finish)", async () => {
    await using app = await begin();
    const agent = await app.createAgent(TOOLS);
    const run = await app.begin({ input: { message: SCRIPT } }, agent);
    expect(run).toMatchObject({ status: "queued", started_at: null, finished_at: null });
    expect(await ended(app, run.id)).toMatchObject({
      ...{ status: "succeeded", output: { message: "It is 0.3." }, error: null },
      ...{ usage: { rounds: 2, tool_calls: 1 }, started_at: expect.any(String) },
      finished_at: expect.any(String),
    });
    expect((await stepsOf(app, run.id)).map(({ kind, round }) => [kind, round])).toEqual([
      ...[
        ["assistant", 1],
        ["tool_call", 1],
        ["tool_result", 1],
        ["assistant", 2],
      ],
    ]);
  });

  test("fails with the code of its model (agents.states.running_run_fails)", async () => {
    await using app = await begin();
    const run = await app.begin({ input: { message: "!error context_length_exceeded" } });
    expect(await ended(app, run.id)).toMatchObject({
      ...{ status: "failed", error: { code: "context_length_exceeded" }, output: null },
    });
  });

  test("fails alone by a message that is too long for its model, unlike later runs on the thread (agents.does.thread)", async () => {
    await using app = await begin();
    const agent = await app.createAgent({});
    const long = "m ".repeat(49_900);
    const first = await app.begin({ input: { message: long } }, agent);
    const error = { code: "context_length_exceeded" };
    expect(await ended(app, first.id)).toMatchObject({ status: "failed", error });
    const { thread_id } = first;
    for (const message of ["hi", "!say Still here."]) {
      const next = await app.begin({ thread_id, input: { message } }, agent);
      expect(await ended(app, next.id)).toMatchObject({ status: "succeeded", error: null });
    }
    const { data } = await app.read(`/v1/threads/${thread_id}/messages`);
    expect(data.map(({ content }: Json) => content)).toContain(long);
  });

  test("stops at its next step when it is cancelled while it runs (agents.states.running_cancel)", async () => {
    await using app = await begin();
    const run = await app.begin({ input: { message: "!stall" } });
    await follow(app, run.id, ({ status }) => status === "running");
    const response = await app.post(`/v1/runs/${run.id}/cancel`, undefined);
    expect(await response.json()).toMatchObject({ cancel_requested: true });
    expect(await ended(app, run.id)).toMatchObject({
      ...{ status: "cancelled", cancel_requested: true, error: { code: "cancelled" } },
    });
    expect((await stepsOf(app, run.id)).map(({ data }) => data.event)).toEqual([
      "cancel_requested",
    ]);
  });

  test("that needs approval waits, is not active meanwhile, and is cancelled with its approvals (agents.states.running_tool_call_needs_approval, agents.states.waiting_approval_cancel)", async () => {
    await using app = await begin({ limits: "active_runs = 1" });
    const policy = { require_approval: ["calculator"] };
    const agent = await app.createAgent({ ...TOOLS, policy });
    const run = await app.begin({ input: { message: SCRIPT } }, agent);
    const waiting = await follow(app, run.id, ({ status }) => status === "waiting_approval");
    expect(waiting.pending_approvals).toHaveLength(1);
    const other = await app.begin({ input: { message: "!say ok" } });
    expect(await ended(app, other.id)).toMatchObject({ status: "succeeded" });

    const response = await app.post(`/v1/runs/${run.id}/cancel`, undefined);
    expect(await response.json()).toMatchObject({ status: "cancelled", pending_approvals: [] });
    const steps = await stepsOf(app, run.id);
    expect(steps.map(({ kind, data }) => data.outcome ?? data.event ?? kind)).toEqual([
      ...["assistant", "tool_call", "requested", "cancelled", "closed"],
    ]);
  });

  test("continues on its thread, where the next run sees the earlier messages", async () => {
    await using app = await begin();
    const first = await app.begin({ input: { message: "!say I am blue." } });
    await ended(app, first.id);
    const next = { input: { message: "!say And you?" }, thread_id: first.thread_id };
    await ended(app, (await app.begin(next)).id);
    const { data } = await app.read(`/v1/threads/${first.thread_id}/messages`);
    expect(data.map(({ role, content }: Json) => [role, content])).toEqual([
      ...[
        ["user", "!say I am blue."],
        ["assistant", "I am blue."],
      ],
      ...[
        ["user", "!say And you?"],
        ["assistant", "And you?"],
      ],
    ]);
  });
});

describe("its cost", () => {
  test("ends it at max_cost_sar, exceeded by at most one round (agents.does.cost.3, agents.states.running_priced_cost_reaches_max_cost)", async () => {
    await using app = await begin();
    const budgets = { max_cost_sar: "0.000000" };
    const agent = await app.createAgent({ ...TOOLS, budgets });
    const run = await app.begin({ input: { message: SCRIPT } }, agent);
    expect(await ended(app, run.id)).toMatchObject({
      ...{ status: "budget_exceeded", error: { code: "max_cost_sar" } },
      ...{ usage: { rounds: 0 }, cost: { total: "0.000000" } },
    });
  });

  test("is unknown if a price is unknown, and then never zero (agents.does.cost.1, agents.does.cost.2)", async () => {
    await using app = await begin();
    const agent = await app.createAgent({ tools: ["web_search"] });
    const message = '!tool web_search {"query":"wadi"}\n!next\n!say done';
    const run = await app.begin({ input: { message } }, agent);
    const { cost, status } = await ended(app, run.id);
    expect({ status, ...cost }).toMatchObject({
      ...{ status: "succeeded", tools: null, total: null },
      model: expect.stringMatching(/^0\.000[0-9]{3}$/),
    });
    const steps = await stepsOf(app, run.id);
    expect(steps.map(({ data }) => data.event ?? data.outcome ?? "-")).toEqual([
      ...["-", "-", "ok", "price_missing", "external_content", "-"],
    ]);
    expect(steps[2]!.data.cost).toBeNull();
  });
});
