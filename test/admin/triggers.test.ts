// Tests the operator's trigger commands: lists, one with its fires, pause and resume.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { type Json, type RunsFront, startRuns } from "../spec/agents/runs-front.ts";
import { type AskOptions, KEY } from "../support/app.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const OTHER = { key: `${KEY}-other` };

let front: RunsFront;
beforeAll(async () => {
  front = await startRuns();
});
afterAll(() => front.app.stop(0));

const verbs = () => front.app.admin.triggers;

async function create(fields: object = {}, own = front, options?: AskOptions): Promise<Json> {
  const body = {
    ...{ name: crypto.randomUUID(), agent_id: own.agent.id, kind: "webhook" },
    ...fields,
  };
  const made = await own.post("/v1/triggers", body, options);
  expect(made.status).toBe(201);
  return (await made.json()) as Json;
}
const createHourly = (fields: object = {}) =>
  create({ kind: "cron", cron: "0 * * * *", ...fields });
const fire = (id: string) => front.post(`/v1/triggers/${id}/fires`, undefined);

test("agents.does.trigger: triggers are listed newest first without their input, of all accounts or of one", async () => {
  await using own = await startRuns();
  const { triggers } = own.app.admin;
  expect(await triggers.list(null)).toEqual([]);
  const agent = await own.createAgent({}, OTHER);
  const first = await create({ name: "First", input: { message: "Hello" } }, own);
  await own.clock.advance(1_000);
  const theirs = await create({ name: "Theirs", agent_id: agent.id }, own, OTHER);
  await own.clock.advance(1_000);
  const last = await create({ name: "Last", kind: "cron", cron: "0 7 * * *" }, own);
  const list = async (account: string | null) =>
    (await triggers.list(account)).map(({ id, account: owner, name }) => [id, owner, name]);
  const dev = [
    [last.id, "dev", "Last"],
    [first.id, "dev", "First"],
  ];
  expect(await list("dev")).toEqual(dev);
  expect(await list(null)).toEqual([dev[0]!, [theirs.id, "other", "Theirs"], dev[1]!]);
  expect((await triggers.list("dev")).map(({ input }) => input)).toEqual([null, null]);
  await expect(triggers.list("othr")).rejects.toThrow('did you mean "other"?');
});

test("agents.resources.trigger: a trigger is shown as its owner sees it, with its owner", async () => {
  const { id } = await createHourly({ input: { message: "Hello" }, time_zone: "Asia/Riyadh" });
  const { account, account_id, agent_name, key_name, ...shown } = await verbs().show(
    id.toUpperCase(),
  );
  expect([account, account_id]).toEqual(["dev", front.account_id]);
  expect(agent_name).toBe(front.agent.name);
  expect(key_name).toBe((await front.app.access.keys.findById(shown.key_id))!.name);
  const seen = await front.read(`/v1/triggers/${id}`);
  const { next_fire_at, created_at, updated_at } = shown;
  expect({
    ...shown,
    next_fire_at: new Date(next_fire_at!).toISOString(),
    created_at: new Date(created_at).toISOString(),
    updated_at: new Date(updated_at).toISOString(),
  } as object).toEqual(seen);
});

test("agents.resources.fire: fires of a trigger are listed newest first, up to the requested number", async () => {
  const { id } = await create();
  expect(await verbs().listFires(id, 20)).toEqual([]);
  const outcomes: string[] = [];
  for (const status of [202, 202, 202]) {
    const reply = await fire(id);
    expect(reply.status).toBe(status);
    outcomes.unshift(((await reply.json()) as Json).fire.outcome);
    await front.clock.advance(1_000);
  }
  const found = await verbs().listFires(id, 20);
  expect(found.map(({ outcome }) => outcome as string)).toEqual(outcomes);
  expect(found.map(({ source }) => source as string)).toEqual(["manual", "manual", "manual"]);
  expect(await verbs().listFires(id, 2)).toEqual(found.slice(0, 2));
});

