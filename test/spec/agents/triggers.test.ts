// The agents API for a trigger's owner: creation, reads, changes, pauses and deletion.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readSettings } from "../../../src/settings/index.ts";
import { KEY } from "../../support/app.ts";
import { createKey } from "../gateway/keys.ts";
import { expectRefusal } from "./refusal.ts";
import { NOWHERE } from "./routes.ts";
import { createAgent, createTrigger, type Json, readJson } from "./service.ts";
import { DAILY, nextName, PATH, startTriggers, type TriggersFront } from "./triggers-front.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const OTHER = `${KEY}-other`;
const DAY_MS = 86_400_000;

let front: TriggersFront;
beforeAll(async () => {
  front = await startTriggers();
});
afterAll(() => front.stop());

const nowText = () => new Date(front.clock.now()).toISOString();
const archive = (id: string) =>
  front.ask("PATCH", `/v1/agents/${id}`, { body: { status: "archived" } });

describe("POST /v1/triggers", () => {
  test("agents.endpoints.triggers.p1 agents.does.trigger agents.resources.trigger a schedule shows its next fire in its zone", async () => {
    const input = { message: "Sum up ä." };
    const trigger = await front.createDaily({ name: "Morning ä", input });
    const at = nowText();
    const next = "2026-11-21T06:30:00.000Z";
    expect(trigger).toEqual({
      ...{ id: expect.stringMatching(UUID), name: "Morning ä", agent_id: front.agent.id },
      ...{ kind: "cron", status: "active", paused_reason: null, cron: "30 9 * * *" },
      ...{ time_zone: "Asia/Riyadh", overlap: "skip", catch_up_seconds: 3_600, input },
      ...{ thread_id: null, hook_path: null, key_id: expect.stringMatching(UUID) },
      ...{ next_fire_at: next, last_fire_at: null, previous_secret_expires_at: null },
      upcoming: [next, "2026-11-22T06:30:00.000Z", "2026-11-23T06:30:00.000Z"],
      ...{ created_at: at, updated_at: at },
    });
    expect(await front.read(trigger.id)).toEqual(trigger);
    expect((await readJson(await front.get(PATH))).data[0]).toEqual(trigger);
  });

  test("agents.resources.trigger a hook has a path and a secret, which is shown once", async () => {
    const { secret, ...trigger } = await front.create({ name: "Knock ä" });
    expect(trigger).toEqual({
      ...{ id: expect.stringMatching(UUID), name: "Knock ä", agent_id: front.agent.id },
      ...{ kind: "webhook", status: "active", paused_reason: null, cron: null, time_zone: null },
      ...{ overlap: "skip", catch_up_seconds: null, input: null, thread_id: null },
      ...{ hook_path: `/v1/hooks/${trigger.id}`, key_id: expect.stringMatching(UUID) },
      ...{ next_fire_at: null, upcoming: [], last_fire_at: null },
      ...{ previous_secret_expires_at: null, created_at: nowText(), updated_at: nowText() },
    });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await front.create()).secret).not.toBe(secret);
    expect(await front.read(trigger.id)).toEqual(trigger);
    const shown = [await front.get(PATH), await front.get(`${PATH}/${trigger.id}/fires`)];
    shown.push(await front.patch(trigger.id, { overlap: "allow" }));
    for (const reply of shown) expect(await reply.text()).not.toContain("whsec_");
  });

  test("agents.resources.trigger a secret supplied by the sender is accepted, and shown nowhere else", async () => {
    const own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const trigger = await front.create({ secret: own });
    expect(trigger.secret).toBe(own);
    const { data } = await readJson(await front.get(PATH));
    expect(JSON.stringify([data, front.lines])).not.toContain(own.slice(6));
  });

  test("agents.resources.trigger only a thread of the agent takes the runs", async () => {
    const start = { input: { message: "Hello" } };
    const begin = async (agent_id: string, key?: string) =>
      readJson(await front.post(`/v1/agents/${agent_id}/runs`, start, { key }), 202);
    const { thread_id } = await begin(front.agent.id);
    expect(await front.create({ thread_id })).toMatchObject({ thread_id });
    const other = await begin((await createAgent(front)).id);
    const theirs = await begin((await createAgent(front, {}, { key: OTHER })).id, OTHER);
    const refuse = async (id: string, status: number, code: string) =>
      expectRefusal(await front.askCreate({ thread_id: id }), status, code, "thread_id");
    // agents.errors.thread_agent_mismatch, agents.errors.thread_not_found
    await refuse(other.thread_id, 409, "thread_agent_mismatch");
    await refuse(theirs.thread_id, 404, "thread_not_found");
    await refuse(NOWHERE, 404, "thread_not_found");
  });

  test("agents.errors.agent_not_found the agent must belong to the caller and not be archived", async () => {
    const theirs = await createAgent(front, {}, { key: OTHER });
    for (const agent_id of [theirs.id, NOWHERE]) {
      const reply = await front.askCreate({ agent_id });
      await expectRefusal(reply, 404, "agent_not_found", "agent_id");
    }
    const { id: agent_id } = await createAgent(front);
    await readJson(await archive(agent_id));
    await expectRefusal(await front.askCreate({ agent_id }), 409, "agent_archived", "agent_id");
  });

  test("agents.errors.name_taken agents.resources.trigger a name is unique per owner", async () => {
    const { id, name } = await front.create();
    const other = await front.createDaily();
    await expectRefusal(await front.askCreate({ name }), 409, "name_taken", "name");
    await expectRefusal(await front.patch(other.id, { name }), 409, "name_taken", "name");
    // It may equal its own name and another account's.
    await readJson(await front.patch(id, { name }));
    const { id: agent_id } = await createAgent(front, {}, { key: OTHER });
    await front.create({ name, agent_id }, { key: OTHER });
    await front.create({ name: name.toUpperCase() });
  });

  test("agents.errors.triggers_limit agents.limits.run_admission_trigger_endpoint an account has at most the operator's number of triggers", async () => {
    await using small = await startTriggers({ env: { WADI_LIMITS__TRIGGERS: "2" } });
    const first = await small.createDaily();
    await small.create();
    await expectRefusal(await small.askCreate({}), 429, "triggers_limit");
    const { id: agent_id } = await createAgent(small, {}, { key: OTHER });
    await small.create({ agent_id }, { key: OTHER });
    expect((await small.remove(first.id)).status).toBe(204);
    await small.create();
  });

  test("agents.errors.permission_denied a key without an owner has no triggers, and creates none", async () => {
    const key = await createKey(front, { account_id: null, scopes: ["agents"] });
    await expectRefusal(await front.askCreate({}, { key }), 403, "permission_denied");
    expect((await readJson(await front.get(PATH, { key }))).data).toEqual([]);
    const { id } = await front.create();
    const replies = [
      await front.get(`${PATH}/${id}`, { key }),
      await front.get(`${PATH}/${id}/fires`, { key }),
      await front.patch(id, {}, { key }),
      await front.rotate(id, {}, { key }),
      await front.fire(id, { key }),
      await front.remove(id, { key }),
    ];
    for (const reply of replies) await expectRefusal(reply, 404, "trigger_not_found");
  });
});

