// Tests which old fires are deleted.
import { expect, test } from "bun:test";
import { createFireSweeps } from "../../src/triggers/module.ts";
import { readJson } from "../spec/agents/service.ts";
import { PATH, startTriggers, type TriggersFront } from "../spec/agents/triggers-front.ts";

const DAY_MS = 86_400_000;

/** Sweeps as the process does with this setting. */
async function sweep({ app, clock }: TriggersFront, events: number | null) {
  const { database } = app;
  const settings = () => ({
    retention: { events, runs: null, request_log: null, usage_half_hours: null, audit: null },
  });
  for (const { run } of createFireSweeps({ database, settings })) {
    await run(clock.now(), () => false);
  }
}

test("agents.endpoints.triggers.p6 fires are kept for thirty days at least, longer with events, also those of a deleted trigger", async () => {
  await using front = await startTriggers();
  const { id } = await front.create({ overlap: "allow" });
  const gone = await front.create();
  const fire = async (of: string) => (await readJson(await front.fire(of), 202)).fire;
  const orphan = await fire(gone.id);
  expect((await front.remove(gone.id)).status).toBe(204);
  await fire(id);
  await front.clock.advance(30 * DAY_MS);
  await fire(id);

  const left = () => front.listOutcomes(id);
  await sweep(front, DAY_MS);
  expect(await left()).toHaveLength(2);
  await front.clock.advance(1);
  await sweep(front, null);
  await sweep(front, 31 * DAY_MS);
  expect(await left()).toHaveLength(2);
  await sweep(front, DAY_MS);
  expect(await left()).toHaveLength(1);
  // The run still exists.
  expect((await front.get(`/v1/runs/${orphan.run_id}`)).status).toBe(200);
});

test("many old fires are deleted in several passes", async () => {
  await using front = await startTriggers({ env: { WADI_LIMITS__ACTIVE_RUNS: "10" } });
  const { id } = await front.create();
  for (let n = 0; n < 21; n++) {
    await Promise.all(Array.from({ length: 100 }, () => front.fire(id)));
  }
  expect((await readJson(await front.get(`${PATH}/${id}/fires?limit=200`))).data).toHaveLength(200);
  await front.clock.advance(31 * DAY_MS);
  await sweep(front, DAY_MS);
  expect(await front.listOutcomes(id)).toEqual([]);
});
