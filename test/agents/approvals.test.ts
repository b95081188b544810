// What operators read of an approval: a preview of its call, and what its run knew before.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ApprovalExpiry } from "../../src/agents/approvals/expiry.ts";
import { createApprovalQueries } from "../../src/agents/approvals/queries.ts";
import { bindStores, type Stores } from "../store/cases.ts";
import { claimRuns, count, start } from "../store/run-acts.ts";
import { createManualClock } from "../support/clock.ts";
import { openTestDatabase, type TestDatabase } from "../support/database.ts";
import { createSeededIds } from "../support/ids.ts";
import { makeApproval, makeRecord } from "../support/runs.ts";

let database: TestDatabase;
let stores: Stores;
beforeEach(async () => {
  database = await openTestDatabase({ kind: "memory" });
  stores = bindStores(database);
  await start(stores, "r-1");
  await claimRuns(stores);
});
afterEach(() => database.close());

test("overdue approvals are expired a hundred at once, without a rest between", async () => {
  const clock = createManualClock();
  let left = 250;
  const expired: number[] = [];
  const approvals = {
    listOverdue: async (_now: number, limit: number) =>
      Array.from({ length: Math.min(left, limit) }, (_, n) => `p-${n}`),
    findNextExpiry: async () => undefined,
  };
  const expire = async (overdue: readonly unknown[]) => {
    left -= overdue.length;
    return expired.push(overdue.length);
  };
  const process = { isSkewed: true };
  const deps = { clock, ids: createSeededIds(), log: {}, process };
  const expiry = new ApprovalExpiry(
    { ...deps, database: { bind: () => approvals } } as never,
    { expire } as never,
  );
  expiry.start();
  // A clock that is wrong expires nothing; twice a minute it is asked again.
  await clock.advance(29_999);
  expect(expired).toEqual([]);
  process.isSkewed = false;
  await clock.advance(1);
  expect(expired).toEqual([100, 100, 50]);
  await expiry.stop(0);
});

const open = () =>
  createApprovalQueries({ database, clock: createManualClock(), ids: createSeededIds() });

test("a list previews the first two short values of the arguments", async () => {
  const sent = {
    ...{ none: null, empty: "", long: "x".repeat(61), list: ["no"], object: { a: "no" } },
    ...{ first: "y".repeat(60), second: 7, third: true },
  };
  const approval = { ...makeApproval("p-1", "r-1"), arguments: sent };
  await stores.runs.plan(makeRecord("r-1"), [{ approval, event_id: "e-1" }]);
  const [listed] = await open().list({ account_id: null, status: "pending", limit: 9 });
  expect(listed!.preview).toEqual([sent.first, "7"]);
});

test("the newest 200 results of its run are shown, and whether there were more", async () => {
  const approval = makeApproval("p-1", "r-1");
  const read = async () => {
    const { results, areAll } = await open().listResults(approval);
    return [results.length, results[0]!.text, areAll];
  };
  const add = (ids: readonly number[]) =>
    stores.runs.settle(makeRecord("r-1", { steps: ids.map(makeResult) }), []);
  await add(count(200));
  expect(await read()).toEqual([200, "content 1", true]);
  await add([201]);
  expect(await read()).toEqual([200, "content 2", false]);
});

const makeResult = (n: number) => ({
  ...{ id: `s-${n}`, round: 1, kind: "tool_result" as const },
  data: {
    ...{ tool_call_id: `c-${n}`, name: "web_search", outcome: "ok" as const, truncated: false },
    ...{ content: `content ${n}`, http_status: null, duration_ms: 5, external: true, cost: null },
  },
});