describe("GET /v1/triggers", () => {
  test("agents.endpoints.triggers.p1 lists every trigger of an account, newest first, beyond one chunk", async () => {
    await using many = await startTriggers({ env: { WADI_LIMITS__TRIGGERS: "1000" } });
    const made: Json[] = [];
    for (let n = 0; n < 103; n++) {
      made.unshift(await many.createDaily());
      if (n % 3 === 0) await many.clock.advance(1);
    }
    const { id: agent_id } = await createAgent(many, {}, { key: OTHER });
    await many.create({ agent_id }, { key: OTHER });
    const list = await readJson(await many.get(PATH));
    expect(list).toEqual({ data: made });
  });
});

describe("PATCH /v1/triggers/{id}", () => {
  test("agents.endpoints.triggers.p1 changes the fields that are sent, and nothing else", async () => {
    const before = await front.createDaily({ input: { message: "Go" } });
    await front.clock.advance(1_000);
    expect(await readJson(await front.patch(before.id, {}))).toEqual(before);
    const { name, time_zone, cron } = before;
    expect(await readJson(await front.patch(before.id, { name, time_zone, cron }))).toEqual(before);
    const renamed = { name: nextName(), overlap: "allow", catch_up_seconds: 0 };
    const changed = await readJson(await front.patch(before.id, renamed));
    expect(changed).toEqual({ ...before, ...renamed, updated_at: nowText() });
    const input = { message: "Stop" };
    expect(await readJson(await front.patch(before.id, { input }))).toMatchObject({ input });
    const empty = { input: null, catch_up_seconds: null };
    const emptied = await readJson(await front.patch(before.id, empty));
    expect(emptied).toEqual({ ...changed, input: null, catch_up_seconds: 3_600 });
    expect(await front.read(before.id)).toEqual(emptied);
  });

  test("agents.resources.trigger a new schedule or zone applies from now", async () => {
    const { id } = await front.createDaily();
    const change = async (body: object) => (await readJson(await front.patch(id, body))).upcoming;
    const [day] = new Date(front.clock.now() + DAY_MS).toISOString().split("T");
    expect((await change({ time_zone: "America/New_York" }))[0]).toEndWith("T14:30:00.000Z");
    expect((await change({ time_zone: null }))[0]).toBe(`${day}T09:30:00.000Z`);
    expect(await change({ cron: "0 0 29 2 *" })).toEqual([
      ...["2028-02-29T00:00:00.000Z", "2032-02-29T00:00:00.000Z", "2036-02-29T00:00:00.000Z"],
    ]);
  });

  test("agents.resources.trigger concurrent changes are all applied, and the next fire follows the last schedule", async () => {
    const { id } = await front.createDaily();
    const hours = Array.from({ length: 12 }, (_, hour) => hour);
    const bodies = hours.flatMap((hour) => [
      ...[{ cron: `0 ${hour} * * *` }, { time_zone: hour % 2 ? "UTC" : "Asia/Tokyo" }],
      { status: hour % 2 ? "active" : "paused" },
    ]);
    const changed = await Promise.all(bodies.map((body) => front.patch(id, body)));
    for (const reply of changed) await readJson(reply);
    await readJson(await front.patch(id, { status: "active" }));
    const { cron, time_zone, upcoming, next_fire_at } = await front.read(id);
    const fresh = await front.createDaily({ cron, time_zone });
    expect([next_fire_at, upcoming]).toEqual([fresh.next_fire_at, fresh.upcoming]);
  });

  test("agents.states.p12 a paused trigger has no next fire, and continues from now when it is resumed", async () => {
    const before = await front.createDaily();
    const paused = await readJson(await front.patch(before.id, { status: "paused" }));
    expect(paused).toEqual({
      ...{ ...before, status: "paused", next_fire_at: null, upcoming: [] },
      paused_reason: {
        ...{ type: "manual", code: null, message: "It was paused by its owner." },
        at: nowText(),
      },
      updated_at: nowText(),
    });
    await front.clock.advance(3 * DAY_MS);
    // Again it is what it was, and another schedule does not wake it.
    expect(await readJson(await front.patch(before.id, { status: "paused" }))).toEqual(paused);
    const timed = { cron: "45 9 * * *" };
    const changed = await readJson(await front.patch(before.id, timed));
    expect(changed).toEqual({ ...paused, ...timed, updated_at: nowText() });
    const resumed = await readJson(await front.patch(before.id, { status: "active" }));
    expect(resumed).toMatchObject({ status: "active", paused_reason: null });
    expect(Date.parse(resumed.next_fire_at)).toBeGreaterThan(front.clock.now());
    expect(resumed.upcoming).toHaveLength(3);
    expect(await readJson(await front.patch(before.id, { status: "active" }))).toEqual(resumed);
  });

  test("agents.states.p12 runs act for the key that resumed the trigger, and for no other", async () => {
    const { id, key_id } = await front.create();
    const key = `${KEY}-approver`;
    const change = async (body: object) =>
      (await readJson(await front.patch(id, body, { key }))).key_id;
    expect(await change({ overlap: "allow", status: "active" })).toBe(key_id);
    expect(await change({ status: "paused" })).toBe(key_id);
    const resumed = await change({ status: "active" });
    expect(resumed).toMatch(UUID);
    expect(resumed).not.toBe(key_id);
  });

  test("agents.authentication.1 runs act for the key that changed their message or was shown the secret", async () => {
    const key = `${KEY}-approver`;
    const input = { message: "What is new?" };
    const { id, key_id } = await front.create({ input });
    const change = async (body: object, by?: string) =>
      (await readJson(await front.patch(id, body, { key: by }))).key_id;
    // The same message, another name and another overlap do not change the requests.
    expect(await change({ input, name: nextName(), overlap: "allow" }, key)).toBe(key_id);
    const other = await change({ input: { message: "What is old?" } }, key);
    expect(other).not.toBe(key_id);
    expect(await change({ input: null })).toBe(key_id);
    // Without a message its runs use its name.
    expect(await change({ name: nextName() }, key)).toBe(other);
    expect(await change({ input })).toBe(key_id);
    expect((await readJson(await front.rotate(id, {}, { key }))).key_id).toBe(other);
  });
});

