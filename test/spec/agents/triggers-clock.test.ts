// Triggers that fire by the clock, as their owners see it: what starts, what does not, and why.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSettings } from "../../../src/settings/index.ts";
import { KEY, type TestAppOptions } from "../../support/app.ts";
import { allow, createKey } from "../gateway/keys.ts";
import { createAgent, type Json, readJson } from "./service.ts";
import { PATH, startTriggers, type TriggersFront } from "./triggers-front.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Every five minutes; the app's clock begins at noon of 20 November 2026. */
const OFTEN = { kind: "cron", cron: "*/5 * * * *" };

const start = (options: TestAppOptions = {}) => startTriggers({ listens: true, ...options });
const readFires = async (front: TriggersFront, id: string, key = KEY): Promise<Json[]> =>
  (await readJson(await front.get(`${PATH}/${id}/fires`, { key }))).data;
const readTrigger = async (front: TriggersFront, id: string, key = KEY): Promise<Json> =>
  readJson(await front.get(`${PATH}/${id}`, { key }));
const resume = async (front: TriggersFront, id: string, key = KEY): Promise<Json> =>
  readJson(await front.patch(id, { status: "active" }, { key }));

async function until<T>(front: TriggersFront, look: () => Promise<T | false | undefined>) {
  for (let turns = 0; turns < 20_000; turns++) {
    const found = await look();
    if (found) return found;
    await front.clock.advance(0);
  }
  throw new Error("what was waited for did not come");
}
/** Five minutes pass; the fire of the instant that they end with, and of none besides. */
async function passOne(front: TriggersFront, id: string, key = KEY): Promise<Json> {
  const before = (await readFires(front, id, key)).length;
  await front.clock.advance(5 * MINUTE_MS);
  const fires = await until(front, async () => {
    const found = await readFires(front, id, key);
    return found.length > before && found;
  });
  expect(fires).toHaveLength(before + 1);
  const { created_at, scheduled_at, source, missed_count } = fires[0]!;
  const at = new Date(front.clock.now()).toISOString();
  expect([created_at, scheduled_at, source, missed_count]).toEqual([at, at, "cron", 0]);
  return fires[0]!;
}
/** The run of a fire, when it is over. */
const endOf = (front: TriggersFront, { run_id }: Json) =>
  until(front, async () => {
    const run = await readJson(await front.get(`/v1/runs/${run_id}`));
    return run.finished_at !== null && run;
  });

test("agents.does.trigger agents.resources.run at its instant a run starts on behalf of the trigger's key, and completes", async () => {
  await using front = await start();
  const { id, key_id } = await front.create({ ...OFTEN, name: "Five", overlap: "allow" });
  const fire = await passOne(front, id);
  const trigger = await front.read(id);
  expect(fire).toMatchObject({ trigger_id: id, outcome: "started", error: null });
  expect(trigger).toMatchObject({
    last_fire_at: "2026-11-20T12:05:00.000Z",
    next_fire_at: "2026-11-20T12:10:00.000Z",
  });
  const run = await endOf(front, fire);
  expect(run).toMatchObject({
    ...{ status: "succeeded", trigger_kind: "cron", trigger_id: id, fire_id: fire.id },
    ...{ started_by_key_id: key_id, external_content: false },
    input: { message: 'The trigger "Five" fired at 2026-11-20T12:05:00.000Z.' },
  });
  await front.patch(id, { input: { message: "!say Done" } });
  const next = await endOf(front, await passOne(front, id));
  expect(next).toMatchObject({ input: { message: "!say Done" }, output: { message: "Done" } });
  const list = await readJson(
    await front.get(`/v1/agents/${front.agent.id}/runs?trigger_kind=cron`),
  );
  expect(list.data).toHaveLength(2);
});

