// Tests the operator's run commands: lists, one with its steps, and a followed one.
import { expect, test } from "bun:test";
import { AdminError } from "../../src/admin/index.ts";
import { makeApproval } from "../spec/agents/runs-approval.ts";
import { makeSteps, startRuns } from "../spec/agents/runs-front.ts";

const UNKNOWN = "0198f000-0000-7000-8000-000000000001";
const ANY = { account: null, agent: null, status: null, limit: 20 };

test("runs are listed newest first, by account, agent or status", async () => {
  await using front = await startRuns();
  const { runs } = front.app.admin;
  const first = await front.begin();
  await front.clock.advance(1_000);
  const key = "svc_sk_test-other";
  const theirs = await front.createAgent({}, { key });
  const path = `/v1/agents/${theirs.id}/runs`;
  await front.post(path, { input: { message: "x" } }, { key });
  await front.clock.advance(1_000);
  const last = await front.begin();
  await front.finish(first);
  const list = async (wish: Partial<typeof ANY | { [name: string]: string }>) =>
    (await runs.list({ ...ANY, ...wish } as typeof ANY)).map((run) => [run.account, run.status]);
  const [mine, other, done] = [
    ["dev", "running"],
    ["other", "queued"],
    ["dev", "succeeded"],
  ];
  expect(await list({})).toEqual([mine!, other!, done!]);
  expect(await list({ limit: 2 } as never)).toEqual([mine!, other!]);
  expect(await list({ account: "other" })).toEqual([other!]);
  expect(await list({ agent: front.agent.id.toUpperCase() })).toEqual([mine!, done!]);
  expect(await list({ agent: front.agent.id, account: "other" })).toEqual([]);
  expect(await list({ status: "succeeded" })).toEqual([done!]);
  expect((await runs.list(ANY))[0]).toMatchObject({ id: last.id, cost: 0, rounds: 0 });
  for (const wrong of [{ agent: "x" }, { agent: UNKNOWN }, { account: "no" }]) {
    expect(runs.list({ ...ANY, ...wrong })).rejects.toBeInstanceOf(AdminError);
  }
});

test("a run is shown with all its steps", async () => {
  await using front = await startRuns();
  const { runs } = front.app.admin;
  const run = await front.begin();
  await front.finish(run, "failed", { steps: makeSteps(205) });
  const shown = await runs.show(run.id.toUpperCase());
  expect(shown.run).toMatchObject({ id: run.id, status: "failed" });
  expect(shown.steps.map(({ seq }) => seq)).toEqual(Array.from({ length: 205 }, (_, i) => i + 1));
  expect(runs.show(UNKNOWN)).rejects.toBeInstanceOf(AdminError);
  expect(runs.show("svc_sk_secret")).rejects.toThrow(/^(?!.*secret)/);
});

test("a run is followed until it is final, polled at most every 200 ms", async () => {
  await using front = await startRuns();
  const { runs } = front.app.admin;
  const run = await front.begin();
  const epoch = await front.claim();
  await front.store.note(front.record(run, epoch, { steps: makeSteps(2) }));
  const seen: number[] = [];
  const followed = runs.follow(run.id, {
    onStep: ({ seq }) => void seen.push(seq),
    onWaiting: () => expect.unreachable(),
  });
  await front.clock.advance(0);
  expect(seen).toEqual([1, 2]);
  await front.store.note(front.record(run, epoch, { steps: makeSteps(1) }));
  await front.clock.advance(199);
  expect(seen).toEqual([1, 2]);
  await front.clock.advance(1);
  expect(seen).toEqual([1, 2, 3]);
  const ending = { status: "succeeded", error: null, event_id: crypto.randomUUID(), fresh: [] };
  const last = front.record(run, epoch, { steps: makeSteps(1) });
  await front.store.finish(last, ending as never);
  await front.clock.advance(200);
  expect(await followed).toMatchObject({ id: run.id, status: "succeeded" });
  expect(seen).toEqual([1, 2, 3, 4]);
});

test("a follower learns once, and at once, what the run waits for", async () => {
  await using front = await startRuns();
  const { runs, approvals } = front.app.admin;
  const run = await front.begin();
  const epoch = await front.claim();
  const planned = [makeApproval(front, run), makeApproval(front, run)];
  const requests = planned.map(({ request }) => request);
  const steps = planned.map(({ step }) => step);
  await front.store.plan(front.record(run, epoch, { steps }), requests);
  const notified: (string | number)[] = [];
  const followed = runs.follow(run.id, {
    onStep: ({ seq }) => void notified.push(seq),
    onWaiting: (ids) => void notified.push(...ids),
  });
  await front.clock.advance(1_000);
  expect(notified).toEqual([1, 2]);
  await front.store.wait(run.id, epoch, 0);
  await front.clock.advance(1_000);
  const [first, second] = requests.map(({ approval }) => approval.id);
  expect(notified).toEqual([1, 2, first!, second!]);
  const wish = { reason: null, by: "ada" };
  await approvals.decide(first!, { decision: "approved", ...wish });
  await front.clock.advance(1_000);
  await approvals.decide(second!, { decision: "rejected", ...wish });
  await front.clock.advance(1_000);
  expect(notified).toEqual([1, 2, first!, second!, 3, 4]);
  await front.finish(run);
  await front.clock.advance(200);
  expect(await followed).toMatchObject({ status: "succeeded" });
});
