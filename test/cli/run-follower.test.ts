// Tests that a run is followed to its end, with each step and each wait reported once.
import { expect, test } from "bun:test";
import { nameLocalActor, perform } from "../../src/admin/index.ts";
import { type Follower, followRun } from "../../src/cli/run-follower.ts";
import { makeApproval } from "../spec/agents/runs-approval.ts";
import { makeSteps, startRuns } from "../spec/agents/runs-front.ts";
import { createManualClock } from "../support/clock.ts";

type Front = Awaited<ReturnType<typeof startRuns>>;

function follow({ app, clock }: Front, id: string, follower: Follower) {
  const call = (operation: never, request: never) =>
    perform(app.admin, operation, request, nameLocalActor());
  return followRun(call as never, clock, id, follower);
}

test("a run is followed until it is final, polled at most every 200 ms", async () => {
  await using front = await startRuns();
  const run = await front.begin();
  const epoch = await front.claim();
  await front.store.note(front.record(run, epoch, { steps: makeSteps(2) }));
  const seen: number[] = [];
  const followed = follow(front, run.id, {
    onStep: ({ seq }) => void seen.push(Number(seq)),
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

test("a run that ends between two reads loses no step, however many pages they fill", async () => {
  let looks = 0;
  const call = async (_: unknown, { after }: { after?: number }) => {
    if (after !== undefined) {
      // The last steps are written right before the second look at the run.
      const steps = [1, 2, 3, ...(looks < 2 ? [] : [4, 5, 6])];
      return steps
        .filter((seq) => seq > after)
        .slice(0, 2)
        .map((seq) => ({ seq }));
    }
    looks += 1;
    return { status: looks === 1 ? "running" : "succeeded", pending_approvals: [] };
  };
  const seen: unknown[] = [];
  const clock = createManualClock();
  const followed = followRun(call as never, clock, "r-1", {
    onStep: ({ seq }) => void seen.push(seq),
    onWaiting: () => expect.unreachable(),
  });
  await clock.advance(200);
  expect(await followed).toMatchObject({ status: "succeeded" });
  expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
});

test("a follower learns once, and at once, what the run waits for", async () => {
  await using front = await startRuns();
  const { approvals } = front.app.admin;
  const run = await front.begin();
  const epoch = await front.claim();
  const planned = [makeApproval(front, run), makeApproval(front, run)];
  const requests = planned.map(({ request }) => request);
  const steps = planned.map(({ step }) => step);
  await front.store.plan(front.record(run, epoch, { steps }), requests);
  const notified: (string | number)[] = [];
  const followed = follow(front, run.id, {
    onStep: ({ seq }) => void notified.push(Number(seq)),
    onWaiting: (ids) => void notified.push(...ids),
  });
  await front.clock.advance(1_000);
  expect(notified).toEqual([1, 2]);
  await front.store.wait(run.id, epoch, 0);
  await front.clock.advance(1_000);
  const [first, second] = requests.map(({ approval }) => approval.id);
  expect(notified).toEqual([1, 2, first!, second!]);
  const decision = { reason: null, by: "ada" };
  await approvals.decide(first!, { decision: "approved", ...decision });
  await front.clock.advance(1_000);
  await approvals.decide(second!, { decision: "rejected", ...decision });
  await front.clock.advance(1_000);
  expect(notified).toEqual([1, 2, first!, second!, 3, 4]);
  await front.finish(run);
  await front.clock.advance(200);
  expect(await followed).toMatchObject({ status: "succeeded" });
});
