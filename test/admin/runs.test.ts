// Tests the operator's run commands: lists, one with its steps, and a followed one.
import { expect, test } from "bun:test";
import type { Account } from "../../src/access/index.ts";
import { walkAccounts } from "../../src/admin/accounts.ts";
import { AdminError } from "../../src/admin/index.ts";
import { runOperations } from "../../src/admin/operations/runs.ts";
import { createRunView } from "../../src/admin/run-view.ts";
import type { RunListOptions } from "../../src/admin/runs.ts";
import { measureRun } from "../../src/agents/index.ts";
import { makeSteps, startRuns } from "../spec/agents/runs-front.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const ACTOR = { kind: "operator", name: "noura", via: "test" } as never;
const ANY: RunListOptions = {
  ...{ account: null, agent: null, status: null, trigger_kind: null, since: null, text: null },
  ...{ metadata: null, stage: null, before: null, limit: 20 },
};

test("runs are listed newest first, by account, agent or status", async () => {
  await using front = await startRuns();
  const { runs } = front.app.admin;
  const first = await front.begin();
  await front.clock.advance(1_000);
  const key = "svc_sk_test-other";
  const theirs = await front.createAgent({}, { key });
  const path = `/v1/agents/${theirs.id}/runs`;
  await front.post(path, { input: { message: "x" } }, { key });
  await front.clock.advance(1_000);
  const last = await front.begin();
  await front.finish(first);
  const list = async (wish: Partial<RunListOptions>) =>
    (await runs.list({ ...ANY, ...wish })).map((run) => [run.account, run.status]);
  const [mine, other, done] = [
    ["dev", "running"],
    ["other", "queued"],
    ["dev", "succeeded"],
  ];
  expect(await list({})).toEqual([mine!, other!, done!]);
  expect(await list({ limit: 2 })).toEqual([mine!, other!]);
  expect(await list({ account: "other" })).toEqual([other!]);
  expect(await list({ agent: front.agent.id.toUpperCase() })).toEqual([mine!, done!]);
  expect(await list({ agent: front.agent.id, account: "other" })).toEqual([]);
  expect(await list({ status: "succeeded" })).toEqual([done!]);
  const [newest, others] = await runs.list(ANY);
  expect(newest).toMatchObject({ id: last.id, cost: 0, rounds: 0, agent_name: front.agent.name });
  expect(others).toMatchObject({ title: "x", agent_name: theirs.name });
  for (const wrong of [{ agent: "x" }, { agent: UNKNOWN }, { account: "no" }]) {
    expect(runs.list({ ...ANY, ...wrong })).rejects.toBeInstanceOf(AdminError);
  }
});

test("active runs, and pages of ended ones, are listed by kind, time and text", async () => {
  await using front = await startRuns();
  const { runs } = front.app.admin;
  const message = 'Pay "INV-7%"\nat once';
  const paid = await front.begin({ input: { message } });
  await front.finish(paid, "failed");
  await front.clock.advance(60_000);
  const ended: { id: string }[] = [];
  for (let n = 0; n < 3; n++) {
    const run = await front.begin();
    await front.finish(run);
    ended.push(run as { id: string });
  }
  const waiting = await front.begin();
  const list = async (wish: Partial<RunListOptions>) =>
    (await runs.list({ ...ANY, ...wish })).map(({ id }) => id);
  const newest = ended.map(({ id }) => id).reverse();
  expect(await list({ stage: "active" })).toEqual([waiting.id]);
  expect(await list({ stage: "ended", limit: 2 })).toEqual(newest.slice(0, 2));
  expect(await list({ stage: "ended", before: newest[1]! })).toEqual([newest[2], paid.id]);
  expect(await list({ account: "dev", before: newest[1]! })).toEqual([newest[2], paid.id]);
  expect(await list({ since: "30s" })).toEqual([waiting.id, ...newest]);
  expect(await list({ trigger_kind: "cron" })).toEqual([]);
  for (const text of ["inv-7%", '"INV-7%"', '%"\nat', paid.id.slice(-8).toUpperCase()]) {
    expect([text, ...(await list({ text }))]).toEqual([text, paid.id]);
  }
  for (const text of ["INV_7", "INV-7_", "%%"]) expect(await list({ text })).toEqual([]);
  const [row] = await runs.list({ ...ANY, status: "failed" });
  expect(row).toMatchObject({ title: 'Pay "INV-7%"', version: 1, error_code: "upstream_error" });
  await front.clock.advance(5_000);
  expect((await runs.list({ ...ANY, stage: "active" }))[0]).toMatchObject({ queued_ms: 5_000 });
  const count = async (wish: Partial<RunListOptions>) =>
    (await runs.count({ ...ANY, ...wish })).counts;
  expect(await count({})).toEqual({ queued: 1, succeeded: 3, failed: 1 });
  expect(await count({ since: "1s" })).toEqual({ queued: 1 });
  expect(await count({ since: "1h", text: "inv" })).toEqual({ failed: 1 });
  expect(await count({ agent: front.agent.id, account: "other" })).toEqual({});
});

