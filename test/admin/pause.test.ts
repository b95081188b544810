// Tests the pause of a restored installation: nothing starts, and `wadi resume` starts what waits.
import { afterEach, expect, test } from "bun:test";
import { nameLocalActor, perform } from "../../src/admin/index.ts";
import { upkeepOperations } from "../../src/admin/operations/upkeep.ts";
import { createPauseAdmin } from "../../src/admin/pause.ts";
import { installationStore } from "../../src/installation/index.ts";
import { activityStore } from "../../src/inventory/index.ts";
import {
  createAgent,
  createTrigger,
  createWebhook,
  readJson,
  startService,
} from "../spec/agents/service.ts";
import type { TestApp } from "../support/app.ts";
import { NO_INSTALLATION } from "../support/installation.ts";
import { openWebhookReceiver } from "../support/webhook-receiver.ts";

const ORIGINAL = "0198f000-0000-4000-8000-000000000001";
const COPY = "0198f000-0000-4000-8000-000000000002";
const MINUTE_MS = 60_000;
const ACTOR = nameLocalActor();
const VERSION = { version: "1.2.3", commit: "c", bun: "b", sqlite: "s" };
const INSTALLATION = { ...NO_INSTALLATION, readVersion: async () => VERSION };

let app: TestApp;
afterEach(() => app.stop());

async function openPaused() {
  app = await startService({ listens: true, installation: INSTALLATION });
  await app.app.database.bind(installationStore).adopt(COPY, ORIGINAL, app.clock.now());
  return app;
}
const resume = () => perform(app.app.admin, upkeepOperations.resume, {}, ACTOR);
const find = async (path: string) => readJson(await app.get(path));

test("what a resume starts is counted before it", async () => {
  const { app: served, clock } = await openPaused();
  const called: string[] = [];
  const note = (bound: object) =>
    new Proxy(bound, {
      get(target, name: never) {
        called.push(name);
        return target[name];
      },
    });
  const { database } = served;
  const noted = { ...database, bind: (store: never) => note(database.bind(store)) };
  await createPauseAdmin({ database: noted, clock } as never).resume();
  expect(called).toContain("count");
  expect(called.at(-1)).toBe("resume");
});

test("what a resume starts is told from what waits for people", async () => {
  const { app: served, clock } = await openPaused();
  const counts = {
    runs: new Map(Object.entries({ queued: 1, running: 2, waiting_approval: 4 })),
    ...{ approvals: { count: 8 }, webhooks: { waiting: 16 } },
  };
  const counted = { count: async () => counts };
  const bind = (store: never) => (store === activityStore ? counted : served.database.bind(store));
  const pause = createPauseAdmin({ database: { ...served.database, bind }, clock } as never);
  expect(await pause.resume()).toMatchObject({
    ...{ queued_runs: 1, interrupted_runs: 2, pending_approvals: 8, waiting_deliveries: 16 },
  });
});

test("a paused installation accepts runs, and starts, fires and delivers nothing", async () => {
  await using receiver = openWebhookReceiver();
  const { clock, post } = await openPaused();
  await createWebhook(app, { url: receiver.url });
  const agent = await createAgent(app);
  const trigger = await createTrigger(app, {
    ...{ agent_id: agent.id, name: "Minutely", kind: "cron", cron: "* * * * *" },
    input: { message: "Go" },
  });
  const body = { input: { message: "Hello" } };
  const run = await readJson(await post(`/v1/agents/${agent.id}/runs`, body), 202);
  for (let minutes = 0; minutes < 3; minutes++) await clock.advance(MINUTE_MS);
  expect((await find(`/v1/runs/${run.id}`)).status).toBe("queued");
  expect((await find(`/v1/triggers/${trigger.id}/fires`)).data).toEqual([]);
  const status = await perform(app.app.admin, upkeepOperations.status, {}, ACTOR);
  expect(status.installation).toMatchObject({ id: COPY, restored_from: ORIGINAL });
  expect(status.installation.paused_at).toBeString();
  expect(receiver.arrivals).toEqual([]);

  expect(await resume()).toMatchObject({
    ...{ was_paused: true, queued_runs: 1, interrupted_runs: 0, pending_approvals: 0 },
    overdue: [{ trigger_id: trigger.id, name: "Minutely", instants: 3, fires: true }],
  });
  while (receiver.arrivals.length < 2) await clock.advance(1_000);
  expect((await find(`/v1/runs/${run.id}`)).status).toBe("succeeded");
  expect((await find(`/v1/triggers/${trigger.id}/fires`)).data).toHaveLength(1);
  expect(await resume()).toMatchObject({ was_paused: false, queued_runs: 0, overdue: [] });
});

test("the end of a pause is in the audit log with the state before and after", async () => {
  const { clock } = await openPaused();
  const paused_at = new Date(clock.now()).toISOString();
  await resume();
  const [entry] = await app.app.admin.audit.list({ operation: "resume", limit: 1 });
  expect(entry).toMatchObject({
    ...{ operation: "resume", target: "installation", outcome: "done" },
    ...{ state_before: { id: COPY, paused_at }, state_after: { id: COPY, paused_at: null } },
  });
});

test("chats are answered during a pause", async () => {
  const { chat } = await openPaused();
  expect((await chat("Hello")).status).toBe(201);
});
