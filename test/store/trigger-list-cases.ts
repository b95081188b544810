// Cases of listing triggers and fires.
import { expect } from "bun:test";
import type { FireRow } from "../../src/triggers/fire.ts";
import type { FireFilter } from "../../src/triggers/store/lookup.ts";
import type { TriggerRow } from "../../src/triggers/trigger.ts";
import { BEGIN } from "../support/runs.ts";
import { makeFiring, makeTrigger } from "../support/triggers.ts";
import type { Case, Stores } from "./cases.ts";
import { ARCHIVED, archive, every, fill, idsOf, listFires } from "./trigger-acts.ts";

const fires: FireFilter = { trigger_id: "t-1", outcome: null, before: null, limit: 100 };
/** Every second fire is skipped, since the previous run is active; two share one time. */
const fireOften = async (stores: Stores) => {
  await fill(stores);
  for (const [n, at] of [1, 2, 2, 4].entries()) {
    await stores.triggers.fire(makeFiring(`f-${n}`, "t-1", { now: BEGIN + at }));
    if (n % 2 === 1) await stores.runs.cancel(`run of f-${n - 1}`, null, [`end ${n}`], BEGIN + at);
  }
  await stores.triggers.fire(makeFiring("f-9", "t-2", { now: BEGIN + 9 }));
};

export const triggerListCases: readonly Case[] = [
  {
    method: "triggers.listMarks",
    title: "lists the newest fires of each trigger, the newest first",
    setup: fireOften,
    act: ({ triggers }) => triggers.listMarks(["t-1", "t-2", "t-3"], 3),
    async check(answer, { triggers }) {
      expect(answer).toMatchObject([
        { id: "f-9", trigger_id: "t-2" },
        { id: "f-3", trigger_id: "t-1", outcome: "skipped", run_id: null },
        { id: "f-2", trigger_id: "t-1" },
        { id: "f-1", trigger_id: "t-1" },
      ]);
      expect(await triggers.listMarks([], 3)).toEqual([]);
      const many = Array.from({ length: 120 }, (_, n) => `none-${n}`);
      expect(await triggers.listMarks([...many, "t-2"], 3)).toHaveLength(1);
    },
  },
  {
    method: "triggers.fire",
    title: "stores the fire, its run and its time",
    setup: fill,
    act: ({ triggers }) => triggers.fire(makeFiring("f-1", "t-1")),
    async check(answer, { triggers, runs }) {
      expect(answer).toMatchObject({ kind: "fired", fire: { id: "f-1", outcome: "started" } });
      expect((await triggers.find("t-1"))!.last_fire_at).toBe(BEGIN + 1_000);
      expect(await runs.find("run of f-1", "a-1")).toMatchObject({ trigger_id: "t-1" });
    },
  },
  {
    method: "triggers.find",
    title: "finds a trigger of any account, with the time its agent was archived",
    async setup(stores) {
      await fill(stores);
      await archive(stores);
    },
    act: ({ triggers }) => triggers.find("t-1"),
    async check(answer, { triggers }) {
      expect(answer).toEqual({ ...makeTrigger("t-1"), agent_archived_at: ARCHIVED });
      expect(await triggers.find("t-3")).toMatchObject({ account_id: "a-2" });
      expect(await triggers.find("t-9")).toBeUndefined();
    },
  },
  {
    method: "triggers.list",
    title: "lists pages, newest first, for one account or all",
    setup: fill,
    act: ({ triggers }) => triggers.list(every),
    async check(answer, { triggers }) {
      expect(idsOf(answer as TriggerRow[])).toEqual(["t-2", "t-1"]);
      const all = { ...every, account_id: null };
      expect(idsOf(await triggers.list(all))).toEqual(["t-2", "t-3", "t-1"]);
      expect(idsOf(await triggers.list({ ...all, limit: 2 }))).toEqual(["t-2", "t-3"]);
      const behind = { ...all, before: { at: BEGIN, id: "t-3" } };
      expect(idsOf(await triggers.list(behind))).toEqual(["t-1"]);
      expect(await triggers.list({ ...every, account_id: "a-9" })).toEqual([]);
    },
  },
  {
    method: "triggers.listFires",
    title: "lists pages, newest first, for one outcome or all",
    setup: fireOften,
    act: ({ triggers }) => triggers.listFires(fires),
    async check(answer, { triggers }) {
      const outcomes = (answer as FireRow[]).map(({ id, outcome }) => `${id} ${outcome}`);
      const inOrder = ["f-3 skipped", "f-2 started", "f-1 skipped", "f-0 started"];
      expect(outcomes).toEqual(inOrder);
      const list = async (filter: Partial<FireFilter>) =>
        idsOf(await triggers.listFires({ ...fires, ...filter }));
      expect(await list({ outcome: "started" })).toEqual(["f-2", "f-0"]);
      expect(await list({ outcome: "missed" })).toEqual([]);
      expect(await list({ limit: 2 })).toEqual(["f-3", "f-2"]);
      expect(await list({ before: { at: BEGIN + 2, id: "f-2" } })).toEqual(["f-1", "f-0"]);
      expect(await list({ trigger_id: "t-2" })).toEqual(["f-9"]);
      expect(await list({ trigger_id: "t-9" })).toEqual([]);
    },
  },
  {
    method: "triggers.sweepFires",
    title: "deletes the oldest before a given time, also of a deleted trigger",
    async setup(stores) {
      await fireOften(stores);
      await stores.triggers.remove("t-1", "a-1");
    },
    act: ({ triggers }) => triggers.sweepFires(BEGIN + 9, 3),
    async check(answer, { triggers }) {
      expect(answer).toBe(3);
      expect(idsOf(await triggers.listFires(fires))).toEqual(["f-3"]);
      expect(await triggers.sweepFires(BEGIN + 9, 3)).toBe(1);
      expect(await triggers.sweepFires(BEGIN + 9, 3)).toBe(0);
      expect(await listFires({ triggers }, "t-2")).toHaveLength(1);
    },
  },
];