test("a run's time is divided into queued, worked and waited", () => {
  const run = { status: "succeeded" as const, created_at: 1_000, started_at: 1_400 };
  const measure = (more: object, now = 9_000) =>
    Object.values(
      measureRun({ ...run, finished_at: null, stepped_at: null, worked_ms: 0, ...more }, now),
    );
  expect(measure({ status: "queued", started_at: null })).toEqual([8_000, 0, 0]);
  expect(measure({ finished_at: 5_000, worked_ms: 1_600 })).toEqual([400, 1_600, 2_000]);
  expect(measure({ status: "waiting_approval", worked_ms: 600 })).toEqual([400, 600, 7_000]);
  // A person's decision is waited for from the first millisecond.
  expect(measure({ status: "waiting_approval", worked_ms: 5 }, 1_682)).toEqual([400, 5, 277]);
  const running = { status: "running", worked_ms: 600, stepped_at: 4_000 };
  expect(measure(running)).toEqual([400, 5_600, 2_000]);
  // A rest below a second is that of claims and writes.
  expect(measure({ finished_at: 5_000, worked_ms: 2_601 })).toEqual([400, 3_600, 0]);
  expect(measure({ finished_at: 5_000, worked_ms: 2_600 })).toEqual([400, 2_600, 1_000]);
  // A process's clock may be behind.
  expect(measure({ finished_at: 500, worked_ms: 9 }, 400)).toEqual([400, 0, 0]);
});

test("a running run is shown as waiting only until its newest step, and at work since then", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const epoch = await front.claim();
  await front.clock.advance(5_000);
  await front.store.note(front.record(run, epoch, { steps: makeSteps(2) }));
  await front.clock.advance(2_000);
  const shown = await runOperations.show.run(front.app.admin, { id: run.id }, ACTOR);
  expect(shown).toMatchObject({ queued_ms: 0, worked_ms: 2_000, waited_ms: 5_000 });
});

test("runs of the same moment are listed by their ids, also of several accounts", async () => {
  await using front = await startRuns();
  const key = "svc_sk_test-other";
  const theirs = await front.createAgent({}, { key });
  for (let n = 0; n < 2; n++) {
    await front.askStart();
    await front.post(`/v1/agents/${theirs.id}/runs`, { input: { message: "x" } }, { key });
  }
  const listed = (await front.app.admin.runs.list(ANY)).map(({ id }) => id);
  expect(listed).toHaveLength(4);
  expect(listed).toEqual(listed.toSorted().reverse());
});

test("a walk of many accounts lets other work go on", async () => {
  const accounts = Array.from({ length: 1_000 }, (_, n) => ({ id: `a-${n}` }) as Account);
  let turns = 0;
  const count = () => {
    turns += 1;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  const walked: Account[] = [];
  for await (const account of walkAccounts(accounts)) walked.push(account);
  clearImmediate(turn);
  expect(walked).toEqual(accounts);
  expect(turns).toBeGreaterThan(5);
});

test("a run's steps are listed after a number", async () => {
  await using front = await startRuns();
  const { runs } = front.app.admin;
  const run = await front.begin();
  await front.finish(run, "failed", { steps: makeSteps(205) });
  const steps = await runs.listSteps(run.id.toUpperCase(), 100);
  expect(steps.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, i) => i + 101));
  expect((await runs.listSteps(run.id, 203, 1)).map(({ seq }) => seq)).toEqual([204]);
  expect(await runs.listSteps(run.id, 205)).toEqual([]);
  expect(runs.listSteps(UNKNOWN, 0)).rejects.toBeInstanceOf(AdminError);
  expect(runs.require("svc_sk_secret")).rejects.toThrow(/^(?!.*secret)/);
});

