// The app with several models, and agents in it, for the tests of the agent service.
import { expect } from "bun:test";
import type { AskOptions, TestApp, TestAppOptions } from "../../support/app.ts";
import { startApp } from "../../support/app.ts";

/** `own` is the default; `plain` takes no tools, `rented` needs a grant, `secret` is not even seen without one. */
export const SETTINGS = `
[limits]
requests_per_minute = 1_000_000
address_requests_per_minute = 1_000_000
tools = 10_000
[egress]
allow = ["127.0.0.1:*"]
[[models]]
id = "own"
self_hosted = true
capabilities = ["tools", "streaming"]
upstream = { kind = "stub" }
[[models]]
id = "second"
self_hosted = true
capabilities = ["tools"]
upstream = { kind = "stub" }
[[models]]
id = "plain"
self_hosted = true
upstream = { kind = "stub" }
[[models]]
id = "rented"
capabilities = ["tools"]
upstream = { kind = "stub" }
[[models]]
id = "secret"
self_hosted = true
visibility = "private"
upstream = { kind = "stub" }
`;

export function startService(options: TestAppOptions = {}): Promise<TestApp> {
  return startApp({ settings: `${SETTINGS}[agents]\nmcp = true\n`, ...options });
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into replies of every shape.
export type Json = any;

/** The JSON of a reply that must have this status. */
export async function readJson(response: Response, status = 200): Promise<Json> {
  const value = await response.json();
  expect([response.status, value]).toEqual([status, expect.anything()]);
  return value;
}

/** A new connection, as its creation answered. */
export async function createConnection(
  app: TestApp,
  fields: object = {},
  options: AskOptions = {},
): Promise<Json> {
  const body = { name: "Letters", kind: "bearer", secret: "sk_of_letters_1f9d", ...fields };
  return readJson(await app.post("/v1/tools/connections", body, options), 201);
}

/** A new trigger of an agent, as its creation answered: of kind webhook, with its secret. */
export async function createTrigger(
  app: TestApp,
  fields: { agent_id: string; [name: string]: unknown },
  options: AskOptions = {},
): Promise<Json> {
  const body = { name: "Knock", kind: "webhook", ...fields };
  return readJson(await app.post("/v1/triggers", body, options), 201);
}

/** A new endpoint as returned at its creation, with its secret. Its address has no listener. */
export async function createWebhook(
  app: TestApp,
  fields: object = {},
  options: AskOptions = {},
): Promise<Json> {
  const body = { url: "http://127.0.0.1:9/hooks", events: ["run.completed"], ...fields };
  return readJson(await app.post("/v1/webhooks", body, options), 201);
}

/** A new agent, as its creation answered. */
export async function createAgent(
  app: TestApp,
  fields: object = {},
  options: AskOptions = {},
): Promise<Json> {
  const body = { name: "Helper", system_prompt: "Be brief.", ...fields };
  return readJson(await app.post("/v1/agents", body, options), 201);
}
