// Cases of the store of evaluations.
import { expect } from "bun:test";
import type { RunAssessment } from "../../src/agents/evaluations/evaluation.ts";
import type { NewEvaluation } from "../../src/agents/evaluations/store.ts";
import { codeOf as refusalOf } from "../agents/runs/decisions.ts";
import { BEGIN } from "../support/runs.ts";
import type { Case, Stores } from "./cases.ts";
import { claimRuns, end, start, startMany } from "./run-acts.ts";

const LIMITS = { running: 3, stored_bytes: 1e9 };

const makeEvaluation = (id: string, fields: Partial<NewEvaluation> = {}): NewEvaluation => ({
  ...{ id, account_id: "a-1", agent_id: "g-1", version: 2, tools: "recorded" },
  ...{ status: "running", checks: [{ end: "succeeded" }], total: 2 },
  ...{ started_by_key_id: "k-1", started_by_operator: null },
  ...{ created_at: BEGIN, finished_at: null },
  ...fields,
});

const create = ({ evaluations }: Stores, id = "e-1", fields: Partial<NewEvaluation> = {}) =>
  evaluations.create(makeEvaluation(id, fields), ["r-1", "r-2"], LIMITS);

const PASSED: RunAssessment = { error: null, failures: [], before: null, after: null, same: null };
const NOTED = { started: [], assessed: [] };
const assess = (assessment: RunAssessment, ...positions: number[]) => ({
  ...NOTED,
  assessed: positions.map((position) => ({ position, assessment })),
});

