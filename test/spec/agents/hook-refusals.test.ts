// Spec 001, "Errors" of the hook: replies to requests that start nothing, and which may be
// repeated.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSettings } from "../../../src/settings/index.ts";
import { storeKey } from "../../support/access.ts";
import { createKey } from "../gateway/keys.ts";
import { type HookFront, type Sending, startHook } from "./hook-front.ts";
import { expectRefusal, readRefusal } from "./refusal.ts";
import type { Json } from "./runs-front.ts";

let front: HookFront;
const open = async (limits = "", more = "") => {
  front = await startHook({ limits, more });
};
beforeEach(() => open());
afterEach(() => front.stop());

const reopen = async (limits: string, more = "") => {
  await front.stop();
  await open(limits, more);
};
const readTrigger = (hook: Json = front.hook) => front.read(`/v1/triggers/${hook.id}`);
const pause = (hook: Json = front.hook) =>
  front.ask("PATCH", `/v1/triggers/${hook.id}`, { body: { status: "paused" } });
const resume = (hook: Json = front.hook) =>
  front.ask("PATCH", `/v1/triggers/${hook.id}`, { body: { status: "active" } });
const hold = () => front.app.admin.agents.hold(front.agent.id, null);
const release = () => front.app.admin.agents.release(front.agent.id);
/** The status, the code, and how long to wait. */
const readRefused = async (sending: Sending = {}) => {
  const reply = await front.send(sending);
  const retry_after = reply.headers.get("retry-after");
  const [status, code] = await readRefusal(reply);
  return [status, code, retry_after];
};

describe("agents.errors.trigger_paused", () => {
  test("agents.errors.trigger_paused agents.states.p12 a paused trigger starts nothing until it is resumed", async () => {
    await pause();
    await expectRefusal(await front.send({ id: "one" }), 409, "trigger_paused");
    // Before its body is read, and only for signed requests.
    await expectRefusal(await front.send({ body: "no JSON" }), 409, "trigger_paused");
    await expectRefusal(await front.send({ signature: "" }), 401, "invalid_signature");
    expect(await front.listFires()).toEqual([]);
    await resume();
    expect((await front.fired({ id: "one" })).outcome).toBe("started");
  });

  test("agents.errors.trigger_paused the trigger of an archived agent is paused", async () => {
    const path = `/v1/agents/${front.agent.id}`;
    await front.ask("PATCH", path, { body: { status: "archived" } });
    await expectRefusal(await front.send(), 409, "trigger_paused");
    expect((await readTrigger()).paused_reason).toMatchObject({ type: "agent" });
  });

  test("agents.states.p12 a fire refused because its key has ended is recorded, and pauses the trigger at once", async () => {
    const account_id = front.account_id;
    const { key, secret } = await storeKey(front.app.access, { account_id, scopes: ["agents"] });
    const body = { name: "Of another key", kind: "webhook", agent_id: front.agent.id };
    front.hook = (await (await front.post("/v1/triggers", body, { key: secret })).json()) as Json;
    await front.app.admin.keys.revoke(key.id);
    await expectRefusal(await front.send({ id: "one" }), 409, "trigger_paused");
    expect(await readTrigger()).toMatchObject({
      ...{ status: "paused", key_id: key.id },
      paused_reason: { type: "key", code: "permission_denied" },
    });
    expect(await front.listFires()).toMatchObject([
      {
        ...{ outcome: "refused", run_id: null, webhook_id: "one" },
        error: {
          code: "permission_denied",
          message: "The key that the trigger acts for has ended.",
        },
      },
    ]);
    await expectRefusal(await front.send({ id: "two" }), 409, "trigger_paused");
    expect(await front.listFires()).toHaveLength(1);
    // A resume sets the key; the same request is then accepted, by the same fire.
    await resume();
    const [refused] = await front.listFires();
    expect(await front.fired({ id: "one" })).toMatchObject({ id: refused!.id, outcome: "started" });
  });

  test("agents.states.p12 so does a model that the key may no longer call", async () => {
    const models = ["stub-nothing"];
    const key = await createKey(front, { scopes: ["agents"], models });
    const body = { name: "Of a narrow key", kind: "webhook", agent_id: front.agent.id };
    front.hook = (await (await front.post("/v1/triggers", body, { key })).json()) as Json;
    await expectRefusal(await front.send(), 409, "trigger_paused");
    expect((await readTrigger()).paused_reason).toMatchObject({
      ...{ type: "model", code: "model_not_permitted" },
    });
  });
});

