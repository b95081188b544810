// Evaluations: many runs repeated on a version, and what came of each.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AdminError,
  evaluationOperations,
  nameLocalActor,
  perform,
} from "../../../src/admin/index.ts";
import { readArguments } from "../../../src/cli/arguments.ts";
import type { CommandTable } from "../../../src/cli/command.ts";
import { loadAllCommands } from "../../../src/cli/families.ts";
import { createOutput } from "../../../src/cli/output.ts";
import { openReceiver, type Receiver } from "../../agents/tools/http/receiver.ts";
import { type AskOptions, startApp, type TestApp } from "../../support/app.ts";
import {
  type AskedRequest,
  answerText,
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream.ts";
import { createAgent, type Json, readJson } from "./service.ts";
import { register } from "./tools-bodies.ts";

const settings = (url: string) => `
[limits]
requests_per_minute = 1_000_000
address_requests_per_minute = 1_000_000
active_runs = 50
[egress]
allow = ["127.0.0.1:*"]
[[models]]
id = "own"
self_hosted = true
capabilities = ["tools"]
upstream = { kind = "openai", urls = ["${url}"] }
`;

type Message = { role: string; content: string };

/** Calls the tool with the question, then answers in the manner of its system prompt. */
function reply({ body }: AskedRequest): Response {
  const messages = body.messages as Message[];
  const last = messages.at(-1)!;
  if (last.role === "tool") {
    const manner = messages[0]!.content.includes("SHOUT") ? "FOUND" : "found";
    return answerText(`${manner} ${messages.find(({ role }) => role === "user")!.content}`);
  }
  const call = { name: "look_up", arguments: JSON.stringify({ to: last.content }) };
  const message = {
    ...{ role: "assistant", content: null },
    tool_calls: [{ id: "call-1", type: "function", function: call }],
  };
  return Response.json({
    ...{ id: "u", object: "chat.completion", created: 1, model: "own" },
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  });
}

let model: ScriptedUpstream;
let receiver: Receiver;
let app: TestApp;
let agent: Json;
beforeAll(async () => {
  model = startUpstream(reply);
  receiver = openReceiver();
  app = await startApp({ listens: true, settings: settings(model.url) });
  agent = await prepare(app);
});
afterAll(async () => {
  await app.stop();
  receiver[Symbol.dispose]();
  await model.stop();
});

async function prepare(at: TestApp): Promise<Json> {
  await register(at, { name: "look_up", endpoint: `${receiver.origin}/`, risk: "read" });
  return createAgent(at, { system_prompt: "Be calm.", tools: ["look_up"] });
}

async function record(at: TestApp, { id }: Json, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < count; from += 25) {
    const begun = Array.from({ length: Math.min(25, count - from) }, async (_, n) => {
      const body = { input: { message: `question ${from + n}` } };
      const run = await readJson(await at.post(`/v1/agents/${id}/runs`, body), 202);
      await (await at.get(`/v1/runs/${run.id}/events`)).text();
      return run.id as string;
    });
    ids.push(...(await Promise.all(begun)));
  }
  return ids;
}

const askStart = (body: object, options?: AskOptions) =>
  app.post(`/v1/agents/${agent.id}/evaluations`, body, options);

async function finished(at: TestApp, { id }: Json): Promise<Json> {
  for (;;) {
    const found = await readJson(await at.get(`/v1/evaluations/${id}`));
    if (found.finished_at !== null) return found;
    await at.clock.advance(0);
  }
}

/** The table of `wadi agents evaluation`. */
async function printEvaluation(id: string): Promise<string> {
  const command = (await loadAllCommands()).find(({ name }) => name === "agents evaluation")!;
  const { token: own } = await app.app.admin.operators.create({ name: "noura", role: "operator" });
  const { WADI_OPERATOR_TOKEN: token } = process.env;
  process.env.WADI_OPERATOR_TOKEN = own;
  const printed: string[] = [];
  try {
    const output = createOutput(
      false,
      (text) => printed.push(text),
      () => {},
    );
    const input = await readArguments(command, [id, "--server", app.url]);
    expect(await command.run(input, output, {} as CommandTable)).toBe(0);
  } finally {
    if (token === undefined) delete process.env.WADI_OPERATOR_TOKEN;
    else process.env.WADI_OPERATOR_TOKEN = token;
  }
  return printed.join("");
}

