// Helpers for the tests of endpoints and deliveries, as callers of the API.
import type { AskOptions, TestApp } from "../../support/app.ts";
import { startRun } from "./population.ts";
import { createAgent, type Json, readJson } from "./service.ts";

export const PATH = "/v1/webhooks";
export const patch = (app: TestApp, id: string, body: object, options: AskOptions = {}) =>
  app.ask("PATCH", `${PATH}/${id}`, { body, ...options });

/** Creates this many events `run.failed`, each of a run cancelled before it begins. */
export async function happen(app: TestApp, count: number): Promise<void> {
  const { id } = await createAgent(app);
  for (let n = 0; n < count; n++) {
    const run = await startRun(app, id, { input: { message: "!stall" } });
    await readJson(await app.post(`/v1/runs/${run.id}/cancel`, undefined));
  }
}

/**
 * Fans out all events to the endpoints that selected them, as every change of an endpoint's events
 * does.
 */
export async function give(app: TestApp): Promise<void> {
  const body = { url: "https://none.example.com/", events: ["webhook.test"] };
  const { id } = await readJson(await app.post(PATH, body), 201);
  await app.ask("DELETE", `${PATH}/${id}`);
}

export async function listDeliveries(app: TestApp, id: string, query = ""): Promise<Json[]> {
  return (await readJson(await app.get(`${PATH}/${id}/deliveries${query}`))).data;
}

/** `count` of each in one text: "3 pending, 1 failed". */
export async function countDeliveries(app: TestApp, id: string): Promise<string> {
  const found = await listDeliveries(app, id, "?limit=200");
  const counts = Map.groupBy(found, ({ status }) => status as string);
  return [...counts].map(([status, { length }]) => `${length} ${status}`).join(", ");
}
