// Fires of a trigger: manual ones with every outcome, and the pages that list them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { outboxStore } from "../../../src/outbox/store.ts";
import { KEY } from "../../support/app.ts";
import { allow, createKey } from "../gateway/keys.ts";
import { signWith } from "./hook-front.ts";
import { expectRefusal, readRefusal } from "./refusal.ts";
import { createAgent, type Json, readJson } from "./service.ts";
import { PATH, startTriggers, type TriggersFront } from "./triggers-front.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const APPROVER = `${KEY}-approver`;

/** Without an engine: a run that was started stays queued. */
let front: TriggersFront;
beforeAll(async () => {
  front = await startTriggers();
});
afterAll(() => front.stop());

const fired = async (id: string, on = front, key = KEY): Promise<Json> =>
  (await readJson(await on.fire(id, { key }), 202)).fire;
const readRun = async (id: string, on = front) => readJson(await on.get(`/v1/runs/${id}`));
const listFires = async (id: string, query = "", on = front) =>
  readJson(await on.get(`${PATH}/${id}/fires${query}`));
const endRun = (id: string) => front.ask("POST", `/v1/runs/${id}/cancel`);

describe("POST /v1/triggers/{id}/fires", () => {
  test("agents.endpoints.triggers.p1 agents.resources.fire agents.does.trigger a run of the kind `manual` starts and is recorded, and the schedule stays", async () => {
    const input = { message: "Sum up ä." };
    const before = await front.createDaily({ input });
    await front.clock.advance(1_000);
    const fire = await fired(before.id);
    const at = new Date(front.clock.now()).toISOString();
    expect(fire).toEqual({
      ...{ id: expect.stringMatching(UUID), trigger_id: before.id, source: "manual" },
      ...{ outcome: "started", run_id: expect.stringMatching(UUID), scheduled_at: null },
      ...{ webhook_id: null, missed_count: 0, error: null, created_at: at },
    });
    expect((await listFires(before.id)).data).toEqual([fire]);
    expect(await front.read(before.id)).toEqual({ ...before, last_fire_at: at });
    // agents.resources.run
    expect(await readRun(fire.run_id)).toMatchObject({
      ...{ status: "queued", trigger_kind: "manual", trigger_id: before.id, fire_id: fire.id },
      ...{ input, agent_id: front.agent.id, external_content: false },
      started_by_key_id: before.key_id,
    });
    // agents.events.webhook.4
    const account_id = (await front.app.access.accounts.find("dev"))!.id;
    const events = await front.app.database.bind(outboxStore).list(account_id);
    const { type, data } = events.findLast((event) => event.type === "trigger.fired")!;
    const { id, name, kind, agent_id } = before;
    expect([type, JSON.parse(data)]).toEqual([
      "trigger.fired",
      { trigger: { id, name, kind, agent_id }, fire },
    ]);
  });

  test("agents.resources.trigger without a message of its own the trigger sends a default sentence", async () => {
    const { id, name } = await front.create();
    const at = new Date(front.clock.now()).toISOString();
    const { input } = await readRun((await fired(id)).run_id);
    expect(input).toEqual({ message: `The trigger "${name}" fired at ${at}.` });
  });

  test("agents.authentication.5 its run acts for the trigger's key; neither that key nor the firing key may decide", async () => {
    await using asking = await startTriggers({ listens: true });
    const scopes = ["agents", "agents.approve"] as const;
    const [owner, firing, third] = await Promise.all(
      [1, 2, 3].map(() => createKey(asking, { scopes: [...scopes] })),
    );
    const policy = { require_approval: ["calculator"] };
    const agent = await createAgent(asking, { tools: ["calculator"], policy });
    const input = { message: '!tool calculator {"expression":"1 + 1"}' };
    const { id, key_id } = await asking.create({ agent_id: agent.id, input }, { key: owner });
    const { run_id } = await fired(id, asking, firing);
    let run = await readRun(run_id, asking);
    expect(run.started_by_key_id).toBe(key_id);
    for (; run.pending_approvals.length === 0; run = await readRun(run_id, asking)) {
      await asking.clock.advance(0);
    }
    const decide = (key?: string) =>
      asking.post(`/v1/approvals/${run.pending_approvals[0]}/approve`, {}, { key });
    await expectRefusal(await decide(owner), 403, "permission_denied");
    await expectRefusal(await decide(firing), 403, "permission_denied");
    await readJson(await decide(third));
  });

  test("agents.authentication.5 a key that was shown the hook's secret may not decide, whoever fires it later", async () => {
    await using asking = await startTriggers({ listens: true });
    const scopes = ["agents", "agents.approve"] as const;
    const [knowing, owner, third] = await Promise.all(
      [1, 2, 3].map(() => createKey(asking, { scopes: [...scopes] })),
    );
    const policy = { require_approval: ["calculator"] };
    const agent = await createAgent(asking, { tools: ["calculator"], policy });
    const hook = await asking.create({ agent_id: agent.id }, { key: knowing });
    const input = { message: '!tool calculator {"expression":"1 + 1"}' };
    await readJson(await asking.patch(hook.id, { input }, { key: owner }));
    const timestamp = String(Math.floor(asking.clock.now() / 1_000));
    const headers = {
      ...{ "webhook-id": "one", "webhook-timestamp": timestamp },
      "webhook-signature": signWith(hook.secret, "one", timestamp, "{}"),
      "content-type": "application/json",
    };
    const reply = await asking.post(hook.hook_path, "{}", { key: null, headers });
    const { run_id } = (await readJson(reply, 202)).fire;
    let run = await readRun(run_id, asking);
    for (; run.pending_approvals.length === 0; run = await readRun(run_id, asking)) {
      await asking.clock.advance(0);
    }
    const decide = (key?: string) =>
      asking.post(`/v1/approvals/${run.pending_approvals[0]}/approve`, {}, { key });
    await expectRefusal(await decide(knowing), 403, "permission_denied");
    await expectRefusal(await decide(owner), 403, "permission_denied");
    await readJson(await decide(third));
  });

  test("agents.errors.trigger_paused agents.states.p12 a paused trigger does not fire, and records nothing", async () => {
    const { id } = await front.create();
    await readJson(await front.patch(id, { status: "paused" }));
    await expectRefusal(await front.fire(id), 409, "trigger_paused");
    expect(await front.listOutcomes(id)).toEqual([]);
  });

  test("agents.resources.trigger overlap `skip` starts no run while another is not final; `allow` does", async () => {
    const { id } = await front.create();
    const first = await fired(id);
    expect(await fired(id)).toMatchObject({
      ...{ outcome: "skipped", run_id: null },
      error: { code: "overlap", message: expect.stringMatching(/\.$/) },
    });
    await readJson(await endRun(first.run_id));
    expect((await fired(id)).outcome).toBe("started");
    await readJson(await front.patch(id, { overlap: "allow" }));
    expect((await fired(id)).outcome).toBe("started");
    expect(await front.listOutcomes(id)).toEqual(["started", "started", "skipped", "started"]);
  });

  test("agents.errors.thread_busy its thread may be busy with another run", async () => {
    const start = { input: { message: "Hello" } };
    const path = `/v1/agents/${front.agent.id}/runs`;
    const { id: run_id, thread_id } = await readJson(await front.post(path, start), 202);
    const { id } = await front.create({ thread_id });
    const skipped = { outcome: "skipped", error: { code: "thread_busy" } };
    expect(await fired(id)).toMatchObject(skipped);
    await readJson(await front.patch(id, { overlap: "allow" }));
    await expectRefusal(await front.fire(id), 409, "thread_busy");
    await readJson(await endRun(run_id));
    const { run_id: own } = await fired(id);
    expect(await readRun(own)).toMatchObject({ thread_id });
    expect(await front.listOutcomes(id)).toEqual(["started", "limited", "skipped"]);
  });

  test("agents.errors.agent_held while the operator holds agent or account nothing starts, and later fires start again", async () => {
    const { id } = await front.create();
    const account_id = (await front.app.access.accounts.find("dev"))!.id;
    const { holds } = front.app.access;
    for (const [kind, held_id] of [
      ["agent", front.agent.id],
      ["account", account_id],
    ] as const) {
      await holds.hold({ kind, id: held_id, account_id, reason: null, since: 0 });
      await expectRefusal(await front.fire(id), 403, "agent_held");
      await holds.release(kind, held_id);
    }
    expect((await front.read(id)).status).toBe("active");
    expect((await fired(id)).outcome).toBe("started");
    expect(await front.listOutcomes(id)).toEqual(["started", "held", "held"]);
  });

  test("agents.states.p12 a fire refused because of the key pauses the trigger, until another key resumes it", async () => {
    const key = await createKey(front, { scopes: ["agents"] });
    const { id, key_id } = await front.create({}, { key });
    await front.app.admin.keys.revoke(key_id);
    await expectRefusal(await front.fire(id), 409, "trigger_paused");
    const at = new Date(front.clock.now()).toISOString();
    const [fire] = (await listFires(id)).data;
    expect(fire).toMatchObject({
      ...{ outcome: "refused", run_id: null, error: { code: "permission_denied" } },
    });
    expect(await front.read(id)).toMatchObject({
      ...{ status: "paused", last_fire_at: at, updated_at: at },
      paused_reason: { type: "key", ...fire.error, at },
    });
    // Paused, it records no more.
    await expectRefusal(await front.fire(id), 409, "trigger_paused");
    expect(await front.listOutcomes(id)).toEqual(["refused"]);
    await readJson(await front.patch(id, { status: "active" }));
    expect((await fired(id)).outcome).toBe("started");
  });

  test("agents.states.p12 a fire refused because of the model pauses the trigger", async () => {
    const renting = await allow(front, "renting", { scopes: ["agents"] });
    const { key } = renting;
    await renting.grant("rented");
    const agent = await createAgent(front, { model: "rented" }, { key });
    const { id } = await front.create({ agent_id: agent.id }, { key });
    await renting.ungrant("rented");
    await expectRefusal(await front.fire(id, { key }), 409, "trigger_paused");
    const trigger = await readJson(await front.get(`${PATH}/${id}`, { key }));
    expect(trigger).toMatchObject({
      ...{ status: "paused", paused_reason: { type: "model", code: "model_not_permitted" } },
    });
    await renting.grant("rented");
    await readJson(await front.patch(id, { status: "active" }, { key }));
    expect((await fired(id, front, key)).outcome).toBe("started");
  });

  test("agents.errors.active_runs_limit agents.errors.daily_runs_limit at a limit no run starts, and the trigger stays active", async () => {
    const env = { WADI_LIMITS__ACTIVE_RUNS: "1", WADI_LIMITS__DAILY_RUNS: "2" };
    await using small = await startTriggers({ env });
    const { id } = await small.create({ overlap: "allow" });
    const first = await fired(id, small);
    const refuse = async (code: string, retry_after: string) => {
      const reply = await small.fire(id);
      // agents.limits.retry_after
      expect(reply.headers.get("retry-after")).toBe(retry_after);
      expect(await readRefusal(reply)).toEqual([429, code, null]);
    };
    await refuse("active_runs_limit", "5");
    const end = (run_id: string) => small.ask("POST", `/v1/runs/${run_id}/cancel`);
    await readJson(await end(first.run_id));
    await small.clock.advance(60_000);
    await readJson(await end((await fired(id, small)).run_id));
    await refuse("daily_runs_limit", String(86_400 - 60));
    const { data } = await listFires(id, "?outcome=limited", small);
    expect(data.map(({ error }: Json) => error.code)).toEqual([
      ...["daily_runs_limit", "active_runs_limit"],
    ]);
    expect((await small.read(id)).status).toBe("active");
  });
});

