// Tests the operator's counts of runs: those that failed, and those that were started.
import { expect, test } from "bun:test";
import { nameLocalActor, perform, runCountOperations } from "../../src/admin/index.ts";
import { createRunUsageReport } from "../../src/admin/run-usage.ts";
import { startRuns } from "../spec/agents/runs-front.ts";
import { createManualClock } from "../support/clock.ts";

const ACTOR = nameLocalActor();

test("failed runs are counted with the commonest code of their errors", async () => {
  await using front = await startRuns();
  const { admin } = front.app;
  const read = (since?: string) =>
    perform(admin, runCountOperations.failures, since === undefined ? {} : { since }, ACTOR);
  const none = { runs: 0, code: null, code_runs: 0, first_at: null, last_at: null };
  expect(await read()).toMatchObject(none);
  await front.finish(await front.begin(), "failed");
  await front.clock.advance(60_000);
  await front.finish(await front.begin(), "failed");
  const failures = await read();
  expect(failures).toMatchObject({ runs: 2, code_runs: 2, code: expect.any(String) });
  expect(Date.parse(failures.last_at as unknown as string)).toBeGreaterThan(
    Date.parse(failures.first_at as unknown as string),
  );
  expect(await read("30s")).toMatchObject({ runs: 1 });
  // Two of three have the commoner code, whichever came first or last.
  await front.clock.advance(60_000);
  await front.finish(await front.begin(), "failed", {}, "model_offline");
  expect(await read()).toMatchObject({ runs: 3, code: "upstream_error", code_runs: 2 });
  await front.finish(await front.begin(), "failed", {}, "model_offline");
  await front.finish(await front.begin(), "failed", {}, "model_offline");
  const last = await read();
  expect(last).toMatchObject({ runs: 5, code: "model_offline", code_runs: 3 });
  expect(last.first_at).toEqual(last.last_at);
  expect(read("soon")).rejects.toThrow('"soon" is no time');
});

test("runs are counted by day, hour and who they are of", async () => {
  await using front = await startRuns();
  const { admin } = front.app;
  await front.finish(await front.begin());
  await front.begin();
  const count = async (fields: Record<string, string>) => {
    const { rows, totals } = await admin.runUsage({ by: "day", ...fields });
    return [
      rows.map(({ date, hour, agent, model }) => date ?? hour ?? agent ?? model),
      totals.runs,
    ];
  };
  const today = new Date(front.clock.now()).toISOString().slice(0, 10);
  expect(await count({})).toEqual([[today], 2]);
  expect(await count({ by: "agent" })).toEqual([[front.agent.name], 2]);
  const [hours] = await count({ by: "hour", from: today });
  expect(hours).toHaveLength(1);
  expect(await count({ agent: "none" })).toEqual([[], 0]);
  expect(await count({ account: "dev", agent: front.agent.id })).toEqual([[today], 2]);
  expect(count({ by: "route" })).rejects.toThrow("runs are counted by");
  const daysAgo = (days: number) => {
    return new Date(front.clock.now() - days * 86_400_000).toISOString().slice(0, 10);
  };
  expect(await count({ from: daysAgo(365) })).toEqual([[today], 2]);
  expect(count({ from: daysAgo(366) })).rejects.toThrow("366 days");
});

test("hours are counted without a gap and once where a day ends in the middle of one", async () => {
  const asked: { from: string; before: string }[] = [];
  const countStarted = async (range: (typeof asked)[number]) => {
    asked.push(range);
    return [];
  };
  const database = { bind: () => ({ countStarted }) };
  const deps = { database, clock: createManualClock() } as never;
  const report = createRunUsageReport(deps, { names: async () => new Map() } as never);
  // The clocks of the island go back by half an hour.
  const range = { from: "2027-04-04", to: "2027-04-05", zone: "Australia/Lord_Howe" };
  await report({ by: "hour", ...range });
  expect(asked).toHaveLength(49);
  expect(asked.slice(1).map(({ from }) => from)).toEqual(
    asked.slice(0, -1).map(({ before }) => before),
  );
});