test("agents.states.p12 a revoked key refuses the fire, which pauses the trigger until another key resumes it", async () => {
  await using front = await start();
  const key = await createKey(front, { scopes: ["agents"] });
  const { id, key_id } = await front.create(OFTEN, { key });
  expect((await passOne(front, id)).outcome).toBe("started");
  await front.app.admin.keys.revoke(key_id);
  const fire = await passOne(front, id);
  expect(fire).toMatchObject({ outcome: "refused", run_id: null });
  expect(fire.error.code).toBe("permission_denied");
  expect(await front.read(id)).toMatchObject({
    ...{ status: "paused", next_fire_at: null, upcoming: [] },
    paused_reason: { type: "key", ...fire.error, at: fire.created_at },
  });
  await front.clock.advance(HOUR_MS);
  expect(await front.listOutcomes(id)).toEqual(["refused", "started"]);
  const resumed = await resume(front, id);
  expect(resumed).toMatchObject({ status: "active", paused_reason: null });
  expect(resumed.key_id).not.toBe(key_id);
  // From now on: nothing of the hour is caught up with.
  expect(await passOne(front, id)).toMatchObject({ outcome: "started" });
});

test("agents.states.p12 a model that the key may no longer call refuses the fire, which pauses the trigger", async () => {
  await using front = await start();
  const renting = await allow(front, "renting", { scopes: ["agents"] });
  const { key } = renting;
  await renting.grant("rented");
  const agent = await createAgent(front, { model: "rented" }, { key });
  const { id } = await front.create({ ...OFTEN, agent_id: agent.id }, { key });
  await renting.ungrant("rented");
  const fire = await passOne(front, id, key);
  expect(fire).toMatchObject({ outcome: "refused", error: { code: "model_not_permitted" } });
  expect(await readTrigger(front, id, key)).toMatchObject({
    ...{ status: "paused", paused_reason: { type: "model", code: "model_not_permitted" } },
  });
  await renting.grant("rented");
  await resume(front, id, key);
  expect((await passOne(front, id, key)).outcome).toBe("started");
});

test("agents.states.p12 triggers of an archived agent do not fire, nor after it is restored", async () => {
  await using front = await start();
  const { id } = await front.create(OFTEN);
  const turn = async (status: string) => {
    const path = `/v1/agents/${front.agent.id}`;
    await readJson(await front.ask("PATCH", path, { body: { status } }));
  };
  /** In steps, each of which the scheduler has the time to see. */
  const passHour = async () => {
    for (let passed = 0; passed < HOUR_MS; passed += 5 * MINUTE_MS) {
      await front.clock.advance(5 * MINUTE_MS);
      await front.read(id);
    }
  };
  await turn("archived");
  await passHour();
  expect(await front.read(id)).toMatchObject({
    status: "paused",
    paused_reason: { type: "agent" },
  });
  await turn("active");
  await passHour();
  expect(await front.listOutcomes(id)).toEqual([]);
  await resume(front, id);
  expect((await passOne(front, id)).outcome).toBe("started");
});

test("agents.errors.agent_held while the operator holds the agent each instant is recorded as held, and later ones fire again", async () => {
  await using front = await start();
  const { id } = await front.create(OFTEN);
  const { agents } = front.app.admin;
  await agents.hold(front.agent.id, "unpaid");
  for (let n = 0; n < 2; n++) {
    const fire = await passOne(front, id);
    expect(fire).toMatchObject({ outcome: "held", error: { code: "agent_held" }, run_id: null });
  }
  expect((await front.read(id)).status).toBe("active");
  await agents.release(front.agent.id);
  expect((await passOne(front, id)).outcome).toBe("started");
});

test("agents.resources.trigger overlap `skip` starts no run while another waits for approval; `allow` does", async () => {
  await using front = await start();
  const agent = await createAgent(front, {
    ...{ tools: ["calculator"], policy: { require_approval: ["calculator"] } },
  });
  const input = { message: '!tool calculator {"expression":"1 + 1"}' };
  const fields = { ...OFTEN, agent_id: agent.id, input };
  const { id } = await front.create(fields);
  const allowing = await front.create({ ...fields, overlap: "allow" });
  const first = await passOne(front, id);
  await until(front, async () => {
    const { status } = await readJson(await front.get(`/v1/runs/${first.run_id}`));
    return status === "waiting_approval";
  });
  expect(await passOne(front, id)).toMatchObject({
    outcome: "skipped",
    error: { code: "overlap" },
  });
  const twice = ["started", "started"];
  await until(front, async () => (await front.listOutcomes(allowing.id)).length === 2);
  expect(await front.listOutcomes(allowing.id)).toEqual(twice);
  await readJson(await front.post(`/v1/runs/${first.run_id}/cancel`, undefined));
  await endOf(front, first);
  expect((await passOne(front, id)).outcome).toBe("started");
});

