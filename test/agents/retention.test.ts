// Deletion of old rows, and the rows that stay.
import { expect, test } from "bun:test";
import { createRunSweeps } from "../../src/agents/retention.ts";
import { outboxStore } from "../../src/outbox/store.ts";
import { makeSteps, type RunsFront, startRuns } from "../spec/agents/runs-front.ts";

const DAY_MS = 86_400_000;

/** Sweeps by these settings; returns how many runs, events, keys and evaluations were deleted. */
async function sweep({ app, clock }: RunsFront, runs: number | null, events: number | null) {
  const { database } = app;
  const settings = () => ({
    retention: { runs, events, request_log: null, usage_half_hours: null, audit: null },
  });
  const rows: number[] = [];
  for (const { run } of createRunSweeps({ database, settings })) {
    rows.push(await run(clock.now(), () => false));
  }
  return rows;
}

test("deletes old ended runs with their steps; messages, sums and active runs stay", async () => {
  await using front = await startRuns();
  const old = await front.begin();
  const waiting = await front.begin({ input: { message: "later" } });
  const epoch = await front.claim();
  const outputs = [{ tool_call_id: "c", content: "whole" }];
  const ending = { status: "succeeded", error: null, event_id: crypto.randomUUID(), fresh: [] };
  const record = front.record(old, epoch, { steps: makeSteps(3), outputs });
  await front.store.finish(record, ending as never);
  await front.clock.advance(10 * DAY_MS);
  const young = await front.begin();
  await front.finish(young, "succeeded", { steps: makeSteps(1) });
  const usage = await front.read("/v1/agents/usage");

  await sweep(front, null, null);
  expect((await front.get(`/v1/runs/${old.id}`)).status).toBe(200);
  expect(await sweep(front, 10 * DAY_MS - 1, null)).toEqual([1, 0, 0, 0]);
  expect((await front.get(`/v1/runs/${old.id}`)).status).toBe(404);
  expect(await front.store.listSteps(old.id, 0, null)).toEqual([]);
  expect(await front.store.findOutput(old.id, "c")).toBeUndefined();
  expect((await front.read(`/v1/runs/${waiting.id}`)).status).toBe("running");
  expect((await front.read(`/v1/runs/${young.id}/steps`)).data).toHaveLength(1);
  const { data } = await front.read(`/v1/threads/${old.thread_id}/messages`);
  expect(data).toHaveLength(1);
  expect(await front.read("/v1/agents/usage")).toEqual(usage);
  const found = await front.read("/v1/runs?created_after=2026-11-20T12:00:00Z");
  expect(found.data.map(({ id }: { id: string }) => id)).toEqual([young.id, waiting.id]);
});

test("deletes many old runs in several passes, and continues after runs that stay", async () => {
  await using front = await startRuns({ limits: "active_runs = 1000" });
  await front.begin();
  for (let i = 0; i < 250; i++) await front.begin();
  const epoch = await front.claim();
  const { data } = await front.read("/v1/runs?limit=200");
  for (const run of data) {
    await front.store.finish(front.record(run, epoch), {
      ...{ status: "succeeded", error: null, event_id: crypto.randomUUID(), fresh: [] },
    } as never);
  }
  await front.clock.advance(2 * DAY_MS);
  await sweep(front, DAY_MS, null);
  const left = await front.read("/v1/runs?limit=200");
  expect(left.data).toHaveLength(51);
  expect(new Set(left.data.map(({ status }: { status: string }) => status))).toEqual(
    new Set(["running"]),
  );
});

test("deletes events after their retention, and idempotency keys after a day", async () => {
  await using front = await startRuns();
  const outbox = front.app.database.bind(outboxStore);
  const again = { headers: { "idempotency-key": "a" } };
  const first = (await (await front.askStart({}, again)).json()) as { id: string };
  await front.post(`/v1/runs/${first.id}/cancel`, undefined);
  await front.clock.advance(DAY_MS - 1);
  await sweep(front, null, DAY_MS);
  expect(await outbox.list(front.account_id)).toHaveLength(1);
  const hash = { key: "a", body_hash: "other" };
  const find = () =>
    front.store.findStarted(front.account_id, front.agent.id, hash, front.clock.now() - 5).then(
      () => "free",
      ({ code }: { code: string }) => code,
    );
  expect(await find()).toBe("idempotency_conflict");
  await front.clock.advance(2);
  expect(await sweep(front, null, DAY_MS)).toEqual([0, 1, 1, 0]);
  expect(await outbox.list(front.account_id)).toEqual([]);
  expect(await find()).toBe("free");
});

test("deletes old evaluations with the retention of runs, and none that is under way", async () => {
  await using front = await startRuns();
  await front.finish(await front.begin());
  const evaluate = async () => {
    const reply = await front.post(`/v1/agents/${front.agent.id}/evaluations`, {});
    return ((await reply.json()) as { id: string }).id;
  };
  const [over, going] = [await evaluate(), await evaluate()];
  await front.post(`/v1/evaluations/${over}/cancel`, undefined);
  await front.clock.advance(DAY_MS);
  expect(await sweep(front, DAY_MS, null)).toEqual([0, 0, 0, 0]);
  await front.clock.advance(1);
  expect(await sweep(front, DAY_MS, null)).toEqual([1, 0, 0, 1]);
  expect((await front.get(`/v1/evaluations/${over}`)).status).toBe(404);
  expect((await front.read(`/v1/evaluations/${going}`)).total).toBe(1);
});
