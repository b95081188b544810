// The module on its own database, without routes.
import { readSettings } from "../../src/settings/index.ts";
import { Deliveries } from "../../src/webhooks/deliveries.ts";
import type { WebhookDeps } from "../../src/webhooks/deps.ts";
import { Endpoints } from "../../src/webhooks/endpoints.ts";
import { webhookStore } from "../../src/webhooks/store/index.ts";
import { createManualClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { openTestSecrets } from "../support/secrets.ts";
import { bindWebhookWrites } from "../support/webhooks.ts";

export const ACCOUNT = "a-1";
export const REQUEST = {
  url: "https://hooks.example.com/wadi",
  events: ["run.completed" as const],
};

/** `settings` is the text of a wadi.toml. */
export async function openFixture(settings = "") {
  const database = await openTestDatabase({ kind: "memory" });
  const clock = createManualClock();
  const read = readSettings(settings, "wadi.toml", {}, {});
  const warned: unknown[] = [];
  const log = { warn: (...line: unknown[]) => warned.push(line) };
  const deps = {
    ...{ database, clock, ids: createSeededIds(), log, settings: () => read },
    secrets: openTestSecrets(database, clock),
    egress: { validate: (text: string) => ({ ok: true, url: new URL(text) }) },
  } as unknown as WebhookDeps;
  return {
    ...{ deps, database, clock, warned },
    endpoints: new Endpoints(deps),
    deliveries: new Deliveries(deps),
    store: database.bind(webhookStore),
    sent: bindWebhookWrites(database),
    [Symbol.asyncDispose]: () => database.close(),
  };
}
export type Fixture = Awaited<ReturnType<typeof openFixture>>;
