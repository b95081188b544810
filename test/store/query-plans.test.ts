// Tests that reads of large tables use an index in SQLite, whose reads hold up the server.
import { Database as Sqlite } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { approvalStore } from "../../src/agents/approvals/store.ts";
import { runStore } from "../../src/agents/runs/store/index.ts";
import type { RunSearch } from "../../src/agents/runs/store/overview.ts";
import { type Db, openDatabase, type Tx } from "../../src/database/index.ts";
import { render, type Sql } from "../../src/database/sql.ts";
import { requestLogStore } from "../../src/gateway/request-log/store/index.ts";
import { foldDay, sumRequests } from "../../src/gateway/request-log/store/usage-sums.ts";
import { idStore } from "../../src/inventory/ids/store.ts";
import { stores } from "../../src/stores.ts";
import { createManualClock } from "../support/clock.ts";

/** Explains the first statement of a read. */
async function explain(read: (tx: Tx) => Promise<unknown>): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), "wadi-plans-"));
  try {
    const place = { kind: "sqlite", file: join(directory, "wadi.db") } as const;
    const onFailure = (failure: unknown) => {
      throw failure;
    };
    const database = await openDatabase({ place, stores, clock: createManualClock(), onFailure });
    await database.close();
    const queries: Sql[] = [];
    const note = async (_: unknown, query: Sql) => {
      queries.push(query);
      return undefined;
    };
    await read({ one: note, all: note } as unknown as Tx).catch(() => {});
    const { text, values } = render(queries[0]!, () => "?");
    using sqlite = new Sqlite(place.file);
    const plan = sqlite.query(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    return (plan as { detail: string }[]).map(({ detail }) => detail);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The index `runs_live` holds only runs that have not ended. */
const scans = (plan: readonly string[]) =>
  plan.filter((step) =>
    /^SCAN (ledger|usage_sums|sums|keys|runs)\b(?!.*USING (COVERING INDEX.*=|INDEX runs_live))/.test(
      step,
    ),
  );

const EVERY_RUN: RunSearch = {
  ...{ account_id: null, agent_id: null, status: null, trigger_kind: null },
  ...{ since: null, text: null, metadata: null },
};
const OWNED = { ...EVERY_RUN, account_id: "a-1" };

test.each<[string, (db: Db & Tx) => Promise<unknown>]>([
  ["the requests of one id", (db) => requestLogStore.reads.find(db, "x", 20)],
  ["times of recent requests", (db) => requestLogStore.reads.listTimes(db, "x", 20)],
  ["failed runs of an account", (db) => runStore.reads.listFailures(db, "a-1", 0, 20)],
  ["started runs", (db) => runStore.reads.countStarted(db, { from: "a", before: "b" })],
  ["the sums of an account", (db) => sumRequests(db, "a-1")],
  ["the oldest day that is not folded", (db) => foldDay(db, 1)],
  ["runs that have not ended", (db) => runStore.reads.listActive(db, EVERY_RUN, null, 20)],
  ["runs of an account", (db) => runStore.reads.findRangeEnd(db, OWNED, { before: "r", size: 9 })],
  ["runs of all", (db) => runStore.reads.findRangeEnd(db, EVERY_RUN, { before: "r", size: 9 })],
  ["ids by their first characters", (db) => idStore.reads.findByBegin(db, "key", "0198a6", 5)],
])("%s are found without reading all rows", async (_, read) => {
  const plan = await explain(read);
  expect(plan.length).toBeGreaterThan(0);
  expect(scans(plan)).toEqual([]);
});

test("the newest requests of one id are read in the order of the index", async () => {
  const plan = await explain((db) => requestLogStore.reads.find(db, "x", 20));
  expect(plan.join("\n")).toContain("ledger_by_request (request_id=?)");
  expect(plan.filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
});

test("approved calls are read in the order of their index", async () => {
  const filter = { agent_id: "g-1", tool: "x", until: 9, limit: 20, bytesMax: 9 };
  const plan = await explain((db) => approvalStore.reads.listApproved(db, filter));
  expect(plan.join("\n")).toContain("approvals_approved (agent_id=? AND tool=? AND decided_at<?)");
});

test("the first and last slot with sums are the ends of an index", async () => {
  const plan = await explain((db) => requestLogStore.reads.findExtent(db));
  expect(plan.filter((step) => step.startsWith("SEARCH usage_sums"))).toHaveLength(2);
  expect(scans(plan)).toEqual([]);
});
