// Prometheus metrics of runs, their calls, approvals, fires and deliveries.
import { expect, test } from "bun:test";
import { RunFigures } from "../../src/agents/metrics.ts";
import type { WakeListener } from "../../src/database/store.ts";
import { openMetrics } from "../../src/platform/metrics.ts";
import { KEY, startApp, type TestApp } from "../support/app.ts";
import { createManualClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";

async function scrape(app: TestApp): Promise<Record<string, number>> {
  const text = await (await app.get("/metrics", { key: null })).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const samples = lines.map((line) => /^(.+) (\S+)$/.exec(line)!);
  return Object.fromEntries(samples.map(([, name, value]) => [name!, Number(value)]));
}

/** Lets kept values grow old, and scrapes. */
async function scrapeAnew(app: TestApp) {
  await app.clock.advance(5_000);
  return scrape(app);
}

async function makeAgent(app: TestApp, fields: object = {}): Promise<string> {
  const made = await app.post("/v1/agents", { name: "A", system_prompt: "Help.", ...fields });
  return ((await made.json()) as { id: string }).id;
}

async function start(app: TestApp, agent: string, message: string): Promise<string> {
  const reply = await app.post(`/v1/agents/${agent}/runs`, { input: { message } });
  expect(reply.status).toBe(202);
  return ((await reply.json()) as { id: string }).id;
}

async function becomes(app: TestApp, id: string, status: string): Promise<void> {
  for (;;) {
    const run = (await (await app.get(`/v1/runs/${id}`)).json()) as { status: string };
    if (run.status === status) return;
    await app.clock.advance(0);
  }
}

test("the page shows the number of executing runs", async () => {
  const app = await startApp({ hasOpenMetrics: true, listens: true });
  const readExecuting = async () => (await scrape(app)).wadi_runs_executing;
  expect(await readExecuting()).toBe(0);
  await start(app, await makeAgent(app), "!stall");
  let executing = await readExecuting();
  while (executing === 0) executing = await readExecuting();
  expect(executing).toBe(1);
  await app.stop();
});

test("runs count by their end and calls by their outcome, also where nobody executes the run", async () => {
  const app = await startApp({ hasOpenMetrics: true, listens: true });
  const agent = await makeAgent(app, { tools: ["calculator", "memory_set"] });
  const add = '!tool calculator {"expression":"1+1"}';
  await becomes(
    app,
    await start(app, agent, `${add}\n!tool nothing {}\n!next\n!say Two.`),
    "succeeded",
  );
  await becomes(app, await start(app, agent, "!error context_length_exceeded"), "failed");
  const note = '!tool memory_set {"key":"tone","content":"Friendly"}';
  const waiting = await start(app, agent, note);
  await becomes(app, waiting, "waiting_approval");
  expect((await app.post(`/v1/runs/${waiting}/cancel`, {})).status).toBe(200);
  await becomes(app, waiting, "cancelled");
  expect(await scrape(app)).toMatchObject({
    'wadi_runs_ended_total{status="succeeded"}': 1,
    'wadi_runs_ended_total{status="failed"}': 1,
    'wadi_runs_ended_total{status="budget_exceeded"}': 0,
    'wadi_runs_ended_total{status="cancelled"}': 1,
    'wadi_tool_calls_total{outcome="ok"}': 1,
    'wadi_tool_calls_total{outcome="unknown_tool"}': 1,
  });
  await app.stop();
});

test("the end of a run counts in the process that wrote it, and in no other", async () => {
  const database = await openTestDatabase({ kind: "memory" });
  let announce: WakeListener = () => {};
  const listen: typeof database.listen = (_, run) => {
    announce = run;
    return () => {};
  };
  const metrics = await openMetrics();
  new RunFigures({ ...database, listen }).show(metrics, createManualClock(), () => 0);
  announce("succeeded r-1", true);
  announce("succeeded r-2", false);
  announce("failed r-3", false);
  announce(null, false);
  const shown = await metrics.write();
  expect(shown).toContain('wadi_runs_ended_total{status="succeeded"} 1\n');
  expect(shown).toContain('wadi_runs_ended_total{status="failed"} 0\n');
  await database.close();
});

test("pending approvals and queued runs are counted, with the age of the oldest", async () => {
  const settings = "[limits]\nconcurrent_runs = 1\n";
  const app = await startApp({ settings, hasOpenMetrics: true, listens: true });
  const agent = await makeAgent(app, { tools: ["memory_set"] });
  const note = '!tool memory_set {"key":"tone","content":"Friendly"}\n!next\n!say Noted.';
  await becomes(app, await start(app, agent, note), "waiting_approval");
  await app.clock.advance(60_000);
  await becomes(app, await start(app, agent, "!stall"), "running");
  await start(app, agent, "Hello");
  expect(await scrapeAnew(app)).toMatchObject({
    wadi_approvals_pending: 1,
    wadi_approvals_oldest_age_seconds: 65,
    wadi_runs_queued: 1,
    wadi_runs_oldest_queued_age_seconds: 5,
  });
  const listed = await app.get("/v1/approvals", { key: `${KEY}-approver` });
  const [approval] = ((await listed.json()) as { data: { id: string }[] }).data;
  const decided = `/v1/approvals/${approval!.id}/reject`;
  expect((await app.post(decided, {}, { key: `${KEY}-approver` })).status).toBe(200);
  expect(await scrapeAnew(app)).toMatchObject({
    wadi_approvals_pending: 0,
    wadi_approvals_oldest_age_seconds: 0,
    // The run that asked waits for the one place.
    wadi_runs_queued: 2,
  });
  await app.stop();
});

test("fires count by outcome, waiting deliveries at their endpoints, refusals by code", async () => {
  const settings = '[limits]\nendpoints = 1\n[egress]\nallow = ["127.0.0.1:9"]\n';
  const app = await startApp({ settings, hasOpenMetrics: true, listens: true });
  const agent = await makeAgent(app);
  const endpoint = { url: "http://127.0.0.1:9/", events: ["trigger.fired"] };
  expect((await app.post("/v1/webhooks", endpoint)).status).toBe(201);
  expect((await app.post("/v1/webhooks", endpoint)).status).toBe(429);
  const input = { message: "Hello" };
  const trigger = { name: "T", kind: "cron", agent_id: agent, cron: "0 9 * * *", input };
  const made = (await (await app.post("/v1/triggers", trigger)).json()) as { id: string };
  expect((await app.post(`/v1/triggers/${made.id}/fires`, {})).status).toBe(202);
  let samples = await scrapeAnew(app);
  while (samples.wadi_deliveries_waiting === 0) samples = await scrapeAnew(app);
  expect(samples).toMatchObject({
    'wadi_trigger_fires_total{outcome="started"}': 1,
    'wadi_trigger_fires_total{outcome="limited"}': 0,
    wadi_deliveries_waiting: 1,
    'wadi_refusals_total{code="endpoints_limit"}': 1,
  });
  await app.stop();
});
