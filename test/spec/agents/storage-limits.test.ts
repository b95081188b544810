// Limits of an account's definitions and storage, and refusals while the disk is nearly full.
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSettings } from "../../../src/settings/index.ts";
import { KEY } from "../../support/app.ts";
import { type HookFront, startHook } from "./hook-front.ts";
import { expectRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { createWebhook, readJson } from "./service.ts";

let front: HookFront;
let directory: string | undefined;
afterEach(async () => {
  await front.stop();
  if (directory) rmSync(directory, { recursive: true });
  directory = undefined;
});

const START = "[limits]\nrequests_per_minute = 100000\naddress_requests_per_minute = 100000\n";
const EGRESS = '[egress]\nallow = ["127.0.0.1:*"]\n';
const OTHER = `${KEY}-other`;
const change = (limits: string) =>
  front.app.change(
    readSettings(`${START}${limits}\n${EGRESS}`, "wadi.toml", {}, { "server.port": 0 }),
  );

const AGENT = { name: "One more", system_prompt: "Be brief." };
const makeAgent = (key = KEY) => front.post("/v1/agents", AGENT, { key });

describe("limits.agents and limits.versions", () => {
  test("agents.errors.p3 409 agent_limit_reached: an account has a maximum of active agents, archived ones excluded", async () => {
    front = await startHook({ limits: "agents = 2" });
    const { id } = await readJson(await makeAgent(), 201);
    await expectRefusal(await makeAgent(), 409, "agent_limit_reached");
    expect((await makeAgent(OTHER)).status).toBe(201);
    const turn = (status: string) => front.ask("PATCH", `/v1/agents/${id}`, { body: { status } });
    expect((await turn("archived")).status).toBe(200);
    expect((await makeAgent()).status).toBe(201);
    await expectRefusal(await turn("active"), 409, "agent_limit_reached");
    await change("agents = 3");
    expect((await turn("active")).status).toBe(200);
  });

  test("agents.errors.p3 409 version_limit_reached: an agent has a maximum of versions, each readable", async () => {
    front = await startHook({ limits: "versions = 3" });
    const path = `/v1/agents/${front.agent.id}/versions`;
    for (const version of [2, 3]) {
      expect((await readJson(await front.post(path, {}), 201)).version).toBe(version);
    }
    await expectRefusal(await front.post(path, {}), 409, "version_limit_reached");
    expect((await front.read(path)).data).toHaveLength(3);
    expect((await front.askStart()).status).toBe(202);
  });
});

test("agents.errors.p3 409 storage_limit_reached: an account has a maximum of stored bytes, and can still read and delete", async () => {
  front = await startHook({ limits: "stored_bytes = 1_048_576", more: EGRESS });
  const { id: webhook_id } = await createWebhook(front);
  const system_prompt = "x".repeat(90_000);
  const path = `/v1/agents/${front.agent.id}/versions`;
  // Of concurrent requests only those within the limit succeed.
  const replies = await Promise.all(
    Array.from({ length: 16 }, () => front.post(path, { system_prompt })),
  );
  const refused = replies.filter(({ status }) => status !== 201);
  expect(refused).toHaveLength(16 - 11);
  refused.push(
    await front.askStart({ input: { message: "y".repeat(90_000) } }),
    await front.post("/v1/agents", { ...AGENT, system_prompt }),
  );
  for (const reply of refused) await expectRefusal(reply, 409, "storage_limit_reached");
  expect((await makeAgent(OTHER)).status).toBe(201);
  expect((await front.get(`${path}?limit=1`)).status).toBe(200);
  for (const gone of [`triggers/${front.hook.id}`, `webhooks/${webhook_id}`]) {
    expect((await front.ask("DELETE", `/v1/${gone}`)).status).toBe(204);
  }
  const accounts = await front.app.admin.accounts.list();
  const { stored_bytes } = accounts.find(({ name }) => name === "dev")!;
  expect(stored_bytes).toBeGreaterThan(11 * 90_000);
  expect(stored_bytes).toBeLessThanOrEqual(1_048_576);
});

test("agents.errors.rate_limited a hook of an account at its storage limit is asked to retry", async () => {
  front = await startHook({ limits: "stored_bytes = 1_048_576" });
  const message = "z".repeat(99_000);
  while ((await front.askStart({ input: { message } })).status === 202);
  const reply = await front.send({ id: "order-1", body: JSON.stringify("w".repeat(60_000)) });
  expect(reply.headers.get("retry-after")).toBe("10");
  await expectRefusal(reply, 429, "rate_limited");
  const [fire] = await front.listFires();
  expect(fire).toMatchObject({ outcome: "limited", error: { code: "storage_limit_reached" } });
  await change("");
  const fired = await front.fired({ id: "order-1", body: JSON.stringify("w".repeat(60_000)) });
  expect(fired.outcome).toBe("started");
});

describe("limits.free_disk_bytes", () => {
  const MORE_THAN_THERE_IS = 2 ** 50;
  const TOOL = {
    ...{ description: "Sends.", risk: "write", parameters: { type: "object" } },
    endpoint: "http://127.0.0.1:9/send",
  };
  const openFull = async () => {
    directory = mkdtempSync(join(tmpdir(), "wadi-full-"));
    const place = { kind: "sqlite", file: join(directory, "wadi.db") } as const;
    front = await startHook({ more: EGRESS }, { place, hasOpenMetrics: true });
    const { id: webhook_id } = await createWebhook(front);
    await readJson(await front.post("/v1/tools", { name: "known", ...TOOL }), 201);
    const run = await front.begin();
    await change(`free_disk_bytes = ${MORE_THAN_THERE_IS}`);
    return { run, webhook_id };
  };

  test("agents.errors.p3 while the disk is nearly full every creation answers 503 with Retry-After, and nothing is stored", async () => {
    const { run, webhook_id } = await openFull();
    await readJson(await front.post(`/v1/runs/${run.id}/cancel`, undefined));
    const { id } = front.agent;
    const refused = [
      await makeAgent(),
      await front.post(`/v1/agents/${id}/versions`, {}),
      await front.askStart(),
      await front.post(`/v1/agents/${id}/evaluations`, {}),
      await front.post("/v1/tools", { name: "send", ...TOOL }),
      await front.post("/v1/tools/known/revisions", TOOL),
      await front.post("/v1/tools/connections", { name: "L", kind: "bearer", secret: "sk_long_1" }),
      await front.post("/v1/triggers", { agent_id: id, name: "Knock", kind: "webhook" }),
      await front.post(`/v1/triggers/${front.hook.id}/fires`, undefined),
      await front.post("/v1/webhooks", { url: "http://127.0.0.1:9/x", events: ["run.completed"] }),
      await front.post(`/v1/webhooks/${webhook_id}/test`, undefined),
      await front.send({ id: "order-1" }),
    ];
    for (const reply of refused) {
      expect(reply.headers.get("retry-after")).toBe("60");
      await expectRefusal(reply, 503, "service_unavailable");
    }
    // A request that would be refused anyway is told why.
    const wrong = { ...AGENT, tools: ["nothing"] };
    for (const path of ["/v1/agents", `/v1/agents/${id}/versions`]) {
      await expectRefusal(await front.post(path, wrong), 400, "invalid_request", "tools.0");
    }
    expect([await front.countRuns(), await front.listFires()]).toEqual([1, []]);
    expect((await front.read(`/v1/webhooks/${webhook_id}/deliveries`)).data).toEqual([]);
    expect((await front.read("/v1/agents")).data).toHaveLength(1);
    const { agents, runs, tools, triggers, webhooks } = front.app.admin;
    const asked = { url: "https://hooks.example.com/in", events: ["run.failed" as const] };
    for (const act of [
      () => webhooks.create("dev", asked),
      () => webhooks.test(webhook_id),
      () => tools.setRisk("known", "dev", "read"),
      () => triggers.fire(front.hook.id, "noura"),
      () => agents.create(front.agent.version.created_by_key_id, AGENT),
      () => runs.start({ agent: id, message: "Hello", key: null, operator: "noura" }),
    ]) {
      await expect(act()).rejects.toThrow("nearly full");
    }
    expect(await webhooks.list(null)).toHaveLength(1);
  });

  test("while the disk is nearly full a request is refused for its own fault first", async () => {
    const { webhook_id } = await openFull();
    const key = `${KEY}-ownerless`;
    const endpoint = "http://127.0.0.1:9/x";
    const tool = { description: "Sends.", parameters: { type: "object" }, endpoint };
    const webhook = { url: endpoint, events: ["run.completed"] };
    const connection = { name: "L", kind: "bearer", secret: "sk_long_1" };
    const misnamed = await front.post("/v1/tools", { ...tool, name: "connections" });
    await expectRefusal(misnamed, 400, "invalid_request", "name");
    for (const [reply, status, code] of [
      [await front.post("/v1/webhooks", webhook, { key }), 403, "permission_denied"],
      [await front.post(`/v1/webhooks/${NOWHERE}/test`, undefined), 404, "webhook_not_found"],
      [await front.post("/v1/tools", { ...tool, name: "send" }, { key }), 403, "permission_denied"],
      [await front.post("/v1/tools/none/revisions", tool), 404, "tool_not_found"],
      [await front.post("/v1/tools/connections", connection, { key }), 403, "permission_denied"],
      [await front.send({ body: "no JSON" }), 400, "invalid_request"],
    ] as const) {
      await expectRefusal(reply, status, code);
    }
    expect((await front.read(`/v1/webhooks/${webhook_id}/deliveries`)).data).toEqual([]);
  });

  test("agents.errors.p3 while the disk is nearly full active runs end, chats are answered, and reads and deletions work", async () => {
    const { run, webhook_id } = await openFull();
    await front.finish(run);
    expect((await front.read(`/v1/runs/${run.id}`)).status).toBe("succeeded");
    expect((await front.chat("Hello")).status).toBe(201);
    expect((await front.ask("DELETE", `/v1/webhooks/${webhook_id}`)).status).toBe(204);
    expect((await front.ask("DELETE", `/v1/triggers/${front.hook.id}`)).status).toBe(204);
    const page = await (await front.get("/metrics", { key: null })).text();
    expect(page).toMatch(/^wadi_disk_free_bytes [1-9]/m);
  });

  test("agents.errors.p3 writes resume as soon as the disk has room, and 0 disables the check", async () => {
    await openFull();
    await expectRefusal(await makeAgent(), 503, "service_unavailable");
    await change("free_disk_bytes = 1");
    expect((await makeAgent()).status).toBe(201);
    await change("free_disk_bytes = 0");
    expect((await makeAgent()).status).toBe(201);
  });
});