describe("agents.errors.agent_held", () => {
  const held = [503, "agent_held", "60"];

  test("agents.errors.agent_held nothing starts, and the same request is accepted after the hold is released", async () => {
    await hold();
    expect(await readRefused({ id: "one" })).toEqual(held);
    expect(await readRefused({ id: "one" })).toEqual(held);
    expect(await front.listFires()).toMatchObject([
      { outcome: "held", run_id: null, webhook_id: "one", error: { code: "agent_held" } },
    ]);
    expect(await readTrigger()).toMatchObject({ status: "active", paused_reason: null });
    await release();
    const [kept] = await front.listFires();
    expect(await front.fired({ id: "one" })).toMatchObject({ id: kept!.id, outcome: "started" });
    expect(await front.listFires()).toHaveLength(1);
    expect(await front.countRuns()).toBe(1);
  });

  test("agents.errors.agent_held a hold on the account holds all its agents", async () => {
    const { holds } = front.app.access;
    const { account_id } = front;
    await holds.hold({ kind: "account", id: account_id, account_id, reason: null, since: 0 });
    expect(await readRefused()).toEqual(held);
    await holds.release("account", account_id);
    await front.fired();
  });

  test("agents.errors.agent_held agents.states.p12 a hold is reported before an ended key, which pauses the trigger after the hold", async () => {
    const { account_id } = front;
    const { key, secret } = await storeKey(front.app.access, { account_id, scopes: ["agents"] });
    const body = { name: "Of another key", kind: "webhook", agent_id: front.agent.id };
    front.hook = (await (await front.post("/v1/triggers", body, { key: secret })).json()) as Json;
    await front.app.admin.keys.revoke(key.id);
    await hold();
    expect(await readRefused({ id: "one" })).toEqual(held);
    expect(await readTrigger()).toMatchObject({ status: "active", paused_reason: null });
    await release();
    await expectRefusal(await front.send({ id: "one" }), 409, "trigger_paused");
    expect(await front.listFires()).toMatchObject([{ outcome: "refused", webhook_id: "one" }]);
  });

  test("agents.errors.agent_held a hold is reported after a pause, and before the limit and the body", async () => {
    await reopen("hook_requests_per_minute = 1");
    await hold();
    expect(await readRefused({ id: "one" })).toEqual(held);
    expect(await readRefused({ id: "two" })).toEqual(held);
    expect(await readRefused({ body: "no JSON" })).toEqual(held);
    // An invalid request has no fire.
    expect(await front.listFires()).toMatchObject([{ webhook_id: "one" }]);
    await pause();
    await expectRefusal(await front.send(), 409, "trigger_paused");
  });
});

describe("agents.errors.rate_limited too many requests for a trigger", () => {
  const limited = (seconds: string) => [429, "rate_limited", seconds];
  beforeEach(() => reopen("hook_requests_per_minute = 3"));

  test("agents.errors.rate_limited agents.limits.retry_after each trigger has its own limit per minute", async () => {
    const other = await front.createHook();
    await front.fired();
    await front.clock.advance(20_000);
    await front.fired();
    await front.fired();
    expect(await readRefused()).toEqual(limited("40"));
    await front.clock.advance(39_001);
    expect(await readRefused({ id: "one" })).toEqual(limited("1"));
    await front.fired({ hook: other });
    await front.clock.advance(999);
    await front.fired({ id: "one" });
    expect(await readRefused()).toEqual(limited("20"));
    // None of them creates a fire.
    expect(await front.listFires()).toHaveLength(4);
  });

  test("agents.errors.rate_limited only signed requests count, except known and paused ones", async () => {
    for (let n = 0; n < 5; n++) {
      await expectRefusal(await front.send({ signature: "" }), 401, "invalid_signature");
    }
    await front.fired({ id: "one" });
    for (let n = 0; n < 5; n++) await front.fired({ id: "one" }, 200);
    await pause();
    for (let n = 0; n < 5; n++) await readRefused();
    await resume();
    // One that is no JSON does.
    await expectRefusal(await front.send({ body: "" }), 400, "invalid_request");
    await front.fired();
    expect(await readRefused({ body: "" })).toEqual(limited("60"));
    await front.fired({ id: "one" }, 200);
  });

  test("agents.errors.rate_limited a changed limit applies from the next request", async () => {
    const change = (limit: number) => {
      const limits = `[limits]\nhook_requests_per_minute = ${limit}\n`;
      return front.app.change(readSettings(limits, "wadi.toml", {}, { "server.port": 0 }));
    };
    for (let n = 0; n < 3; n++) await front.fired();
    expect(await readRefused()).toEqual(limited("60"));
    await change(5);
    for (let n = 0; n < 2; n++) await front.fired();
    expect(await readRefused()).toEqual(limited("60"));
    await change(2);
    expect(await readRefused()).toEqual(limited("60"));
    await front.clock.advance(60_000);
    for (let n = 0; n < 2; n++) await front.fired();
    expect(await readRefused()).toEqual(limited("60"));
  });
});