test("a step's times are those of its call, and of an older one those of its writing", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const data = { content: "Hi.", tool_calls: [], finish_reason: "stop", model: "stub-1" };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const reply = { ...data, usage, cost: null, duration_ms: 700 };
  const at = front.clock.now();
  const execution = {
    ...{ started_at: at - 900, ended_at: at - 100, waited_ms: 20, first_token_ms: 300 },
    ...{ replica: "127.0.0.1:8000", attempts: 1 },
  };
  await front.finish(run, "succeeded", {
    steps: [
      { id: "s-1", round: 1, kind: "assistant", data: reply, execution },
      { id: "s-2", round: 2, kind: "assistant", data: reply },
      ...makeSteps(1),
    ],
  });
  const iso = (ms: number) => new Date(ms).toISOString();
  const steps = await runOperations.listSteps.run(front.app.admin, { id: run.id }, ACTOR);
  const { started_at: _1, ended_at: _2, ...measured } = execution;
  const unknown = { waited_ms: null, first_token_ms: null, replica: null, attempts: null };
  expect(steps).toMatchObject([
    { seq: 1, ...measured, started_at: iso(at - 900), ended_at: iso(at - 100) },
    { seq: 2, started_at: iso(at - 700), ended_at: iso(at), ...unknown },
    { seq: 3, started_at: null, ended_at: null, ...unknown },
  ]);
  // Keys read the step without it.
  const listed = await front.read(`/v1/runs/${run.id}/steps`);
  expect(Object.keys(listed.data[0])).toEqual([
    "id",
    "run_id",
    "seq",
    "kind",
    "round",
    "created_at",
    "data",
  ]);
  const shown = await runOperations.show.run(front.app.admin, { id: run.id }, ACTOR);
  expect(shown).toMatchObject({ account: "dev", agent_name: front.agent.name, model: "stub-1" });
});

const REPLY = {
  ...{ content: "Done.", tool_calls: [], finish_reason: "stop", model: "stub-1" },
  ...{ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, cost: null },
  duration_ms: 700,
};
const REPLIED = [{ id: "s-1", round: 1, kind: "assistant" as const, data: REPLY }];

test("a round shows 65,536 characters of a text, 1,048,576 of all, and the length of each", async () => {
  const more = `[[models]]
id = "large"
self_hosted = true
capabilities = ["tools"]
context_window = 10_000_000
upstream = { kind = "stub" }
`;
  await using front = await startRuns({ more });
  const { runs } = front.app.admin;
  const agent = await front.createAgent({ model: "large" });
  const long = "a".repeat(65_536);
  const message = { content: null, tool_calls: null, tool_call_id: null, external: false };
  const tool_calls = [{ id: "c-1", name: "calculator", arguments: `{"a":"${long}"}` }];
  const said = [
    { content: `${long.slice(1)}\u{1f600}`, role: "assistant" as const, tool_calls },
    { content: long, role: "tool" as const, tool_call_id: "c-1" },
    ...Array.from({ length: 13 }, () => ({ content: `${long}!`, role: "assistant" as const })),
  ].map((fields, n) => ({ ...message, ...fields, id: `m-${n}` }));
  const first = await front.begin({}, agent);
  await front.finish(first, "succeeded", { messages: said });
  const asked = { thread_id: first.thread_id, input: { message: "Whole?" } };
  const run = await front.begin(asked, agent);
  await front.finish(run, "succeeded", {
    steps: REPLIED,
    messages: [{ ...message, id: "m-last", role: "assistant", content: "Done." }],
  });
  const { messages } = await runs.readRound(run.id, 1);
  const spoken = messages.map(({ content, characters }) => [content.length, characters]);
  const calls = messages.flatMap((one) => one.tool_calls.map((call) => call.arguments.length));
  const [system, hello] = ["You are brief.".length, "Hello".length];
  const cut = [65_536, 65_537];
  expect(spoken).toEqual([
    ...[[system, system], [hello, hello], cut, [65_536, 65_536]],
    ...Array.from({ length: 12 }, () => cut),
    ...[
      [65_536 - system - hello, 65_537],
      [0, "Whole?".length],
    ],
  ]);
  expect(calls).toEqual([65_536]);
  expect(spoken.reduce((sum, [shown]) => sum + shown!, calls[0]!)).toBe(1_048_576);
  // The cut falls into a pair of surrogates.
  expect(messages[2]!.content.at(-1)).toBe("\ufffd");
});

test("a run tells what its model writes only while it runs", async () => {
  await using front = await startRuns();
  const begun = await front.begin();
  const epoch = await front.claim();
  const { admin, access, database } = front.app;
  const live = { round: 1, text: "He", tool_calls: [] };
  const settings = { models: [] };
  const deps = { database, access, settings, clock: front.clock, readLive: async () => live };
  const directory = { names: async () => new Map([[front.account_id, "dev"]]) };
  const view = createRunView(deps as never, directory as never);
  expect(await view.describe(await admin.runs.require(begun.id))).toMatchObject({
    ...{ account: "dev", agent_name: "Clerk", live },
  });
  const ending = { status: "succeeded" as const, error: null, event_id: "e-1", fresh: [] };
  await front.store.finish(front.record(begun, epoch), ending);
  expect(await view.describe(await admin.runs.require(begun.id))).toMatchObject({ live: null });
});
