// The agent service with MCP servers, and what its tests ask of it.

import { yieldToEventLoop } from "../../../../src/platform/clock.ts";
import { startRun } from "../../../spec/agents/population.ts";
import { createAgent, type Json, readJson, SETTINGS } from "../../../spec/agents/service.ts";
import type { TestApp } from "../../../support/app.ts";
import { startApp } from "../../../support/app.ts";

export const startMcp = (settings = "mcp = true"): Promise<TestApp> =>
  startApp({ settings: `${SETTINGS}\n[agents]\n${settings}\n`, listens: true });

export async function addServer(app: TestApp, url: string, fields: Json = {}): Promise<Json> {
  return readJson(await app.post("/v1/mcp/servers", { name: "far", url, ...fields }), 201);
}

export const listTools = async (app: TestApp, id: string): Promise<Json[]> =>
  (await readJson(await app.get(`/v1/mcp/servers/${id}/tools`))).data;

export const refresh = async (app: TestApp, id: string): Promise<Json> =>
  readJson(await app.post(`/v1/mcp/servers/${id}/refresh`, undefined));

export async function setRisk(app: TestApp, name: string, risk: string): Promise<Json> {
  return readJson(await app.ask("PATCH", `/v1/tools/${name}`, { body: { risk } }));
}

/** A run that calls the tool once and ends: it, its result and what the model was told. */
export async function runOnce(
  app: TestApp,
  agent: Json,
  name: string,
  args: Json = { text: "hello" },
): Promise<{ run: Json; result: Json }> {
  const message = `!tool ${name} ${JSON.stringify(args)}\n!next\n!say Done.`;
  const { id } = await startRun(app, agent.id, { input: { message } });
  return endOf(app, id);
}

export async function endOf(app: TestApp, id: string): Promise<{ run: Json; result: Json }> {
  // Until its end, or until it waits for a person.
  await (await app.get(`/v1/runs/${id}/events`)).text();
  const { data } = await readJson(await app.get(`/v1/runs/${id}/steps`));
  const result = data.find(({ kind }: Json) => kind === "tool_result")?.data;
  return { run: await readJson(await app.get(`/v1/runs/${id}`)), result };
}

export const makeAgent = (app: TestApp, tools: readonly string[]): Promise<Json> =>
  createAgent(app, { tools });

/** The run, as soon as it is so. */
export async function follow(
  app: TestApp,
  id: string,
  isThere: (run: Json) => boolean,
): Promise<Json> {
  for (;;) {
    const run = await readJson(await app.get(`/v1/runs/${id}`));
    if (isThere(run)) return run;
  }
}

/** Asks until it is so. */
export async function until(isThere: () => Promise<boolean>): Promise<void> {
  while (!(await isThere())) await yieldToEventLoop();
}