const evaluate = async (body: object) => finished(app, await readJson(await askStart(body), 202));

test("300 recorded runs are evaluated on a new version: no request reaches the tool's receiver, and a changed prompt's difference stands in the table", async () => {
  const ids = await record(app, agent, 300);
  expect(receiver.received).toHaveLength(300);
  await readJson(
    await app.post(`/v1/agents/${agent.id}/versions`, { system_prompt: "SHOUT." }),
    201,
  );
  const checks = [{ end: "succeeded" }, { called: { tool: "look_up" } }, { max_rounds: 2 }];
  const found = await evaluate({ last: 300, checks });
  expect(receiver.received).toHaveLength(300);
  expect(found).toMatchObject({
    ...{ status: "finished", version: 2, tools: "recorded", total: 300, done: 300, passed: 300 },
    checks,
  });
  expect(found.results.map(({ run_id }: Json) => run_id).toSorted()).toEqual(ids.toSorted());
  for (const { before, after, same, rerun_id } of found.results as Json[]) {
    expect(same).toEqual({ end: true, calls: true, text: false });
    expect([before.version, after.version, after.run_id]).toEqual([1, 2, rerun_id]);
    expect(before.text).toStartWith("found question");
    expect(after.text).toBe(before.text.replace("found", "FOUND"));
  }
  const table = await printEvaluation(found.id);
  const lines = table.split("\n").filter((line) => /^[0-9a-f-]{36} +passed /.test(line));
  expect(lines).toHaveLength(300);
  for (const line of lines) expect(line).toMatch(/ 2 +same .* differs$/);
  expect(table).toMatch(/"found question \d+" -> "FOUND question \d+"/);
  const { rerun_id, run_id } = found.results[0];
  const rerun = await readJson(await app.get(`/v1/runs/${rerun_id}`));
  expect(rerun).toMatchObject({ rerun_of: run_id, status: "succeeded" });
}, 240_000);

test("a check that fails and a run that could not be repeated are told per run, and a run named twice counts once", async () => {
  const [first, second] = await record(app, agent, 2);
  const runs = [first!, second!];
  const failing = await evaluate({ runs, version: 1, checks: [{ output_pattern: "FOUND" }] });
  expect(failing).toMatchObject({ total: 2, passed: 0 });
  expect(failing.results[0].failures).toEqual([
    { check: 0, message: "Its text does not match FOUND" },
  ]);
  const unchecked = await evaluate({ runs: [first!, first!] });
  expect(unchecked).toMatchObject({ total: 1, passed: 1 });
  // The key ends while no rerun can start.
  const { admin } = app.app;
  const asked = { account: "dev", name: null, is_internal: false, max_output_tokens: null };
  const made = await admin.keys.create({
    ...{ ...asked, lifetimeMs: null, scopes: ["agents"], models: null },
  });
  await admin.agents.hold(agent.id, null);
  const begin = () =>
    perform(
      admin,
      evaluationOperations.start,
      { agent: agent.id, runs, key: made.key.id },
      nameLocalActor(),
    ) as Promise<Json>;
  const whileHeld = await finished(app, await begin());
  expect(whileHeld.results).toMatchObject(Array(2).fill({ error: { code: "agent_held" } }));
  expect(whileHeld).toMatchObject({ passed: 0, done: 2 });
  await admin.agents.release(agent.id);
});

test("with live tools the calls are made", async () => {
  const runs = await record(app, agent, 2);
  const calls = receiver.received.length;
  expect(await evaluate({ runs, tools: "live" })).toMatchObject({ passed: 2, tools: "live" });
  expect(receiver.received).toHaveLength(calls + 2);
});

