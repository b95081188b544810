// Cases of due triggers: each instant fires once.
import { expect } from "bun:test";
import type { Fired } from "../../src/triggers/store/fire.ts";
import type { TriggerRow } from "../../src/triggers/trigger.ts";
import { BEGIN } from "../support/runs.ts";
import {
  makeChange,
  makeFiring,
  makeHook,
  makeTimedFiring,
  makeTrigger,
} from "../support/triggers.ts";
import type { Case, Stores } from "./cases.ts";
import { addAgents, create, fill, idsOf, listFires, manual } from "./trigger-acts.ts";

const MINUTE_MS = 60_000;
const minute = (n: number) => BEGIN + n * MINUTE_MS;
const kindsOf = (answer: unknown): string[] =>
  (answer as Fired[]).map((one) => (one.kind === "fired" ? one.fire.outcome : one.kind));
const nextOf = async ({ triggers }: Stores, id: string) => (await triggers.find(id))!.next_fire_at;
const countFires = async (stores: Stores, trigger_id: string) =>
  (await listFires(stores, trigger_id)).length;

/** Triggers of two accounts, due at minutes from the beginning; one is a hook. */
const fillDue = async (stores: Stores) => {
  await addAgents(stores);
  const add = (id: string, at: number | null, fields: Partial<TriggerRow> = {}) =>
    create(stores, makeTrigger(id, { next_fire_at: at === null ? null : minute(at), ...fields }));
  const other = { account_id: "a-2", agent_id: "g-3" };
  await add("t-1", 3);
  await add("t-2", 2);
  await add("t-3", 2);
  await add("t-4", 9);
  await add("t-5", 1, other);
  await add("t-6", 4, other);
  await create(stores, makeHook("t-7"));
};