export const evaluationCases: Case[] = [
  {
    method: "evaluations.create",
    title: "stores an evaluation with its runs, and counts its bytes",
    act: (stores) => create(stores),
    async check(_, { evaluations, storage }) {
      const row = (await evaluations.find("e-1", "a-1"))!;
      expect(row).toEqual({ ...makeEvaluation("e-1"), stored_bytes: row.stored_bytes });
      expect(await evaluations.listRuns("e-1")).toEqual(
        ["r-1", "r-2"].map((run_id, position) => ({
          ...{ evaluation_id: "e-1", position, run_id, rerun_id: null, assessment: null },
        })),
      );
      expect(await storage.find("a-1")).toBe(row.stored_bytes);
    },
  },
  {
    method: "evaluations.list",
    title: "lists an agent's evaluations, newest first, with how many runs are assessed",
    async setup(stores) {
      await create(stores, "e-1");
      await stores.evaluations.cancel("e-1", BEGIN);
      await create(stores, "e-2", { created_at: BEGIN + 1 });
      await create(stores, "e-3", { created_at: BEGIN + 1, agent_id: "g-2" });
      await create(stores, "e-4", { created_at: BEGIN + 1 });
      await create(stores, "e-5", { account_id: "a-2" });
      await stores.evaluations.note("e-2", assess(PASSED, 0), BEGIN + 2);
    },
    act: ({ evaluations }) => evaluations.list("a-1", "g-1", { before: null, limit: 2 }),
    async check(answer, { evaluations }) {
      const { account_id, checks, started_by_key_id, started_by_operator, ...shown } =
        makeEvaluation("e-2", { created_at: BEGIN + 1 });
      expect(answer).toEqual([
        { ...shown, id: "e-4", done: 0 },
        { ...shown, done: 1 },
      ]);
      const before = { at: BEGIN + 1, id: "e-2" };
      const rest = await evaluations.list("a-1", "g-1", { before, limit: 2 });
      expect(rest.map(({ id }) => id)).toEqual(["e-1"]);
    },
  },
  {
    method: "evaluations.create",
    title: "refuses more under way than an account may have, and more bytes",
    async setup(stores) {
      for (const id of ["e-1", "e-2", "e-3"]) await create(stores, id);
      await create(stores, "e-4", { account_id: "a-2" });
    },
    act: (stores) => refusalOf(create(stores, "e-5")),
    async check(answer, stores) {
      expect(answer).toBe("evaluations_limit");
      await stores.evaluations.cancel("e-1", BEGIN);
      const full = stores.evaluations.create(makeEvaluation("e-6"), ["r-1"], {
        ...{ running: 3, stored_bytes: 100 },
      });
      expect(await refusalOf(full)).toBe("storage_limit_reached");
      await create(stores, "e-7");
    },
  },
  {
    method: "evaluations.find",
    title: "finds no other account's evaluation, but any for operators",
    setup: (stores) => create(stores),
    act: ({ evaluations }) =>
      Promise.all(["a-1", "a-2", null].map((account) => evaluations.find("e-1", account))),
    check(answer) {
      const found = answer as ({ id: string } | undefined)[];
      expect(found.map((one) => one?.id)).toEqual(["e-1", undefined, "e-1"]);
    },
  },
  {
    method: "evaluations.listRuns",
    title: "lists runs in their order",
    setup: ({ evaluations }) =>
      evaluations.create(makeEvaluation("e-1"), ["r-9", "r-1", "r-5"], LIMITS),
    act: ({ evaluations }) => evaluations.listRuns("e-1"),
    check(answer) {
      const runs = answer as { run_id: string }[];
      expect(runs.map(({ run_id }) => run_id)).toEqual(["r-9", "r-1", "r-5"]);
    },
  },
  {
    method: "evaluations.listRunning",
    title: "lists what is under way",
    async setup(stores) {
      for (const id of ["e-1", "e-2"]) await create(stores, id);
      await stores.evaluations.cancel("e-1", BEGIN);
    },
    act: ({ evaluations }) => evaluations.listRunning(),
    check: (answer) => expect(answer).toEqual(["e-2"]),
  },
  {
    method: "evaluations.listOpen",
    title: "lists runs without an assessment, with whether their rerun has ended or was deleted",
    async setup(stores) {
      await stores.evaluations.create(makeEvaluation("e-1"), ["a", "b", "c", "d"], LIMITS);
      await startMany(stores, ["r-1", "r-2", "r-3"]);
      const started = [0, 1, 2].map((position) => ({ position, rerun_id: `r-${position + 1}` }));
      await stores.evaluations.note("e-1", { ...assess(PASSED, 2), started }, BEGIN);
      await claimRuns(stores, 1);
      await end(stores, "r-1");
    },
    act: ({ evaluations }) => evaluations.listOpen("e-1"),
    async check(answer, { evaluations, runs }) {
      expect(answer).toEqual([
        { position: 0, run_id: "a", rerun_id: "r-1", is_ended: true },
        { position: 1, run_id: "b", rerun_id: "r-2", is_ended: false },
        { position: 3, run_id: "d", rerun_id: null, is_ended: false },
      ]);
      await runs.sweep("", BEGIN * 2, 10);
      expect((await evaluations.listOpen("e-1"))[0]).toMatchObject({ is_ended: true });
    },
  },
  {
    method: "evaluations.listRepeatable",
    title: "lists an agent's newest ended runs that repeat none, the oldest first",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2", "r-3"]);
      await start(stores, "r-4", { rerun_of: "r-1" });
      await start(stores, "r-5", { agent_id: "g-2" });
      await claimRuns(stores);
      for (const id of ["r-1", "r-2", "r-3", "r-4", "r-5"]) await end(stores, id);
      await start(stores, "r-6");
    },
    act: ({ evaluations }) => evaluations.listRepeatable("g-1", 2),
    check: (answer) => expect(answer).toEqual(["r-2", "r-3"]),
  },
  {
    method: "evaluations.note",
    title: "names reruns and writes assessments, each once; the last one ends the evaluation",
    setup: (stores) => create(stores),
    act: ({ evaluations }) => {
      const started = [{ position: 0, rerun_id: "r-8" }];
      return evaluations.note("e-1", { ...assess(PASSED, 1), started }, BEGIN + 1);
    },
    async check(_, { evaluations }) {
      expect(await evaluations.find("e-1", null)).toMatchObject({ status: "running" });
      const failed = { ...PASSED, failures: [{ check: 0, message: "It failed." }] };
      const started = [{ position: 0, rerun_id: "r-9" }];
      await evaluations.note("e-1", { ...assess(failed, 1, 0), started }, BEGIN + 3);
      expect(await evaluations.find("e-1", null)).toMatchObject({
        ...{ status: "finished", finished_at: BEGIN + 3 },
      });
      expect(await evaluations.listRuns("e-1")).toMatchObject([
        { rerun_id: "r-8", assessment: failed },
        { rerun_id: null, assessment: PASSED },
      ]);
    },
  },
  {
    method: "evaluations.cancel",
    title: "ends an evaluation that is under way",
    setup: (stores) => create(stores),
    act: ({ evaluations }) => evaluations.cancel("e-1", BEGIN + 1),
    async check(_, { evaluations }) {
      const ended = { status: "cancelled", finished_at: BEGIN + 1 };
      expect(await evaluations.find("e-1", null)).toMatchObject(ended);
      await evaluations.cancel("e-1", BEGIN + 2);
      expect(await evaluations.find("e-1", null)).toMatchObject(ended);
    },
  },
  {
    method: "evaluations.sweep",
    title: "deletes what finished long ago with its assessments, and frees its bytes",
    async setup(stores) {
      for (const id of ["e-1", "e-2", "e-3"]) await create(stores, id);
      await stores.evaluations.cancel("e-1", BEGIN);
      await stores.evaluations.cancel("e-2", BEGIN + 5);
    },
    act: ({ evaluations }) => evaluations.sweep(BEGIN + 5, 10),
    async check(answer, { evaluations, storage }) {
      expect(answer).toBe(1);
      expect(await evaluations.find("e-1", null)).toBeUndefined();
      expect(await evaluations.listRuns("e-1")).toEqual([]);
      expect(await evaluations.listRuns("e-2")).toHaveLength(2);
      const { stored_bytes } = (await evaluations.find("e-2", null))!;
      expect(await storage.find("a-1")).toBe(2 * stored_bytes);
    },
  },
];
