// GET /v1/agents/usage: windows of days, sums, and what is unknown.
import { expect, test } from "bun:test";
import { allow, createKey } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";

const PATH = "/v1/agents/usage";
const NONE = {
  ...{ runs: 0, succeeded: 0, failed: 0, budget_exceeded: 0, cancelled: 0 },
  ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, tool_calls: 0 },
  ...{ cost_sar: null, unpriced_runs: 0 },
};

/** A run that ended now with this cost in micro-SAR; null: unknown. */
async function spend(front: RunsFront, cost: number | null, agent?: Json) {
  const run = await front.begin({}, agent);
  const record = front.record(run, 0);
  record.progress.cost = { ...record.progress.cost, model: cost, total: cost };
  record.progress.usage = {
    ...{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, rounds: 1, tool_calls: 2 },
  };
  await front.finish(run, "succeeded", { progress: record.progress });
}

test("agents.endpoints.usage.p1, agents.endpoints.usage.1, agents.endpoints.usage.3, agents.resources.usage_row: runs are summed on the UTC day they finished", async () => {
  const start_ms = Date.UTC(2026, 10, 20, 23, 59, 59);
  await using front = await startRuns({}, { start_ms });
  await spend(front, 1_500_000);
  const late = await front.begin();
  await front.clock.advance(1_000);
  await front.finish(late, "failed");
  await spend(front, 250_000);
  await front.begin();
  const report = await front.read(`${PATH}?from=2026-11-20&to=2026-11-21`);
  const tokens = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, tool_calls: 2 };
  expect(report).toEqual({
    ...{ from: "2026-11-20", to: "2026-11-21", group_by: "day" },
    rows: [
      { date: "2026-11-20", ...NONE, runs: 1, succeeded: 1, ...tokens, cost_sar: "1.500000" },
      {
        ...{ date: "2026-11-21", ...NONE, runs: 2, succeeded: 1, failed: 1 },
        ...{ ...tokens, cost_sar: "0.250000" },
      },
    ],
    totals: {
      ...{ ...NONE, runs: 3, succeeded: 2, failed: 1, cost_sar: "1.750000" },
      ...{ prompt_tokens: 20, completion_tokens: 10, total_tokens: 30, tool_calls: 4 },
    },
  });
  const first = await front.read(`${PATH}?from=2026-11-20&to=2026-11-20`);
  expect([first.rows.length, first.totals.runs]).toEqual([1, 1]);
});

test("agents.does.cost.1, agents.resources.usage_row: an unknown price is null and counted, never zero", async () => {
  await using front = await startRuns();
  await spend(front, null);
  const unknown = await front.read(PATH);
  expect([unknown.rows[0].cost_sar, unknown.rows[0].unpriced_runs]).toEqual([null, 1]);
  expect([unknown.totals.cost_sar, unknown.totals.unpriced_runs]).toEqual([null, 1]);
  await spend(front, 0);
  const both = await front.read(PATH);
  expect([both.totals.cost_sar, both.totals.unpriced_runs]).toEqual(["0.000000", 1]);
  await spend(front, 7);
  expect((await front.read(PATH)).rows[0].cost_sar).toBe("0.000007");
});

test("agents.endpoints.usage.p2: by agent each agent with runs has a row", async () => {
  await using front = await startRuns();
  const other = await front.createAgent();
  await front.createAgent();
  await spend(front, 1);
  await spend(front, 2, other);
  await spend(front, 3, other);
  const { rows, group_by } = await front.read(`${PATH}?group_by=agent`);
  expect(group_by).toBe("agent");
  const found = rows.map(({ agent_id, runs, cost_sar }: Json) => [agent_id, runs, cost_sar]);
  expect(found.sort()).toEqual(
    [
      [front.agent.id, 1, "0.000001"],
      [other.id, 2, "0.000005"],
    ].sort(),
  );
});

test("agents.endpoints.usage.2, agents.limits.usage_window: the window is the last 30 days by default, and at most 92 days", async () => {
  await using front = await startRuns();
  const window = async (query: string) => {
    const { from, to } = await front.read(`${PATH}?${query}`);
    return [from, to];
  };
  expect(await window("")).toEqual(["2026-10-22", "2026-11-20"]);
  expect(await window("to=2026-03-30")).toEqual(["2026-03-01", "2026-03-30"]);
  expect(await window("from=2026-11-01")).toEqual(["2026-11-01", "2026-11-20"]);
  expect(await window("to=2000-01-05")).toEqual(["2000-01-01", "2000-01-05"]);
  expect(await window("from=9999-12-30&to=9999-12-30")).toEqual(["9999-12-30", "9999-12-30"]);
  expect(await window("from=2026-01-01&to=2026-04-03")).toEqual(["2026-01-01", "2026-04-03"]);
});

test("agents.endpoints.usage.4, agents.errors.invalid_request: days that do not exist, are out of range or in reverse order differ from schema errors", async () => {
  await using front = await startRuns();
  for (const [query, param] of [
    ["from=2026-02-30", "from"],
    ["to=2026-13-01", "to"],
    ["from=2025-02-29&to=2025-03-01", "from"],
    ["from=1999-12-31&to=2000-01-05", "from"],
    ["to=1999-12-31", "to"],
    ["to=9999-12-31", "to"],
    ["from=2026-11-02&to=2026-11-01", "from"],
    ["from=2026-11-21", "from"],
    ["from=2026-01-01&to=2026-04-04", "from"],
  ]) {
    const response = await front.get(`${PATH}?${query}`);
    expect([query, response.status]).toEqual([query, 400]);
    await expectRefusal(response, 400, "invalid_request", param);
  }
  for (const [query, param] of [
    ["from=2026-2-3", "from"],
    ["from=", "from"],
    ["to=20261101", "to"],
    ["group_by=key", "group_by"],
    ["by=day", "by"],
  ]) {
    await expectRefusal(await front.get(`${PATH}?${query}`), 400, undefined, param);
  }
});

test("agents.authentication.3: each account sees its own sums; a key without the scope sees none, even in the grace period", async () => {
  await using front = await startRuns({ more: "[agents]\nenforce_scope = false" });
  await spend(front, 5);
  const { key } = await allow(front, "rival", { scopes: ["agents"] });
  expect(await front.read(PATH, { key })).toMatchObject({ rows: [], totals: NONE });
  const bare = await createKey(front);
  await expectRefusal(await front.get(PATH, { key: bare }), 403, "scope_required");
  expect((await front.get("/v1/runs", { key: bare })).status).toBe(200);
});