describe("DELETE /v1/triggers/{id}", () => {
  test("agents.errors.trigger_not_found a deleted trigger is not found, and its name is free", async () => {
    const { id, name } = await front.create();
    const reply = await front.remove(id);
    expect([reply.status, await reply.text()]).toEqual([204, ""]);
    const replies = [
      ...[await front.remove(id), await front.get(`${PATH}/${id}`), await front.fire(id)],
      ...[await front.patch(id, {}), await front.rotate(id)],
      await front.get(`${PATH}/${id}/fires`),
    ];
    for (const one of replies) await expectRefusal(one, 404, "trigger_not_found");
    await front.create({ name });
  });
});

describe("agents.states.p12 archiving an agent", () => {
  test("agents.states.p12 pauses its triggers at once, and none of another agent", async () => {
    const { id: agent_id } = await createAgent(front);
    const daily = await front.createDaily({ agent_id });
    const hook = await front.create({ agent_id });
    const bystander = await front.createDaily();
    await readJson(await archive(agent_id));
    const at = nowText();
    const reason = { type: "agent", code: "agent_archived", message: "The agent is archived.", at };
    const paused = { status: "paused", paused_reason: reason, next_fire_at: null, upcoming: [] };
    for (const { id } of [daily, hook]) {
      expect(await front.read(id)).toMatchObject(paused);
      await expectRefusal(await front.patch(id, { status: "active" }), 409, "agent_archived");
      await expectRefusal(await front.fire(id), 409, "trigger_paused");
      expect(await front.listOutcomes(id)).toEqual([]);
    }
    expect(await front.read(bystander.id)).toEqual(bystander);
  });

  /** Archived, until that was written down, and taken back. */
  const archiveForAWhile = async (served: TriggersFront, id: string, begin: () => unknown) => {
    const turn = async (status: string) => {
      const body = { status };
      await readJson(await served.ask("PATCH", `/v1/agents/${served.agent.id}`, { body }));
    };
    await served.clock.advance(1_000);
    await turn("archived");
    await begin();
    const { created_at } = await served.read(id);
    while ((await served.read(id)).updated_at === created_at) await served.clock.advance(0);
    await turn("active");
    expect(await served.read(id)).toMatchObject({
      ...{ status: "paused", paused_reason: { type: "agent", code: "agent_archived" } },
      next_fire_at: null,
    });
    const resumed = await readJson(await served.patch(id, { status: "active" }));
    expect(resumed).toMatchObject({ status: "active", paused_reason: null });
  };

  test("agents.states.p12 leaves them paused after it is restored, until a key resumes them", async () => {
    await using served = await startTriggers({ listens: true });
    const { id } = await served.createDaily();
    await archiveForAWhile(served, id, () => {});
  });

  test("agents.states.p12 is noticed by a server that was not running then", async () => {
    await using served = await startTriggers();
    const { id } = await served.createDaily();
    await archiveForAWhile(served, id, served.app.start);
  });
});

