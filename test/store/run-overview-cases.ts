// Cases of lists and counts of runs for operators.
import { expect } from "bun:test";
import type { RunSearch } from "../../src/agents/runs/store/overview.ts";
import { BEGIN, makeRecord, makeStep } from "../support/runs.ts";
import type { Case, Stores } from "./cases.ts";
import { claimRuns, end, start } from "./run-acts.ts";

const ANY: RunSearch = {
  ...{ account_id: null, agent_id: null, status: null, trigger_kind: null },
  ...{ since: null, text: null, metadata: null },
};
const ALL = { before: null, size: 10 };

/** r-1 and r-3 have ended, r-2 has one step, r-4 is queued; r-5 is another account's. */
async function setup(stores: Stores): Promise<void> {
  const metadata = { ticket: "A-17", note: 'a,"b":"c' };
  await start(stores, "r-1", { input: { message: "Pay 7%" }, trigger_kind: "cron", metadata });
  for (const id of ["r-2", "r-3"]) await start(stores, id, { created_at: BEGIN + 1 });
  await claimRuns(stores);
  await stores.runs.note(makeRecord("r-2", { steps: [makeStep("s-1")] }));
  await end(stores, "r-1", "failed");
  await end(stores, "r-3");
  await start(stores, "r-4", { agent_id: "g-2", metadata: { ticket: "A-17" } });
  await start(stores, "r-5", { account_id: "a-2" });
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

export const runOverviewCases: Case[] = [
  {
    method: "runs.listActive",
    title: "lists what has not ended, with the time of the last step",
    setup,
    act: ({ runs }) => runs.listActive(ANY, null, 3),
    async check(answer, { runs }) {
      expect(answer).toMatchObject([
        { id: "r-5", account_id: "a-2", status: "queued", stepped_at: null },
        { id: "r-4", agent_id: "g-2" },
        { id: "r-2", status: "running", stepped_at: expect.any(Number) },
      ]);
      const list = async (more: Partial<RunSearch>, before: string | null = null) =>
        idsOf(await runs.listActive({ ...ANY, ...more }, before, 9));
      expect(await list({}, "r-4")).toEqual(["r-2"]);
      expect(await list({ account_id: "a-1", status: "queued" })).toEqual(["r-4"]);
      expect(await list({ since: BEGIN + 1, account_id: "a-1" })).toEqual(["r-4", "r-2"]);
      expect(await list({ metadata: { ticket: "A-17" } })).toEqual(["r-4"]);
      expect(await list({ metadata: { ticket: "A-17", note: "" } })).toEqual([]);
    },
  },
  {
    method: "runs.listEnded",
    title: "lists what has ended among the runs of a range",
    setup,
    act: ({ runs }) => runs.listEnded(ANY, ALL, 9),
    async check(answer, { runs }) {
      expect(answer).toMatchObject([
        { id: "r-3", input_begin: '{"message":"question of r-3"}', error: null },
        { id: "r-1", error: { code: "failed" }, trigger_kind: "cron", stepped_at: null },
      ]);
      const list = async (more: Partial<RunSearch>, range = {}, limit = 9) =>
        idsOf(await runs.listEnded({ ...ANY, ...more }, { ...ALL, ...range }, limit));
      expect(await list({}, {}, 1)).toEqual(["r-3"]);
      expect(await list({}, { size: 3 })).toEqual(["r-3"]);
      for (const account_id of [null, "a-1"]) {
        expect(await list({ account_id }, { before: "r-3" })).toEqual(["r-1"]);
      }
      expect(await list({ trigger_kind: "cron", agent_id: "g-1" })).toEqual(["r-1"]);
      for (const text of ["pay 7%", "Y 7%", "R-1"]) expect(await list({ text })).toEqual(["r-1"]);
      for (const text of ["pay_7", "7%%", "pa!y"]) expect(await list({ text })).toEqual([]);
      const ticket = { ticket: "A-17" };
      expect(await list({ metadata: { note: 'a,"b":"c', ...ticket } })).toEqual(["r-1"]);
      expect(await list({ metadata: { ticket: "A-1" } })).toEqual([]);
      expect(await list({ metadata: { ...ticket, note: "a" } })).toEqual([]);
      expect(await list({ metadata: { b: "c" } })).toEqual([]);
    },
  },
  {
    method: "runs.findRangeEnd",
    title: "finds the oldest run of a whole range",
    setup,
    act: ({ runs }) => runs.findRangeEnd(ANY, { before: "r-5", size: 3 }),
    async check(answer, { runs }) {
      expect(answer).toEqual({ id: "r-2", created_at: BEGIN + 1 });
      const owner = { ...ANY, account_id: "a-1" };
      expect(await runs.findRangeEnd(owner, { before: "r-4", size: 2 })).toMatchObject({
        id: "r-2",
      });
      expect(await runs.findRangeEnd(owner, { before: null, size: 5 })).toBeUndefined();
    },
  },
  {
    method: "runs.countActive",
    title: "counts what has not ended, by status",
    setup,
    act: ({ runs }) => runs.countActive(ANY),
    async check(answer, { runs }) {
      const counts = (answer as { status: string; runs: number }[]).map((row) => ({ ...row }));
      expect(counts.toSorted((a, b) => (a.status < b.status ? -1 : 1))).toEqual([
        { status: "queued", runs: 2 },
        { status: "running", runs: 1 },
      ]);
      const more = { ...ANY, account_id: "a-2", text: "r-5" };
      expect(await runs.countActive(more)).toEqual([{ status: "queued", runs: 1 }]);
    },
  },
  {
    method: "runs.countEnded",
    title: "counts what has ended among the runs of a range",
    setup,
    act: ({ runs }) => runs.countEnded({ ...ANY, since: BEGIN + 1 }, ALL),
    async check(answer, { runs }) {
      expect(answer).toEqual([{ status: "succeeded", runs: 1 }]);
      const range = { before: "r-3", size: 2 };
      expect(await runs.countEnded(ANY, range)).toEqual([{ status: "failed", runs: 1 }]);
    },
  },
];
