// Tests how the operator lists, shows, pauses and resumes triggers.
import { expect, test } from "bun:test";
import { createTriggerQueries } from "../../src/triggers/index.ts";
import { createAgent, readJson } from "../spec/agents/service.ts";
import { startTriggers, type TriggersFront } from "../spec/agents/triggers-front.ts";
import { KEY } from "../support/app.ts";
import { failureOf } from "../support/database.ts";

const OTHER = `${KEY}-other`;
const NOBODY = "01920000-0000-7000-8000-000000000001";

const openQueries = ({ app, clock }: TriggersFront) =>
  createTriggerQueries({ database: app.database, clock });
const accountOf = async ({ app }: TriggersFront, name: string) =>
  (await app.access.accounts.find(name))!.id;

test("agents.does.trigger triggers of one account or of all are listed newest first, without their input", async () => {
  await using front = await startTriggers({ env: { WADI_LIMITS__TRIGGERS: "1000" } });
  const queries = openQueries(front);
  const made: string[] = [];
  for (let n = 0; n < 60; n++) {
    made.unshift((await front.createDaily({ input: { message: "Go" } })).id);
    await front.clock.advance(1);
  }
  const { id: agent_id } = await createAgent(front, {}, { key: OTHER });
  const theirs = await front.create({ agent_id }, { key: OTHER });
  const [dev, other] = [await accountOf(front, "dev"), await accountOf(front, "other")];
  const own = await queries.list(dev);
  expect(own.map(({ id }) => id)).toEqual(made);
  expect(own[0]).toMatchObject({ account_id: dev, input: null, status: "active" });
  expect((await queries.list(null)).map(({ id }) => id)).toEqual([theirs.id, ...made]);
  expect(await queries.list(other)).toMatchObject([
    { id: theirs.id, hook_path: `/v1/hooks/${theirs.id}` },
  ]);
  expect(await queries.list(NOBODY)).toEqual([]);
  const shown = await queries.find(made[0]!);
  expect(shown).toMatchObject({ account_id: dev, input: { message: "Go" } });
  expect(shown!.upcoming).toHaveLength(3);
  expect(await queries.find(NOBODY)).toBeUndefined();
});

test("agents.resources.fire fires of a trigger are listed newest first, up to the requested number", async () => {
  await using front = await startTriggers();
  const queries = openQueries(front);
  const { id } = await front.create();
  const fires: string[] = [];
  for (let n = 0; n < 3; n++) {
    fires.unshift((await readJson(await front.fire(id), 202)).fire.id);
    await front.clock.advance(1);
  }
  const idsOf = async (limit: number) => (await queries.listFires(id, limit)).map((one) => one.id);
  expect(await idsOf(10)).toEqual(fires);
  expect(await idsOf(2)).toEqual(fires.slice(0, 2));
  expect(await queries.listFires(NOBODY, 10)).toEqual([]);
});

test("agents.states.p12 a trigger paused by the operator is resumed by its owner or the operator, and keeps its key", async () => {
  await using front = await startTriggers();
  const queries = openQueries(front);
  const { id, key_id, next_fire_at } = await front.createDaily();
  const at = new Date(front.clock.now()).toISOString();
  const reason = { type: "manual", code: null, message: "It was paused by the operator.", at };
  expect(await queries.setStatus(id, "paused")).toMatchObject({
    status: "paused",
    paused_reason: reason,
  });
  expect(await front.read(id)).toMatchObject({ paused_reason: reason, next_fire_at: null });
  expect(await queries.setStatus(id, "active")).toMatchObject({
    status: "active",
    paused_reason: null,
    key_id,
  });
  expect(await front.read(id)).toMatchObject({ status: "active", next_fire_at, key_id });
  expect(await queries.setStatus(NOBODY, "paused")).toBeUndefined();
  expect(await queries.setStatus(NOBODY, "active")).toBeUndefined();
  await front.ask("PATCH", `/v1/agents/${front.agent.id}`, { body: { status: "archived" } });
  expect(await failureOf(queries.setStatus(id, "active"))).toMatchObject({
    code: "agent_archived",
  });
});
