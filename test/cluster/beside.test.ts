// Two processes on one PostgreSQL: what an operator or owner changes at one holds at the other.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createAgent,
  type Json,
  readJson,
  SETTINGS,
  startService,
} from "../spec/agents/service.ts";
import { allow } from "../spec/gateway/keys.ts";
import { storeKey } from "../support/access.ts";
import type { TestApp } from "../support/app.ts";
import { type Ground, openServer } from "../support/database.ts";

const address = process.env.WADI_TEST_POSTGRES;
if (address) describe("of two processes", () => testBeside(address));
else test.skip("two processes: skipped, since WADI_TEST_POSTGRES names no server", () => {});

const USER = { kind: "user", name: "root", via: "command line" } as const;
const STALL = "!say Hello\n!stall";
const isOver = ({ status }: Json) => ["succeeded", "failed", "cancelled"].includes(status);
const _MINUTE_MS = 60_000;

function testBeside(server: string): void {
  let ground: Ground;
  let one: TestApp;
  let other: TestApp;
  const directory = mkdtempSync(join(tmpdir(), "wadi-beside-"));
  beforeAll(() => {
    ground = openServer(server);
  });
  afterAll(async () => {
    rmSync(directory, { recursive: true });
    await ground.release();
  });
  beforeEach(async () => {
    const place = await ground.makePlace();
    if (place.kind !== "postgres") throw new Error("not PostgreSQL");
    const options = {
      ...{ place: { ...place, isShared: true }, listens: true, settings: SETTINGS },
      secretsKeyFile: join(directory, "secrets.key"),
      isDoubled: false,
    };
    one = await startService({ ...options, seed: 1 });
    other = await startService({ ...options, seed: 2 });
  });
  afterEach(async () => {
    for (const app of [one, other]) await app.stop();
  });

  /** The run as one of them shows it, once it is so. */
  async function follow(id: string, isThere: (run: Json) => boolean): Promise<Json> {
    for (;;) {
      const run = await readJson(await other.get(`/v1/runs/${id}`));
      if (isThere(run)) return run;
      for (const { clock } of [one, other]) await clock.advance(0);
    }
  }
  const begin = async (app: TestApp, agent: Json, message: string) =>
    readJson(await app.post(`/v1/agents/${agent.id}/runs`, { input: { message } }), 202);
  const statusOf = async (reply: Promise<Response>) => (await reply).status;

  test("a key that is revoked at one is refused at the other, whose streams of it end", async () => {
    const { key, account_id } = await allow(one, "acme");
    const [row] = await one.app.access.keys.list(account_id);
    const streamed = await other.chat(STALL, { stream: true }, { key });
    expect(streamed.status).toBe(201);
    await one.app.admin.keys.revoke(row!.id);
    expect(await streamed.text()).toEndWith("data: [DONE]\n\n");
    expect(await statusOf(other.chat("Hello", {}, { key }))).toBe(401);
  });

  test("limits of a key that are set at one hold at the other", async () => {
    const { key, account_id } = await allow(one, "acme");
    expect(await statusOf(other.chat("Hello", {}, { key }))).toBe(201);
    await one.app.access.accounts.limit(account_id, { requests_day: 1 });
    expect(await statusOf(one.chat("Hello", {}, { key }))).toBe(201);
    expect(await statusOf(other.chat("Hello", {}, { key }))).toBe(429);
  });

  test("a session of the console that ends at one has ended at the other", async () => {
    const { operators, sessions } = one.app.admin;
    await operators.create({ name: "noura", role: "operator" });
    const { token } = await sessions.createLink("noura", USER);
    const traded = await other.ask("POST", "/console/session", {
      ...{ key: null, body: { token }, headers: { origin: other.url } },
    });
    expect(traded.status).toBe(200);
    const cookie = traded.headers.get("set-cookie")!.split(";", 1)[0]!;
    const look = (app: TestApp) =>
      statusOf(
        app.get("/operator/v1/accounts", { key: null, headers: { origin: app.url, cookie } }),
      );
    expect([await look(one), await look(other)]).toEqual([200, 200]);
    const [session] = await sessions.list();
    await sessions.end(session!.id);
    expect([await look(one), await look(other)]).toEqual([401, 401]);
  });

  test("a model that is switched off or blocked at one is so at the other", async () => {
    const ask = () => statusOf(other.chat("Hello", { model: "own" }));
    expect(await ask()).toBe(201);
    await one.app.admin.models.turn("own", "off");
    expect(await ask()).toBe(503);
    await one.app.admin.models.turn("own", "on");
    expect(await ask()).toBe(201);
  });

  test("an account or agent that is held at one starts nothing at the other", async () => {
    const agent = await createAgent(one);
    const start = () =>
      statusOf(other.post(`/v1/agents/${agent.id}/runs`, { input: { message: "!say Hi" } }));
    expect(await start()).toBe(202);
    await one.app.admin.agents.hold(agent.id, "asks too much");
    expect(await start()).toBe(403);
    await one.app.admin.agents.release(agent.id);
    expect(await start()).toBe(202);
  });

  test("a run that one executes is streamed and cancelled at the other", async () => {
    const agent = await createAgent(one);
    const run = await begin(one, agent, STALL);
    await follow(run.id, ({ status }) => status === "running");
    const events = await other.get(`/v1/runs/${run.id}/events`);
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect(await statusOf(other.post(`/v1/runs/${run.id}/cancel`, {}))).toBeLessThan(300);
    let text = "";
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      text += read.value;
    }
    expect(text).toContain("cancelled");
    expect((await follow(run.id, isOver)).status).toBe("cancelled");
  });

  test("an approval that is decided at one continues its run, whichever executed it", async () => {
    const agent = await createAgent(one, {
      tools: ["calculator"],
      policy: { require_approval: ["calculator"] },
    });
    const call = `!tool calculator ${JSON.stringify({ expression: "6 * 7" })}\n!next\n!say Done.`;
    const run = await begin(one, agent, call);
    const waiting = await follow(run.id, ({ status }) => status === "waiting_approval");
    const [approval] = waiting.pending_approvals;
    const [account] = await one.app.access.accounts.list();
    const scopes = ["agents.approve" as const];
    const approver = { account_id: account!.id, name: null, scopes };
    const { secret } = await storeKey(one.app.access, approver);
    const decision = other.post(`/v1/approvals/${approval}/approve`, {}, { key: secret });
    expect(await statusOf(decision)).toBe(200);
    expect(await follow(run.id, isOver)).toMatchObject({ status: "succeeded" });
  });
}