test("a start is refused with the place of what is wrong", async () => {
  const [run] = await record(app, agent, 1);
  const refused = async (body: object, status: number, options?: AskOptions) =>
    (await readJson(await askStart(body, options), status)).error as Json;
  expect((await refused({ version: 9 }, 404)).code).toBe("agent_version_not_found");
  const unknown = "0198f000-0000-7000-8000-000000000001";
  expect(await refused({ runs: [run, unknown] }, 404)).toMatchObject({
    ...{ code: "run_not_found", param: "runs.1" },
  });
  expect(await refused({ checks: [{ end: "succeeded" }, {}] }, 400)).toMatchObject({
    ...{ code: "invalid_request", param: "checks.1" },
  });
  expect(await refused({ checks: [{ output_pattern: "(?=x)" }] }, 400)).toMatchObject({
    ...{ code: "invalid_request", param: "checks.0.output_pattern" },
  });
  // 64 KiB of JSON, counted in bytes.
  const called = { tool: "look_up", arguments: { to: "é".repeat(32_000) } };
  const filled = called.arguments.to.padEnd(
    32_000 + 65_536 - Buffer.byteLength(JSON.stringify([{ called }])),
    "x",
  );
  const longest = {
    runs: [unknown],
    checks: [{ called: { ...called, arguments: { to: filled } } }],
  };
  expect((await refused(longest, 404)).param).toBe("runs.0");
  const longer = [{ called: { ...called, arguments: { to: `${filled}x` } } }];
  expect((await refused({ checks: longer }, 400)).param).toBe("checks");
  for (const body of [{ last: 0 }, { last: 501 }, { runs: [] }, { checks: [{ end: "queued" }] }]) {
    await refused(body, 400);
  }
  const foreign = { key: "svc_sk_test-other" };
  expect((await refused({}, 404, foreign)).code).toBe("agent_not_found");
  // agents.authentication.6: a run of another account is refused like an unknown one.
  const neighbour = await createAgent(app, { name: "Neighbour" });
  const stranger = await createAgent(app, { name: "Stranger" }, foreign);
  const sent = { input: { message: "hello" } };
  const begin = async ({ id }: Json, options?: AskOptions) =>
    (await readJson(await app.post(`/v1/agents/${id}/runs`, sent, options), 202)).id as string;
  const others = [await begin(neighbour), await begin(stranger, foreign)];
  for (const other of others) {
    expect(await refused({ runs: [run, other] }, 404)).toMatchObject({
      ...{ code: "run_not_found", param: "runs.1" },
    });
  }
  const mine = await readJson(await askStart({ runs: [run] }), 202);
  const other = await app.get(`/v1/evaluations/${mine.id}`, foreign);
  expect((await readJson(other, 404)).error.code).toBe("evaluation_not_found");
  await finished(app, mine);
  const fresh = await createAgent(app, { name: "Idle" });
  const idle = await app.post(`/v1/agents/${fresh.id}/evaluations`, {});
  expect((await readJson(idle, 400)).error.message).toContain("no run that has ended");
});

test("an operator's checks are refused as those of a key are, before any run is repeated", async () => {
  await record(app, agent, 1);
  const listed = async () => (await app.get(`/v1/agents/${agent.id}/evaluations`)).text();
  const before = await listed();
  const checks: [object, string][] = [
    [{ output_pattern: "[" }, "`checks.0.output_pattern` must be a pattern"],
    [
      { output_schema: { type: "string" } },
      '`checks.0.output_schema` must have the `type` "object"',
    ],
    [{ output_schema: { type: "object", required: 5 } }, "`checks.0.output_schema` must be valid"],
    [{ output_schema: "no object" }, "`checks.0.output_schema`"],
    [{ max_cost_sar: "much" }, "`checks.0.max_cost_sar` must be an amount"],
    [{}, "`checks.0` checks nothing"],
  ];
  for (const [check, message] of checks) {
    const answer = await askStart({ checks: [check] });
    const own = ((await readJson(answer, 400)).error as Json).message;
    const asked = { agent: agent.id, checks: [check] as never };
    const start = perform(app.app.admin, evaluationOperations.start, asked, nameLocalActor());
    const refusal = await start.catch((error) => error);
    expect(refusal).toBeInstanceOf(AdminError);
    expect([refusal.message, own]).toEqual([own, expect.stringContaining(message)]);
  }
  expect(await listed()).toBe(before);
});

