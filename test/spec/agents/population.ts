// An account with one of each object of the agents API, created through the API.
import { expect } from "bun:test";
import type { TestApp } from "../../support/app.ts";
import { kindOf, type Route } from "./routes.ts";
import {
  createAgent,
  createConnection,
  createTrigger,
  createWebhook,
  type Json,
  readJson,
} from "./service.ts";

/** Two rounds with calls of the stub's, and a third that answers. */
const SCRIPT = [
  '!tool calculator {"expression":"12.5 / 100 * 80"}',
  '!tool web_search {"query":"wadi"}',
  "!next",
  '!tool calculator {"expression":"1 / 0"}',
  "!next",
  "!say It is 10.",
].join("\n");

/** Two calls that need approval. */
const ASKING = '!tool calculator {"expression":"1 + 1"}\n!tool calculator {"expression":"2 + 2"}';
/** The address has no listener. */
export const ENDPOINT = "http://127.0.0.1:9/notes";

export interface Population {
  /** As registered: the second revision of a tool with a unique name. */
  tool: Json;
  /** A finished evaluation. */
  evaluation: Json;
  /** A connection that no tool uses. */
  connection: Json;
  /** An MCP server that does not answer; undefined where the operator has not opened them. */
  mcp: Json;
  agent: Json;
  /** An agent whose second version is current. */
  versions: Json[];
  /** The run as accepted. */
  queued: Json;
  /** The run as ended. */
  run: Json;
  steps: Json[];
  thread: Json;
  messages: Json[];
  /** The events of the run's stream. */
  frames: Json[];
  /** Approvals of a run that waits for both, started by the same key. */
  approvals: Json[];
  /** A trigger of kind webhook, as shown after its only fire. */
  trigger: Json;
  /** A manual fire whose run has ended. */
  fire: Json;
  /** An endpoint that is otherwise unused. */
  webhook: Json;
  /** The delivery of a test event. */
  delivery: Json;
}

/** `app` listens, so that its engine works, and lets its own machine be called. */
export async function populate(app: TestApp, key: string): Promise<Population> {
  const read = async (path: string) => readJson(await app.get(path, { key }));
  const agent = await createAgent(app, { tools: ["calculator", "web_search"] }, { key });
  const body = { system_prompt: "Be briefer." };
  const reply = await app.post(`/v1/agents/${agent.id}/versions`, body, { key });
  const version = await readJson(reply, 201);
  const queued = await startRun(app, agent.id, { input: { message: SCRIPT } }, key);
  const frames = await readStream(app, queued.id, key);
  const run = await read(`/v1/runs/${queued.id}`);
  return {
    tool: await registerTool(app, key),
    connection: await createConnection(app, { name: "Populated" }, { key }),
    mcp: await registerServer(app, key),
    ...(await createTestedWebhook(app, key)),
    evaluation: await evaluate(app, agent.id, key),
    agent: await read(`/v1/agents/${agent.id}`),
    versions: [agent.version, version],
    ...{ queued, run, frames },
    approvals: await askForApprovals(app, key),
    ...(await fireByHand(app, agent.id, key)),
    steps: (await read(`/v1/runs/${run.id}/steps`)).data,
    thread: await read(`/v1/threads/${run.thread_id}`),
    messages: (await read(`/v1/threads/${run.thread_id}/messages`)).data,
  };
}

async function evaluate(app: TestApp, agent_id: string, key: string): Promise<Json> {
  const begun = await app.post(`/v1/agents/${agent_id}/evaluations`, {}, { key });
  const { id } = await readJson(begun, 202);
  for (;;) {
    const found = await readJson(await app.get(`/v1/evaluations/${id}`, { key }));
    if (found.finished_at !== null) return found;
    await app.clock.advance(0);
  }
}

async function fireByHand(app: TestApp, agent_id: string, key: string) {
  const input = { message: "!say It went off." };
  const { id } = await createTrigger(app, { agent_id, overlap: "allow", input }, { key });
  const fired = await app.post(`/v1/triggers/${id}/fires`, undefined, { key });
  const { fire } = await readJson(fired, 202);
  await readStream(app, fire.run_id, key);
  return { fire, trigger: await readJson(await app.get(`/v1/triggers/${id}`, { key })) };
}

/** Ids of every kind of object that a path names, by its kind; of a tool its name. */
export const listOwn = (of: Population): Record<string, string> => ({
  agent: of.agent.id,
  tool: of.tool.name,
  connection: of.connection.id,
  ...(of.mcp && { mcp: of.mcp.id }),
  run: of.run.id,
  evaluation: of.evaluation.id,
  thread: of.thread.id,
  approval: of.approvals[0].id,
  trigger: of.trigger.id,
  fire: of.fire.id,
  webhook: of.webhook.id,
  delivery: of.delivery.id,
});

/** The parameters of a route's path, from these ids. */
export const listParams = (route: Pick<Route, "path">, own: Record<string, string>) => ({
  ...{ id: own[kindOf(route)]!, name: own.tool!, delivery_id: own.delivery! },
});

async function createTestedWebhook(app: TestApp, key: string) {
  const { id } = await createWebhook(app, { events: ["approval.decided"] }, { key });
  const delivery = await readJson(
    await app.post(`/v1/webhooks/${id}/test`, undefined, { key }),
    202,
  );
  return { webhook: await readJson(await app.get(`/v1/webhooks/${id}`, { key })), delivery };
}

async function registerServer(app: TestApp, key: string): Promise<Json> {
  const reply = await app.post("/v1/mcp/servers", { name: "silent", url: ENDPOINT }, { key });
  return reply.status === 403 ? undefined : readJson(reply, 201);
}

async function askForApprovals(app: TestApp, key: string): Promise<Json[]> {
  const fields = { tools: ["calculator"], policy: { require_approval: ["calculator"] } };
  const agent = await createAgent(app, fields, { key });
  const { id } = await startRun(app, agent.id, { input: { message: ASKING } }, key);
  for (;;) {
    const { status } = await readJson(await app.get(`/v1/runs/${id}`, { key }));
    if (status === "waiting_approval") break;
    await app.clock.advance(0);
  }
  return (await readJson(await app.get(`/v1/approvals?run_id=${id}`, { key }))).data;
}

async function registerTool(app: TestApp, key: string): Promise<Json> {
  const name = `${key.replaceAll("-", "_")}_note`;
  const text = { type: "string" };
  const body = {
    description: "Keeps a note.",
    parameters: { type: "object", properties: { to: text, text } },
    endpoint: ENDPOINT,
  };
  await readJson(await app.post("/v1/tools", { name, ...body }, { key }), 201);
  const path = `/v1/tools/${name}/revisions`;
  return readJson(await app.post(path, { ...body, title: "Note" }, { key }), 201);
}

export async function startRun(
  app: TestApp,
  agent_id: string,
  body: object,
  key?: string,
): Promise<Json> {
  return readJson(await app.post(`/v1/agents/${agent_id}/runs`, body, { key }), 202);
}

/** Every frame of a run's stream up to its end, which this waits for. */
async function readStream(app: TestApp, run_id: string, key?: string): Promise<Json[]> {
  const reply = await app.get(`/v1/runs/${run_id}/events`, { key });
  expect([reply.status, reply.headers.get("content-type")]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
  ]);
  const blocks = (await reply.text()).split("\n\n");
  expect(blocks.splice(-2)).toEqual(["data: [DONE]", ""]);
  return blocks
    .filter((block) => !block.startsWith(":"))
    .map((block) => JSON.parse(block.slice(6)));
}