test("agents.errors.active_runs_limit at a limit of its account no run starts, and the trigger stays active", async () => {
  await using front = await start({ env: { WADI_LIMITS__ACTIVE_RUNS: "1" } });
  // Started first: it holds the only slot.
  const body = { input: { message: "!stall" } };
  const other = await readJson(await front.post(`/v1/agents/${front.agent.id}/runs`, body), 202);
  const { id } = await front.create(OFTEN);
  expect(await passOne(front, id)).toMatchObject({
    ...{ outcome: "limited", run_id: null, error: { code: "active_runs_limit" } },
  });
  await readJson(await front.post(`/v1/runs/${other.id}/cancel`, undefined));
  await endOf(front, { run_id: other.id });
  expect((await passOne(front, id)).outcome).toBe("started");
});

test("agents.errors.not_enabled while triggers are switched off none fires; afterwards the latest missed instant fires", async () => {
  await using front = await start();
  const { id } = await front.create({ ...OFTEN, catch_up_seconds: 600 });
  const turn = (is_on: boolean) => {
    const text = `[agents]\ntriggers = ${is_on}\n`;
    return front.app.change(readSettings(text, "wadi.toml", {}, { "server.port": 0 }));
  };
  await turn(false);
  await front.clock.advance(22 * MINUTE_MS);
  expect(await front.listOutcomes(id)).toEqual([]);
  await turn(true);
  await front.clock.advance(30_000);
  const [fire] = await until(front, async () => {
    const found = await readFires(front, id);
    return found.length > 0 && found;
  });
  expect(fire).toMatchObject({
    ...{ outcome: "started", scheduled_at: "2026-11-20T12:20:00.000Z", missed_count: 3 },
  });
});

test("agents.does.trigger a restarted server fires the latest missed instant, if the catch-up allows it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wadi-clock-"));
  const place = { kind: "sqlite", file: join(directory, "wadi.db") } as const;
  const start_ms = Date.UTC(2026, 10, 20, 12);
  const before = await start({ place, start_ms });
  const ids: string[] = [];
  for (const catch_up_seconds of [0, 3_600, 86_400]) {
    const timed = { kind: "cron", cron: "0 * * * *", overlap: "allow", catch_up_seconds };
    ids.push((await before.create(timed)).id);
  }
  await before.stop();
  const shown: string[][] = [];
  // Down from noon until half past three; then across an instant, by 40 seconds; then for days.
  for (const [seed, down_ms] of [3.5 * HOUR_MS, 4 * HOUR_MS + 40_000, 75.5 * HOUR_MS].entries()) {
    const front = await start({ place, start_ms: start_ms + down_ms, seed: 2 + seed });
    const found: string[] = [];
    for (const id of ids) {
      const fires = await until(front, async () => {
        const all = await readFires(front, id);
        return all.length === seed + 1 && all;
      });
      const [{ outcome, scheduled_at, missed_count }] = fires as [Json];
      found.push(`${scheduled_at.slice(8, 16)} ${outcome} ${missed_count}`);
    }
    shown.push(found);
    await front.stop();
  }
  expect(shown).toEqual([
    ["20T15:00 missed 3", "20T15:00 started 2", "20T15:00 started 2"],
    ["20T16:00 started 0", "20T16:00 started 0", "20T16:00 started 0"],
    ["23T15:00 missed 71", "23T15:00 started 70", "23T15:00 started 70"],
  ]);
  rmSync(directory, { recursive: true, force: true });
});