test("a cancelled evaluation starts no further rerun, and a fourth under way is refused, as is a run under way", async () => {
  const held = Promise.withResolvers<void>();
  const runs = await record(app, agent, 10);
  model.script = async (asked) => {
    await held.promise;
    return reply(asked);
  };
  const started = await Promise.all(
    [1, 2, 3].map(async () => readJson(await askStart({ runs }), 202)),
  );
  expect((await readJson(await askStart({ runs }), 429)).error.code).toBe("evaluations_limit");
  for (const { id } of started) {
    const cancelled = await readJson(await app.post(`/v1/evaluations/${id}/cancel`, undefined));
    expect(cancelled).toMatchObject({ status: "cancelled", total: 10 });
    expect(cancelled.done).toBe(0);
  }
  const sent = { input: { message: "held" } };
  const live = await readJson(await app.post(`/v1/agents/${agent.id}/runs`, sent), 202);
  const early = (await readJson(await askStart({ runs: [live.id] }), 409)).error as Json;
  expect(early).toMatchObject({ code: "run_not_finished", param: "runs.0" });
  held.resolve();
  model.script = reply;
  await evaluate({ runs });
  for (const { id } of started) {
    const { results, status } = await readJson(await app.get(`/v1/evaluations/${id}`));
    expect(status).toBe("cancelled");
    expect(results.filter(({ rerun_id }: Json) => rerun_id).length).toBeLessThanOrEqual(8);
  }
});

test("the evaluations of an agent are listed in pages, to its account alone", async () => {
  const other = await createAgent(app, { name: "Lister", tools: ["look_up"] });
  const runs = await record(app, other, 1);
  const path = `/v1/agents/${other.id}/evaluations`;
  const started: string[] = [];
  for (let i = 0; i < 3; i++) {
    const begun = await readJson(await app.post(path, { runs }), 202);
    started.unshift((await finished(app, begun)).id);
    await app.clock.advance(1);
  }
  const first = await readJson(await app.get(`${path}?limit=2`));
  expect(first.data.map(({ id }: Json) => id)).toEqual(started.slice(0, 2));
  expect(first.data[0]).toMatchObject({ status: "finished", total: 1, done: 1 });
  expect(first.data[0].results).toBeUndefined();
  const rest = await readJson(await app.get(`${path}?limit=2&before=${first.next_before}`));
  expect([rest.data[0].id, rest.data.length, rest.next_before]).toEqual([started[2], 1, null]);
  const foreign = `/v1/agents/${agent.id}/evaluations?before=${first.next_before}`;
  expect((await readJson(await app.get(foreign), 400)).error.param).toBe("before");
  expect((await app.get(path, { key: "svc_sk_test-other" })).status).toBe(404);
});

test("an evaluation goes on after a restart, and repeats no run twice", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-evaluation-"));
  const place = { kind: "sqlite", file: join(directory, "wadi.db") } as const;
  const options = { listens: true, settings: settings(model.url), place };
  const first = await startApp({ ...options, seed: 1 });
  const clerk = await prepare(first);
  const runs = await record(first, clerk, 20);
  const held = Promise.withResolvers<void>();
  let asks = 0;
  model.script = async (asked) => {
    if (++asks > 6) await held.promise;
    return reply(asked);
  };
  const path = `/v1/agents/${clerk.id}/evaluations`;
  const begun = await readJson(
    await first.post(path, { runs, checks: [{ end: "succeeded" }] }),
    202,
  );
  while (asks <= 6) await first.clock.advance(0);
  const stopped = first.stop();
  held.resolve();
  await stopped;
  model.script = reply;
  const second = await startApp({ ...options, seed: 2 });
  const found = await finished(second, begun);
  expect(found).toMatchObject({ status: "finished", total: 20, passed: 20 });
  const reruns = await readJson(await second.get(`/v1/agents/${clerk.id}/runs?limit=200`));
  expect(reruns.data.filter(({ rerun_of }: Json) => rerun_of)).toHaveLength(20);
  await second.stop();
  rmSync(directory, { recursive: true });
}, 240_000);
