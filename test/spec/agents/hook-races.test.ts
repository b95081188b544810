// Concurrent requests: each webhook-id has one fire, and repeats get the same fire.
import { expect, test } from "bun:test";
import { type HookFront, startHook } from "./hook-front.ts";

const SENDERS = 50;
const LIMITS = "hook_requests_per_minute = 1_000";

/** Statuses of concurrent requests, and the fires in their replies. */
async function race(front: HookFront, hook: object, nameOf: (n: number) => string) {
  const replies = await Promise.all(
    Array.from({ length: SENDERS }, (_, n) => front.send({ hook, id: nameOf(n) })),
  );
  const answers = await Promise.all(
    replies.map((reply) => reply.json() as Promise<{ fire: Record<string, string> }>),
  );
  return {
    statuses: replies.map(({ status }) => status).toSorted(),
    fires: new Map(answers.map(({ fire }) => [JSON.stringify(fire), fire])),
  };
}

test("agents.endpoints.triggers.p6 fifty requests with one webhook-id start exactly one run, and all get the same fire", async () => {
  const front = await startHook({ limits: LIMITS }, { listens: true });
  for (const overlap of ["allow", "skip"]) {
    const hook = await front.createHook({ overlap });
    for (const id of ["one", "two", "three"]) {
      const before = await front.countRuns();
      const { statuses, fires } = await race(front, hook, () => `${overlap} ${id}`);
      expect(statuses).toEqual([...Array(SENDERS - 1).fill(200), 202]);
      const [fire, ...others] = fires.values();
      expect(others).toEqual([]);
      const isStarted = fire!.outcome === "started";
      if (overlap === "allow") expect(isStarted).toBe(true);
      expect((await front.countRuns()) - before).toBe(isStarted ? 1 : 0);
    }
    const path = `/v1/triggers/${(hook as { id: string }).id}/fires`;
    expect((await front.read(path)).data).toHaveLength(3);
  }
  await front.stop();
});

test("agents.endpoints.triggers.p5 fifty requests with different webhook-ids start a fire each", async () => {
  const front = await startHook({ limits: `${LIMITS}\nactive_runs = 1_000` });
  const { statuses, fires } = await race(front, front.hook, String);
  expect(new Set(statuses)).toEqual(new Set([202]));
  expect(fires.size).toBe(SENDERS);
  expect(new Set([...fires.values()].map(({ run_id }) => run_id)).size).toBe(SENDERS);

  // Runs are not executed here: the first stays active while the others arrive.
  const skipping = await front.createHook({ overlap: "skip" });
  const second = await race(front, skipping, String);
  expect(new Set(second.statuses)).toEqual(new Set([202]));
  const outcomes = [...second.fires.values()].map(({ outcome }) => outcome).toSorted();
  expect(outcomes).toEqual([...Array(SENDERS - 1).fill("skipped"), "started"]);
  await front.stop();
});

test("agents.errors.rate_limited of fifty concurrent requests only as many as the limit are accepted", async () => {
  const front = await startHook({ limits: "hook_requests_per_minute = 20" });
  const { statuses } = await race(front, front.hook, String);
  expect(statuses).toEqual([...Array(20).fill(202), ...Array(SENDERS - 20).fill(429)]);
  await front.stop();
});