describe("agents.errors.rate_limited limits of its runs", () => {
  test("agents.errors.rate_limited active runs: the same request is accepted when there is room", async () => {
    await reopen("active_runs = 1");
    const first = await front.fired();
    expect(await readRefused({ id: "two" })).toEqual([429, "rate_limited", "5"]);
    expect(await front.listFires()).toMatchObject([
      { outcome: "limited", run_id: null, error: { code: "active_runs_limit" } },
      { outcome: "started" },
    ]);
    await front.finish(await front.read(`/v1/runs/${first.run_id}`));
    const [limited] = await front.listFires();
    expect(await front.fired({ id: "two" })).toMatchObject({ id: limited!.id, outcome: "started" });
  });

  test("agents.errors.rate_limited daily runs: the reply says when to retry", async () => {
    await reopen("daily_runs = 1");
    await front.fired();
    await front.clock.advance(3_600_000);
    expect(await readRefused()).toEqual([429, "rate_limited", String(23 * 3_600)]);
  });

  test("agents.errors.rate_limited agents.limits.one_run_per_thread a busy thread refuses the run", async () => {
    const { thread_id, id } = await front.begin();
    const hook = await front.createHook({ thread_id });
    expect(await readRefused({ hook, id: "one" })).toEqual([429, "rate_limited", "10"]);
    await front.finish(await front.read(`/v1/runs/${id}`));
    expect((await front.fired({ hook, id: "one" })).outcome).toBe("started");
    const skipping = await front.createHook({ thread_id, overlap: "skip" });
    expect((await front.fired({ hook: skipping })).outcome).toBe("skipped");
  });
});

describe("agents.limits.request_rate", () => {
  test("agents.limits.request_rate agents.limits.retry_after the address limit is checked before anything else is read", async () => {
    await front.stop();
    const env = { WADI_LIMITS__ADDRESS_REQUESTS_PER_MINUTE: "10" };
    front = await startHook({}, { env });
    // The agent and the trigger were two of them.
    for (let n = 0; n < 4; n++) await front.fired();
    for (let n = 0; n < 4; n++) await readRefused({ signature: "" });
    for (const sending of [{}, { signature: "" }, { headers: { "content-type": null } }]) {
      expect(await readRefused(sending)).toEqual([429, undefined, "60"]);
    }
    await front.clock.advance(60_000);
    await front.fired();
  });

  test("agents.limits.request_rate no limit of a key is affected", async () => {
    await front.stop();
    front = await startHook({}, { env: { WADI_LIMITS__REQUESTS_PER_MINUTE: "3" } });
    for (let n = 0; n < 5; n++) await front.fired();
    expect((await front.get("/v1/agents")).status).toBe(200);
  });
});

describe("disabled features", () => {
  const everything: Sending[] = [
    {},
    { signature: "" },
    { path: "/v1/hooks/mine" },
    { body: "x".repeat(70_000) },
    { headers: { "content-type": "text/plain" } },
  ];
  const change = (text: string) =>
    front.app.change(readSettings(text, "wadi.toml", {}, { "server.port": 0 }));

  test("agents.errors.not_enabled agents.p5 a disabled service answers 503 to every request", async () => {
    await change("[agents]\nopen = false\n");
    for (const sending of everything)
      expect(await readRefused(sending)).toEqual([503, "not_enabled", null]);
  });

  test("agents.errors.not_enabled so do disabled triggers, before any limit", async () => {
    await change("[agents]\ntriggers = false\n[limits]\naddress_requests_per_minute = 1\n");
    for (const sending of everything)
      expect(await readRefused(sending)).toEqual([503, "not_enabled", null]);
    await change("");
    await front.fired();
  });

  test("agents.errors.triggers_unavailable so does the service without its secrets key, until it is restored", async () => {
    const directory = mkdtempSync(join(tmpdir(), "wadi-hook-"));
    const file = join(directory, "secrets.key");
    await front.stop();
    front = await startHook({}, { secretsKeyFile: file });
    const key = await Bun.file(file).text();
    rmSync(file);
    await front.clock.advance(1_000);
    for (const sending of everything) {
      expect(await readRefused(sending)).toEqual([503, "triggers_unavailable", null]);
    }
    await Bun.write(file, key);
    await front.clock.advance(1_000);
    await front.fired();
    rmSync(directory, { recursive: true });
  });
});