const instantCases: Case[] = [
  {
    method: "triggers.fire",
    title: "fires an instant once among concurrent attempts",
    setup: fill,
    act: ({ triggers }) =>
      Promise.all(
        Array.from({ length: 12 }, (_, n) => triggers.fire(makeTimedFiring(`f-${n}`, "t-1"))),
      ),
    async check(answer, stores) {
      const kinds = kindsOf(answer).toSorted();
      expect(kinds).toEqual([...Array.from({ length: 11 }, () => "gone"), "started"]);
      expect(await countFires(stores, "t-1")).toBe(1);
      expect(await stores.ran.counts()).toMatchObject([{ started: 1 }]);
      expect(await nextOf(stores, "t-1")).toBe(minute(2));
    },
  },
  {
    method: "triggers.fire",
    title: "follows the trigger's current schedule",
    setup: fill,
    async act({ triggers }) {
      const early = await triggers.fire(makeTimedFiring("f-1", "t-1", { dueAt: minute(0) }));
      // The same instant of another schedule would have a wrong next instant.
      const fields = { cron: "1 * * * *" };
      await triggers.change(makeChange("t-1", { fields, next_fire_at: minute(1) }));
      const late = await triggers.fire(makeTimedFiring("f-2", "t-1"));
      const cron = "1 * * * *";
      const fire = (id: string, time_zone: string) => {
        const instant = { seen: { cron, time_zone }, nextFireAt: minute(61) };
        return triggers.fire(makeTimedFiring(id, "t-1", instant));
      };
      return [early, late, await fire("f-3", "Asia/Riyadh"), await fire("f-4", "UTC")];
    },
    async check(answer, stores) {
      expect(kindsOf(answer)).toEqual(["gone", "gone", "gone", "started"]);
      expect(await nextOf(stores, "t-1")).toBe(minute(61));
    },
  },
  {
    method: "triggers.fire",
    title: "skips an instant that fired before the clock went back",
    async setup(stores) {
      await fill(stores);
      await stores.triggers.fire(makeTimedFiring("f-1", "t-1"));
      await stores.triggers.realign([{ trigger_id: "t-1", from: minute(2), to: minute(1) }]);
    },
    act: ({ triggers }) => triggers.fire(makeTimedFiring("f-2", "t-1")),
    async check(answer, stores) {
      expect(answer).toEqual({ kind: "gone" });
      expect(await countFires(stores, "t-1")).toBe(1);
      expect(await stores.outbox.list("a-1")).toHaveLength(1);
      expect(await nextOf(stores, "t-1")).toBe(minute(2));
    },
  },
  ...[
    // One of the two fires precedes the due instant.
    { title: "that fired before the clock went back", due: 2, missed_count: 3, left: 2 },
    { title: "that fired by a denser schedule", due: 1, missed_count: 1, left: 0 },
  ].map(
    ({ title, due, missed_count, left }): Case => ({
      method: "triggers.fire",
      title: `does not count an instant as missed ${title}`,
      async setup(stores) {
        await addAgents(stores);
        await create(stores, makeTrigger("t-1", { overlap: "allow" }));
        for (const n of [1, 2]) {
          const instant = {
            dueAt: minute(n),
            scheduledAt: minute(n),
            nextFireAt: minute(n + 1),
          };
          await stores.triggers.fire(makeTimedFiring(`f-${n}`, "t-1", instant));
        }
        await stores.triggers.realign([{ trigger_id: "t-1", from: minute(3), to: minute(due) }]);
      },
      act: ({ triggers }) => {
        const times = { dueAt: minute(due), scheduledAt: minute(5), nextFireAt: minute(6) };
        return triggers.fire(
          makeTimedFiring("f-3", "t-1", { ...times, missedCount: missed_count }),
        );
      },
      check: (answer) => expect(answer).toMatchObject({ fire: { missed_count: left } }),
    }),
  ),
  {
    method: "triggers.fire",
    title: "asks for a new preparation if key, input, thread or name has changed",
    setup: fill,
    act: async ({ triggers }) => {
      const { preparedFor } = makeFiring("", "t-1");
      const fired: Fired[] = [];
      const others = [
        { key_id: "k-9" },
        { input: { message: "Other words" } },
        { thread_id: "thread of r-1" },
        { name: "Another" },
      ];
      for (const [n, other] of others.entries()) {
        const fields = { preparedFor: { ...preparedFor, ...other } };
        fired.push(await triggers.fire(makeTimedFiring(`f-${n}`, "t-1", {}, fields)));
      }
      // A refusal by the key stands for any input; only another key helps.
      const error = { code: "agent_held", message: "It is held." };
      const prepared = { ok: false as const, outcome: "held" as const, error, pause: null };
      const refused = { prepared, preparedFor: { ...preparedFor, name: "Another" } };
      fired.push(await triggers.fire(makeTimedFiring("f-8", "t-9", {}, refused)));
      const mended = { prepared, preparedFor: { ...preparedFor, key_id: "k-9" } };
      fired.push(await triggers.fire(makeTimedFiring("f-9", "t-1", {}, mended)));
      fired.push(await triggers.fire(makeTimedFiring("f-9", "t-1", {}, refused)));
      return fired;
    },
    async check(answer, stores) {
      const kinds = [...Array.from({ length: 4 }, () => "changed"), "gone", "changed", "held"];
      expect(kindsOf(answer)).toEqual(kinds);
      expect(await countFires(stores, "t-1")).toBe(1);
    },
  },
  {
    method: "triggers.fire",
    title: "agents.errors.trigger_paused: writes nothing for a paused trigger",
    async setup(stores) {
      await fill(stores);
      await stores.triggers.change(
        makeChange("t-1", { transition: { to: "paused", reason: manual } }),
      );
    },
    act: ({ triggers }) =>
      Promise.all([
        triggers.fire(makeTimedFiring("f-1", "t-1")),
        triggers.fire(makeFiring("f-2", "t-1")),
      ]),
    async check(answer, stores) {
      expect(kindsOf(answer)).toEqual(["paused", "paused"]);
      expect(await countFires(stores, "t-1")).toBe(0);
      expect(await stores.outbox.list("a-1")).toEqual([]);
    },
  },
];