test("agents.does.trigger: the operator fires a trigger, whose run names the operator and acts for its key", async () => {
  const { id, name, key_id } = await createHourly({ input: { message: "Hello" } });
  const fired = await verbs().fire(id, "noura");
  expect(fired).toMatchObject({ trigger_id: id, source: "manual", outcome: "started" });
  const { runs } = front.app.admin;
  const run = await runs.require(fired.run_id!);
  expect(run).toMatchObject({
    ...{ trigger_kind: "manual", started_by_key_id: key_id, started_by_operator: "noura" },
    ...{ input: { message: "Hello" }, fired_by_key_id: null },
  });
  expect(await runs.describe(run)).toMatchObject({ started_by: name });
  const [listed] = (await verbs().list("dev")).filter((one) => one.id === id);
  expect(listed!.recent_fires).toMatchObject([{ id: fired.id, outcome: "started" }]);
  await verbs().pause(id);
  const refused = await verbs()
    .fire(id, "noura")
    .catch((why: unknown) => why);
  expect(refused).toBeInstanceOf(AdminError);
  expect(refused).toMatchObject({ kind: "conflict" });
});

test("agents.resources.trigger: the operator rotates a secret, the former stays valid for a while, and the keys stay", async () => {
  const { id, key_id, secret } = await create();
  const now = front.clock.now();
  const rotated = await verbs().rotate(id, 60);
  expect(rotated.secret).toStartWith("whsec_");
  expect(rotated.secret).not.toBe(secret);
  expect(rotated.trigger).toMatchObject({ key_id, previous_secret_expires_at: now + 60_000 });
  expect(JSON.stringify(rotated.trigger)).not.toContain("whsec_");
  expect((await verbs().rotate(id, 0)).trigger.previous_secret_expires_at).toBeNull();
  const { id: cron } = await createHourly();
  await expect(verbs().rotate(cron, undefined)).rejects.toThrow("Only a trigger of the kind");
});

test("agents.states.p12: the operator pauses and resumes a trigger, which keeps its key and skips past instants", async () => {
  const { id, key_id } = await createHourly();
  const paused = await verbs().pause(id);
  expect(paused).toMatchObject({
    isChanged: true,
    trigger: {
      ...{ status: "paused", next_fire_at: null, upcoming: [] },
      paused_reason: { type: "manual", message: "It was paused by the operator." },
    },
  });
  expect((await fire(id)).status).toBe(409);
  await front.clock.advance(60_000);
  expect(await verbs().pause(id)).toEqual({ ...paused, isChanged: false });
  await front.clock.advance(7_200_000);

  const resumed = await verbs().resume(id);
  expect(resumed).toMatchObject({
    isChanged: true,
    trigger: { status: "active", paused_reason: null, key_id, account: "dev" },
  });
  const now = front.clock.now();
  expect(resumed.trigger.next_fire_at! - now).toBeWithin(1, 3_600_001);
  expect(await verbs().resume(id)).toEqual({ ...resumed, isChanged: false });
  expect((await fire(id)).status).toBe(202);
});

test("agents.states.p12: a trigger paused with its archived agent is not resumed, and the error says why", async () => {
  const agent = await front.createAgent();
  const { id } = await create({ agent_id: agent.id });
  await front.ask("PATCH", `/v1/agents/${agent.id}`, { body: { status: "archived" } });
  expect(await verbs().pause(id)).toMatchObject({
    isChanged: false,
    trigger: { paused_reason: { type: "agent", code: "agent_archived" } },
  });
  const refused = await verbs()
    .resume(id)
    .catch((why: unknown) => why);
  expect(refused).toBeInstanceOf(AdminError);
  expect((refused as Error).message).toContain("archived");
});

test("a malformed trigger id is not quoted, an unknown one is", async () => {
  const { show, pause, resume, listFires } = verbs();
  for (const verb of [show, pause, resume, (id: string) => listFires(id, 20)]) {
    const secret = verb("whsec_canary");
    await expect(secret).rejects.toThrow(
      "that is no trigger's id: `wadi triggers list` shows them",
    );
    await expect(secret).rejects.toBeInstanceOf(AdminError);
    const unknown = `there is no trigger "${UNKNOWN}": see \`wadi triggers list\``;
    await expect(verb(UNKNOWN)).rejects.toThrow(unknown);
  }
});
