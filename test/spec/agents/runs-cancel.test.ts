// Cancelling a run in each of its states.
import { expect, test } from "bun:test";
import { outboxStore } from "../../../src/outbox/store.ts";
import { makeApproval } from "./runs-approval.ts";
import { type Json, type RunsFront, startRuns } from "./runs-front.ts";

async function cancel(front: RunsFront, run: Json): Promise<Json> {
  const response = await front.post(`/v1/runs/${run.id}/cancel`, undefined);
  expect(response.status).toBe(200);
  const cancelled = (await response.json()) as Json;
  expect(await front.read(`/v1/runs/${run.id}`)).toEqual(cancelled);
  return cancelled;
}

const listEvents = async ({ app, account_id }: RunsFront) =>
  (await app.database.bind(outboxStore).list(account_id)).map(({ type }) => String(type));

test("agents.endpoints.runs.post_runs_id_cancel, agents.states.queued_post_v1_runs_id_cancel, agents.states.p4: a queued run is cancelled at once, and its thread becomes free", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  await front.clock.advance(500);
  const cancelled = await cancel(front, run);
  expect(cancelled).toEqual({
    ...run,
    status: "cancelled",
    error: { code: "cancelled", message: expect.any(String) },
    finished_at: "2026-11-20T12:00:00.500Z",
  });
  expect(await listEvents(front)).toEqual(["run.failed"]);
  expect((await front.askStart({ thread_id: run.thread_id })).status).toBe(202);
});

test("agents.states.running_cancel, agents.states.p5: a running run is asked to stop once, and continues to its next step", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  await front.claim();
  const first = await cancel(front, run);
  expect([first.status, first.cancel_requested, first.finished_at]).toEqual([
    "running",
    true,
    null,
  ]);
  expect(await cancel(front, run)).toEqual(first);
  const { data } = await front.read(`/v1/runs/${run.id}/steps`);
  expect(data.map(({ kind, data }: Json) => [kind, data.event])).toEqual([
    ["system", "cancel_requested"],
  ]);
});

test("agents.states.waiting_approval_cancel: a waiting run is cancelled at once, with its pending approvals", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const epoch = await front.claim();
  const requested = [makeApproval(front, run), makeApproval(front, run)];
  const record = front.record(run, epoch, { steps: requested.map(({ step }) => step) });
  await front.store.plan(
    record,
    requested.map(({ request }) => request),
  );
  await front.store.wait(run.id, epoch, 0);
  expect((await front.read(`/v1/runs/${run.id}`)).status).toBe("waiting_approval");
  const cancelled = await cancel(front, run);
  expect([cancelled.status, cancelled.pending_approvals]).toEqual(["cancelled", []]);
  const { data } = await front.read(`/v1/runs/${run.id}/steps`);
  expect(data.map(({ data }: Json) => [data.event, data.approval.status])).toEqual([
    ...[
      ["requested", "pending"],
      ["requested", "pending"],
    ],
    ...[
      ["closed", "closed"],
      ["closed", "closed"],
    ],
  ]);
  expect((await listEvents(front)).sort()).toEqual([
    ...["approval.decided", "approval.decided", "approval.requested", "approval.requested"],
    "run.failed",
  ]);
});

test("agents.states.any_final_cancel, agents.states.p3: a final run is returned unchanged", async () => {
  await using front = await startRuns();
  for (const status of ["succeeded", "failed"] as const) {
    const run = await front.begin();
    await front.finish(run, status);
    const final = await front.read(`/v1/runs/${run.id}`);
    await front.clock.advance(1_000);
    expect(await cancel(front, run)).toEqual(final);
    expect(final.status).toBe(status);
  }
  expect(await listEvents(front)).toEqual(["run.completed", "run.failed"]);
});