const clockCases: Case[] = [
  {
    method: "triggers.listDueAccounts",
    title: "lists the accounts with due triggers, the longest overdue first",
    setup: fillDue,
    act: ({ triggers }) => triggers.listDueAccounts(minute(2)),
    async check(answer, { triggers }) {
      expect(answer).toEqual(["a-2", "a-1"]);
      expect(await triggers.listDueAccounts(minute(2) - 1)).toEqual(["a-2"]);
      // The oldest instant of an account counts, not its latest.
      expect(await triggers.listDueAccounts(minute(4))).toEqual(["a-2", "a-1"]);
      expect(await triggers.listDueAccounts(minute(1) - 1)).toEqual([]);
    },
  },
  {
    method: "triggers.listDue",
    title: "lists each account's due triggers up to a limit, the longest overdue first",
    setup: fillDue,
    act: ({ triggers }) =>
      triggers.listDue(minute(4), [
        { accountId: "a-1", limit: 2 },
        { accountId: "a-2", limit: 9 },
        { accountId: "a-9", limit: 9 },
      ]),
    async check(answer, { triggers }) {
      expect(idsOf(answer as TriggerRow[])).toEqual(["t-2", "t-3", "t-5", "t-6"]);
      const [first] = answer as TriggerRow[];
      expect(first).toEqual(makeTrigger("t-2", { next_fire_at: minute(2) }));
      const all = { accountId: "a-1", limit: 9 };
      expect(idsOf(await triggers.listDue(minute(4), [all]))).toEqual(["t-2", "t-3", "t-1"]);
      expect(await triggers.listDue(minute(4), [])).toEqual([]);
    },
  },
  {
    method: "triggers.findNextDue",
    title: "finds the next instant across accounts",
    setup: fillDue,
    act: ({ triggers }) => triggers.findNextDue(minute(2)),
    async check(answer, { triggers }) {
      expect(answer).toBe(minute(3));
      expect(await triggers.findNextDue(0)).toBe(minute(1));
      expect(await triggers.findNextDue(minute(9))).toBeUndefined();
    },
  },
  {
    method: "triggers.listTimed",
    title: "lists pages of triggers with a next instant, each once",
    setup: fillDue,
    act: async ({ triggers }) => {
      const pages: string[][] = [];
      let place = { next_fire_at: minute(1) + 1, id: "" };
      for (;;) {
        const page = await triggers.listTimed(place, 2);
        pages.push(idsOf(page));
        const last = page[1];
        if (!last) return pages;
        place = { next_fire_at: last.next_fire_at!, id: last.id };
      }
    },
    check: (answer) => expect(answer).toEqual([["t-2", "t-3"], ["t-1", "t-6"], ["t-4"]]),
  },
  {
    method: "triggers.realign",
    title: "sets another instant if the stored one is still the one that was read",
    setup: fillDue,
    act: ({ triggers }) =>
      triggers.realign([
        { trigger_id: "t-1", from: minute(3), to: minute(2) },
        { trigger_id: "t-2", from: minute(7), to: minute(1) },
        { trigger_id: "t-4", from: minute(9), to: null },
        { trigger_id: "t-7", from: minute(1), to: minute(2) },
        { trigger_id: "t-9", from: minute(1), to: minute(2) },
      ]),
    async check(answer, stores) {
      expect(answer).toBe(2);
      const ids = ["t-1", "t-2", "t-3", "t-4", "t-7"];
      const next = await Promise.all(ids.map((id) => nextOf(stores, id)));
      expect(next).toEqual([minute(2), minute(2), minute(2), null, null]);
      expect(await stores.triggers.find("t-1")).toMatchObject({ updated_at: BEGIN });
    },
  },
];

export const dueCases: readonly Case[] = [...instantCases, ...clockCases];
