// The house of webhooks on a database of its own, without a door, for the tests of its rooms.
import { readSettings } from "../../src/platform/settings/index.ts";
import type { Around } from "../../src/webhooks/around.ts";
import { createDeliveries } from "../../src/webhooks/deliveries.ts";
import { createEndpoints } from "../../src/webhooks/endpoints.ts";
import { webhookStore } from "../../src/webhooks/store/index.ts";
import { createManualClock } from "../support/clock.ts";
import { openTestDatabase } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { openTestSecrets } from "../support/secrets.ts";
import { bindWebhookWrites } from "../support/webhooks.ts";

export const ACCOUNT = "a-1";
export const WISH = {
  url: "https://hooks.example.com/wadi",
  events: ["run.completed" as const],
};

/** `settings`: the text of a wadi.toml. */
export async function openHouse(settings = "") {
  const database = await openTestDatabase({ kind: "memory" });
  const clock = createManualClock();
  const read = readSettings(settings, "wadi.toml", {}, {});
  const warned: unknown[] = [];
  const log = { warn: (...line: unknown[]) => warned.push(line) };
  const around = {
    ...{ database, clock, ids: createSeededIds(), log, settings: () => read },
    secrets: openTestSecrets(database, clock),
    egress: { judge: (text: string) => ({ ok: true, url: new URL(text) }) },
  } as unknown as Around;
  return {
    ...{ around, database, clock, warned },
    endpoints: createEndpoints(around),
    deliveries: createDeliveries(around),
    store: database.bind(webhookStore),
    sent: bindWebhookWrites(database),
    [Symbol.asyncDispose]: () => database.close(),
  };
}
export type House = Awaited<ReturnType<typeof openHouse>>;
