// POST /v1/runs/:id/rerun: what it takes, what it refuses, and what stays as it was.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openReceiver, type Receiver } from "../../agents/tools/http/receiver.ts";
import type { AskOptions, TestApp } from "../../support/app.ts";
import { startRun } from "./population.ts";
import { createAgent, type Json, readJson, startService } from "./service.ts";
import { register } from "./tools-bodies.ts";

let app: TestApp;
let receiver: Receiver;
let agent: Json;
beforeAll(async () => {
  app = await startService({ listens: true });
  receiver = openReceiver();
  await register(app, { name: "look_up", endpoint: `${receiver.origin}/`, risk: "irreversible" });
  await register(app, { name: "read_up", endpoint: `${receiver.origin}/`, risk: "read" });
  agent = await createAgent(app, { tools: ["look_up", "read_up"] });
});
afterAll(async () => {
  receiver[Symbol.dispose]();
  await app.stop();
});

const askRerun = (id: string, body: object = {}, options?: AskOptions) =>
  app.post(`/v1/runs/${id}/rerun`, body, options);

/** The run once it has ended. */
async function ended({ id }: Json): Promise<Json> {
  await (await app.get(`/v1/runs/${id}/events`)).text();
  return readJson(await app.get(`/v1/runs/${id}`));
}

const runOnce = async (message: string, fields: object = {}) =>
  ended(await startRun(app, agent.id, { input: { message }, ...fields }));
const rerunOnce = async (id: string, body: object = {}) =>
  ended(await readJson(await askRerun(id, body), 202));
const messagesOf = async ({ thread_id }: Json) =>
  (await readJson(await app.get(`/v1/threads/${thread_id}/messages`))).data;

const LOOK = '!tool read_up {"to":"Ada"}\n!next\n!say Done.';

test("a rerun with recorded tools calls no HTTP tool, and has a thread of its own", async () => {
  const first = await runOnce(LOOK);
  expect(first).toMatchObject({ status: "succeeded", rerun_of: null });
  const [before, calls] = [await messagesOf(first), receiver.received.length];
  const rerun = await rerunOnce(first.id);
  expect(rerun).toMatchObject({
    ...{ status: "succeeded", rerun_of: first.id, input: first.input, output: first.output },
    ...{ version: 1, trigger_kind: "manual", metadata: {} },
  });
  expect(rerun.thread_id).not.toBe(first.thread_id);
  expect(receiver.received).toHaveLength(calls);
  expect(await messagesOf(first)).toEqual(before);
  const texts = (messages: Json[]) => messages.map(({ content }) => content);
  expect(texts(await messagesOf(rerun))).toEqual(texts(before));
  expect((await rerunOnce(rerun.id)).output).toEqual(first.output);
});

test("a rerun with live tools calls them again", async () => {
  const first = await runOnce(LOOK);
  const calls = receiver.received.length;
  await rerunOnce(first.id, { tools: "live" });
  expect(receiver.received).toHaveLength(calls + 1);
});

test("another version, another input and a later round are taken", async () => {
  const first = await runOnce(LOOK);
  const changed = { system_prompt: "Be very brief." };
  await readJson(await app.post(`/v1/agents/${agent.id}/versions`, changed), 201);
  expect((await rerunOnce(first.id)).version).toBe(2);
  const input = { message: "!say Other." };
  expect(await rerunOnce(first.id, { version: 1, input })).toMatchObject({
    ...{ version: 1, input, output: { message: "Other." } },
  });
  const later = await rerunOnce(first.id, { from_round: 2 });
  expect(later).toMatchObject({ status: "succeeded", usage: { rounds: 2 } });
  expect(later.usage.total_tokens).toBeLessThan(first.usage.total_tokens);
});

test("a call with other arguments than the recorded ones ends the rerun with not_recorded", async () => {
  const first = await runOnce(LOOK);
  const calls = receiver.received.length;
  const input = { message: LOOK.replace("Ada", "Bob") };
  expect(await rerunOnce(first.id, { input })).toMatchObject({
    ...{ status: "failed", error: { code: "not_recorded" } },
  });
  expect(receiver.received).toHaveLength(calls);
});

test("the thread of a rerun begins with what the run found in its own", async () => {
  const { thread_id } = await runOnce("!say One.");
  const second = await runOnce("!say Two.", { thread_id });
  await runOnce("!say Three.", { thread_id });
  const rerun = await rerunOnce(second.id);
  const messages = await messagesOf(rerun);
  expect(messages.map(({ seq, content }: Json) => `${seq} ${content}`)).toEqual([
    ...["1 !say One.", "2 One.", "3 !say Two.", "4 Two."],
  ]);
  const ids = (await messagesOf(second)).map(({ id }: Json) => id);
  expect(messages.filter(({ id }: Json) => ids.includes(id))).toEqual([]);
  expect(await readJson(await app.get(`/v1/threads/${rerun.thread_id}`))).toMatchObject({
    ...{ message_count: 4, status: "idle" },
  });
});

test("an Idempotency-Key makes it safe to send again", async () => {
  const first = await runOnce("!say Once.");
  const headers = { "idempotency-key": "rerun-1" };
  const ids = await Promise.all(
    [1, 2].map(async () => (await readJson(await askRerun(first.id, {}, { headers }), 202)).id),
  );
  expect(new Set(ids).size).toBe(1);
  const other = await askRerun(first.id, { tools: "live" }, { headers });
  const second = await runOnce("!say Twice.");
  for (const reply of [other, await askRerun(second.id, {}, { headers })]) {
    expect(await readJson(reply, 409)).toMatchObject({ error: { code: "idempotency_conflict" } });
  }
});

test("a run that has not ended, a missing version and a round that was not are refused", async () => {
  const first = await runOnce("!say Once.");
  const refused = async (asked: Response, status: number) =>
    (await readJson(asked, status)).error as Json;
  const waiting = await startRun(app, agent.id, {
    input: { message: '!tool look_up {"to":"Ada"}\n!next\n!say Done.' },
  });
  expect((await refused(await askRerun(waiting.id), 409)).code).toBe("run_not_finished");
  const versionless = await refused(await askRerun(first.id, { version: 99 }), 404);
  expect(versionless.code).toBe("agent_version_not_found");
  expect(await refused(await askRerun(first.id, { from_round: 2 }), 400)).toMatchObject({
    ...{ code: "invalid_request", param: "from_round" },
  });
  for (const body of [{ from_round: 0 }, { tools: "none" }, { input: {} }, { other: 1 }]) {
    await refused(await askRerun(first.id, body), 400);
  }
  const unknown = await askRerun("0198f000-0000-7000-8000-000000000001");
  expect((await refused(unknown, 404)).code).toBe("run_not_found");
  const foreign = await askRerun(first.id, {}, { key: "svc_sk_test-other" });
  expect((await refused(foreign, 404)).code).toBe("run_not_found");
});