describe("agents.errors.not_enabled while triggers are switched off", () => {
  test("agents.errors.not_enabled creation, changes and fires are refused, reads and deletions still work", async () => {
    await using off = await startTriggers();
    const { secret, ...hook } = await off.create();
    const one = `${PATH}/${hook.id}`;
    const flags = { "server.port": 0 };
    await off.app.change(readSettings("[agents]\ntriggers = false\n", "wadi.toml", {}, flags));
    for (const [method, path, body] of [
      ["POST", PATH, { name: "X", agent_id: off.agent.id, ...DAILY }],
      ["POST", PATH, "{"],
      ["PATCH", one, { status: "paused" }],
      ["POST", `${one}/rotate-secret`, {}],
      ["POST", `${one}/fires`, undefined],
    ] as const) {
      await expectRefusal(await off.ask(method, path, { body }), 403, "not_enabled");
    }
    expect(secret).toBeString();
    expect((await readJson(await off.get(PATH))).data).toEqual([hook]);
    expect(await off.read(hook.id)).toEqual(hook);
    expect(await off.listOutcomes(hook.id)).toEqual([]);
    expect((await off.remove(hook.id)).status).toBe(204);
    await expectRefusal(await off.get(one), 404, "trigger_not_found");
  });
});

test("agents.authentication.3 a key without `agents` is refused on every route, even in the grace period", async () => {
  await using lenient = await startTriggers({ env: { WADI_AGENTS__ENFORCE_SCOPE: "false" } });
  const { id } = await createTrigger(lenient, { agent_id: lenient.agent.id });
  const options = { key: `${KEY}-none` };
  const replies = [
    ...[await lenient.get(PATH, options), await lenient.get(`${PATH}/${id}`, options)],
    ...[await lenient.get(`${PATH}/${id}/fires`, options), await lenient.askCreate({}, options)],
    ...[await lenient.patch(id, {}, options), await lenient.rotate(id, {}, options)],
    ...[await lenient.fire(id, options), await lenient.remove(id, options)],
  ];
  for (const reply of replies) await expectRefusal(reply, 403, "scope_required");
  expect(await lenient.read(id)).toMatchObject({ id, status: "active" });
});