describe("GET /v1/triggers/{id}/fires", () => {
  test("agents.endpoints.triggers.p1 agents.resources.p6 pages contain all fires, newest first, or those of one outcome", async () => {
    const { id } = await front.create();
    const other = await front.create();
    const made: Json[] = [];
    for (let n = 0; n < 7; n++) {
      if (n === 4) await readJson(await endRun(made.at(-1)!.run_id));
      made.unshift(await fired(id));
      if (n % 2 === 0) await front.clock.advance(1);
    }
    await fired(other.id);
    const walk = async (query: string) => {
      const found: Json[] = [];
      for (let before = ""; ; ) {
        const page = await listFires(id, `?limit=2${query}${before}`);
        found.push(...page.data);
        if (page.next_before === null) return found;
        expect(page.data).toHaveLength(2);
        before = `&before=${page.next_before}`;
      }
    };
    expect(await listFires(id)).toEqual({ data: made, next_before: null });
    expect(await walk("")).toEqual(made);
    for (const outcome of ["started", "skipped", "missed"]) {
      const some = made.filter((fire) => fire.outcome === outcome);
      expect(await walk(`&outcome=${outcome}`)).toEqual(some);
    }
    // agents.errors.p9: a page of another list is none of this one.
    const { next_before } = await listFires(id, "?limit=2");
    for (const [trigger_id, filter] of [
      [other.id, ""],
      [id, "&outcome=skipped"],
    ]) {
      const reply = await front.get(`${PATH}/${trigger_id}/fires?before=${next_before}${filter}`);
      expect(await readRefusal(reply)).toEqual([400, undefined, "before"]);
    }
  });

  test("agents.does.trigger two concurrent fires start one run, and both are recorded", async () => {
    const { id } = await front.create();
    const both = await Promise.all([fired(id), fired(id, front, APPROVER)]);
    expect(both.map(({ outcome }) => outcome).toSorted()).toEqual(["skipped", "started"]);
    expect((await front.listOutcomes(id)).toSorted()).toEqual(["skipped", "started"]);
  });
});
