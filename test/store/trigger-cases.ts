// Cases of creating, changing and deleting triggers.
import { expect } from "bun:test";
import type { ChangeResult, TriggerChange } from "../../src/triggers/store/change.ts";
import type { PausedReason } from "../../src/triggers/trigger.ts";
import { BEGIN } from "../support/runs.ts";
import { makeChange, makeFiring, makeHook, makeTrigger, sealTrigger } from "../support/triggers.ts";
import type { Case } from "./cases.ts";
import { codeOf, start } from "./run-acts.ts";
import {
  ARCHIVED,
  addAgents,
  archive,
  changed,
  create,
  every,
  fill,
  found,
  listFires,
  manual,
  pause,
} from "./trigger-acts.ts";

const MANY = 100;
const MINUTE_MS = 60_000;

const creationCases: Case[] = [
  {
    method: "triggers.create",
    title: "stores a hook and its secret",
    setup: addAgents,
    act: (stores) => create(stores, makeHook("t-1", { input: { message: 'Go "ä"' } })),
    async check(answer, { triggers, secrets }) {
      const row = makeHook("t-1", { input: { message: 'Go "ä"' } });
      expect(answer).toEqual(found(row));
      expect(await triggers.find("t-1")).toEqual(found(row));
      expect(await secrets.find("trigger", "t-1")).toEqual(sealTrigger(row));
    },
  },
  {
    method: "triggers.create",
    title: "stores a schedule, which has no secret",
    setup: addAgents,
    act: (stores) => create(stores, makeTrigger("t-1")),
    async check(answer, { triggers, secrets }) {
      expect(answer).toEqual(found(makeTrigger("t-1")));
      expect(await triggers.find("t-1")).toEqual(found(makeTrigger("t-1")));
      expect(await secrets.find("trigger", "t-1")).toBeUndefined();
    },
  },
  {
    method: "triggers.create",
    title: "refuses a name taken in the account, and stores no secret",
    setup: fill,
    act: async (stores) => {
      const { name } = makeTrigger("t-1");
      const of = { name, account_id: "a-2", agent_id: "g-3" };
      return [
        await codeOf(create(stores, makeHook("t-4", { name }))),
        await codeOf(create(stores, makeHook("t-5", of))),
      ];
    },
    async check(answer, { triggers, secrets }) {
      expect(answer).toEqual(["name_taken", "accepted"]);
      expect(await triggers.find("t-4")).toBeUndefined();
      expect(await secrets.find("trigger", "t-4")).toBeUndefined();
    },
  },
  {
    method: "triggers.create",
    title: "refuses an agent that is archived, unknown or another account's",
    async setup(stores) {
      await addAgents(stores);
      await archive(stores, "g-2");
    },
    act: (stores) =>
      Promise.all(
        ["g-2", "g-3", "g-9"].map((agent_id) =>
          codeOf(create(stores, makeHook("t-1", { agent_id }))),
        ),
      ),
    async check(answer, { triggers }) {
      expect(answer).toEqual(["agent_archived", "agent_not_found", "agent_not_found"]);
      expect(await triggers.find("t-1")).toBeUndefined();
    },
  },
  {
    method: "triggers.create",
    title: "accepts a thread of the agent, and refuses any other",
    async setup(stores) {
      await addAgents(stores);
      await start(stores, "r-1");
      await start(stores, "r-2", { agent_id: "g-2" });
      await start(stores, "r-3", { agent_id: "g-3", account_id: "a-2" });
    },
    act: (stores) =>
      Promise.all(
        ["r-1", "r-2", "r-3", "r-9"].map((run, n) => {
          const row = makeTrigger(`t-${n}`, { thread_id: `thread of ${run}` });
          return codeOf(create(stores, row));
        }),
      ),
    check: (answer) =>
      expect(answer).toEqual([
        ...["accepted", "thread_agent_mismatch", "thread_not_found", "thread_not_found"],
      ]),
  },
  {
    method: "triggers.create",
    title: "stores twenty concurrent ones only up to the limit",
    setup: addAgents,
    act: (stores) =>
      Promise.all(
        Array.from({ length: 20 }, (_, n) => codeOf(create(stores, makeTrigger(`t-${n}`), 5))),
      ),
    async check(answer, { triggers }) {
      const made = (answer as string[]).filter((code) => code === "accepted");
      expect(made).toHaveLength(5);
      expect(new Set(answer as string[])).toEqual(new Set(["accepted", "triggers_limit"]));
      expect(await triggers.list(every)).toHaveLength(5);
    },
  },
  {
    method: "triggers.create",
    title: "stores nothing if a key rotation has overtaken its secret",
    setup: addAgents,
    act({ triggers }) {
      const row = makeHook("t-1");
      return codeOf(triggers.create(row, { ...sealTrigger(row), key_id: "k-0" }, MANY));
    },
    async check(answer, { triggers }) {
      expect(answer).toBe("triggers_unavailable");
      expect(await triggers.find("t-1")).toBeUndefined();
    },
  },
];

const changeCases: Case[] = [
  {
    method: "triggers.change",
    title: "updates the fields of the request and the next instant",
    setup: fill,
    act: ({ triggers }) => {
      const timed = { cron: "*/2 * * * *", time_zone: "Asia/Riyadh", catch_up_seconds: 0 };
      const input = { message: "Go" };
      const fields = { name: "New", overlap: "allow" as const, input, ...timed };
      return triggers.change(makeChange("t-1", { fields }));
    },
    async check(answer, { triggers }) {
      const row = makeTrigger("t-1", {
        ...{ name: "New", overlap: "allow", input: { message: "Go" }, catch_up_seconds: 0 },
        ...{ cron: "*/2 * * * *", time_zone: "Asia/Riyadh", next_fire_at: BEGIN + 2 * MINUTE_MS },
        // The input changes, so its runs use the key of this request.
        ...{ updated_at: BEGIN + 30_000, key_id: "k-2" },
      });
      expect(answer).toEqual(changed(row));
      expect(await triggers.find("t-1")).toEqual(found(row));
      expect((await triggers.find("t-2"))!.name).toBe(makeHook("t-2").name);
    },
  },
  {
    method: "triggers.change",
    title: "treats a change of the zone as a new schedule",
    setup: fill,
    act: ({ triggers }) =>
      triggers.change(makeChange("t-1", { fields: { time_zone: "Asia/Riyadh" } })),
    check: (answer) =>
      expect(answer).toMatchObject({ trigger: { next_fire_at: BEGIN + 2 * MINUTE_MS } }),
  },
  {
    method: "triggers.change",
    title: "keeps the next instant of an unchanged schedule, and everything if nothing differs",
    setup: fill,
    act: async ({ triggers }) => {
      const same = { cron: "* * * * *", name: makeTrigger("t-1").name };
      const untouched = await triggers.change(makeChange("t-1", { fields: same }));
      const active = await triggers.change(makeChange("t-1", { transition: { to: "active" } }));
      const renamed = await triggers.change(makeChange("t-1", { fields: { name: "New" } }));
      return [untouched, active, renamed];
    },
    check: (answer) =>
      expect(answer).toEqual([
        ...[changed(makeTrigger("t-1")), changed(makeTrigger("t-1"))],
        changed(makeTrigger("t-1", { name: "New", key_id: "k-2", updated_at: BEGIN + 30_000 })),
      ]),
  },
  {
    method: "triggers.change",
    title: "takes the key of a request that changes the input of runs, and of no other",
    async setup(stores) {
      await addAgents(stores);
      await create(stores, makeTrigger("t-1", { input: { message: "Go" } }));
    },
    act: async ({ triggers }) => {
      const kept: unknown[] = [];
      for (const fields of [
        ...[{ name: "New" }, { overlap: "allow" as const }, { input: { message: "Go" } }],
        { input: { message: "Stop" } },
      ]) {
        kept.push(await triggers.change(makeChange("t-1", { fields })));
      }
      return kept;
    },
    check: (answer) =>
      expect(answer).toMatchObject(
        ["k-1", "k-1", "k-1", "k-2"].map((key_id) => ({ kind: "ok", trigger: { key_id } })),
      ),
  },
  {
    method: "triggers.change",
    title: "asks for a new validation if the schedule has changed meanwhile",
    setup: fill,
    act: async ({ triggers }) => {
      const fields = { name: "New" };
      const change = (seen: TriggerChange["seen"]) =>
        triggers.change(makeChange("t-1", { fields, seen }));
      return [
        await change({ cron: "0 0 * * *", time_zone: "UTC" }),
        await change({ cron: "* * * * *", time_zone: "Asia/Riyadh" }),
      ];
    },
    async check(answer, { triggers }) {
      expect(answer).toEqual([{ kind: "stale" }, { kind: "stale" }]);
      expect(await triggers.find("t-1")).toEqual(found(makeTrigger("t-1")));
    },
  },
  {
    method: "triggers.change",
    title: "refuses a taken name, and does not find another account's",
    setup: fill,
    act: async ({ triggers }) => {
      const fields = { name: makeHook("t-2").name };
      return [
        await codeOf(triggers.change(makeChange("t-1", { fields }))),
        await triggers.change(makeChange("t-3", { fields })),
        await triggers.change(makeChange("t-9", { fields })),
      ];
    },
    async check(answer, { triggers }) {
      expect(answer).toEqual(["name_taken", { kind: "not_found" }, { kind: "not_found" }]);
      expect(await triggers.find("t-1")).toEqual(found(makeTrigger("t-1")));
    },
  },
  {
    method: "triggers.change",
    title: "pauses, and keeps an earlier reason",
    setup: fill,
    act: async (stores) => {
      await pause(stores, "t-1");
      const reason: PausedReason = { ...manual, message: "Another reason." };
      return stores.triggers.change(makeChange("t-1", { transition: { to: "paused", reason } }));
    },
    async check(answer, { triggers }) {
      const row = makeTrigger("t-1", {
        ...{ status: "paused", paused_reason: manual, next_fire_at: null },
        updated_at: BEGIN + 30_000,
      });
      expect(answer).toEqual(changed(row));
      // A paused trigger has no next instant, also with a new schedule.
      const fields = { cron: "0 0 * * *" };
      const again = await triggers.change(makeChange("t-1", { fields }));
      expect(again).toEqual(changed({ ...row, ...fields }));
    },
  },
  {
    method: "triggers.change",
    title: "resumes for the key of the request, or without one for the previous key",
    async setup(stores) {
      await fill(stores);
      for (const [id, account_id] of Object.entries({ "t-1": "a-1", "t-3": "a-2" })) {
        const turn = { to: "paused" as const, reason: manual };
        await stores.triggers.change(makeChange(id, { account_id, transition: turn }));
      }
    },
    act: async ({ triggers }) => {
      const turn = { to: "active" as const };
      const operator = { account_id: "a-2", key_id: null };
      return [
        await triggers.change(makeChange("t-1", { transition: turn })),
        await triggers.change(makeChange("t-3", { transition: turn, ...operator })),
      ];
    },
    check(answer) {
      const active = { next_fire_at: BEGIN + 2 * MINUTE_MS, updated_at: BEGIN + 30_000 };
      const others = { account_id: "a-2", agent_id: "g-3" };
      expect(answer).toEqual([
        changed(makeTrigger("t-1", { ...active, key_id: "k-2" })),
        changed(makeTrigger("t-3", { ...active, ...others })),
      ]);
    },
  },
  {
    method: "triggers.change",
    title: "does not resume a trigger of an archived agent",
    async setup(stores) {
      await fill(stores);
      await pause(stores, "t-1");
      await archive(stores);
    },
    act: ({ triggers }) =>
      Promise.all(
        // The other trigger is not yet marked as paused.
        ["t-1", "t-2"].map((id) => {
          const seen = id === "t-1" ? makeTrigger(id) : makeHook(id);
          return codeOf(triggers.change(makeChange(id, { transition: { to: "active" }, seen })));
        }),
      ),
    async check(answer, { triggers }) {
      expect(answer).toEqual(["agent_archived", "agent_archived"]);
      expect(await triggers.find("t-1")).toMatchObject({
        ...{ status: "paused", paused_reason: manual, agent_archived_at: ARCHIVED },
      });
    },
  },
];

const rotation = (id: string, seenNumber: number, sealed: string, expires_at: number | null) => ({
  ...{ id, account_id: "a-1", seenNumber },
  sealed: { ...sealTrigger(makeHook(id), sealed), set_at: BEGIN + 5 },
  previous_secret_expires_at: expires_at,
  key_id: "k-7",
});

const secretCases: Case[] = [
  {
    method: "triggers.rotate",
    title: "replaces the secret",
    setup: fill,
    act: ({ triggers }) => triggers.rotate(rotation("t-2", 0, "second", BEGIN + 9)),
    async check(answer, { triggers, secrets }) {
      const row = makeHook("t-2", {
        ...{ created_at: BEGIN + 1, updated_at: BEGIN + 5, secret_number: 1 },
        ...{ previous_secret_expires_at: BEGIN + 9, key_id: "k-7", secret_key_id: "k-7" },
      });
      expect(answer).toEqual(changed(row));
      expect(await triggers.find("t-2")).toEqual(found(row));
      expect(await secrets.find("trigger", "t-2")).toMatchObject({ sealed: "second" });
    },
  },
  {
    method: "triggers.rotate",
    title: "accepts one of two concurrent rotations, and the other retries",
    setup: fill,
    act: ({ triggers }) =>
      Promise.all(["one", "two"].map((by) => triggers.rotate(rotation("t-2", 0, by, null)))),
    async check(answer, { triggers, secrets }) {
      const kinds = (answer as ChangeResult[]).map(({ kind }) => kind);
      expect(kinds.toSorted()).toEqual(["ok", "stale"]);
      const sealed = kinds[0] === "ok" ? "one" : "two";
      expect(await secrets.find("trigger", "t-2")).toMatchObject({ sealed });
      expect((await triggers.find("t-2"))!.secret_number).toBe(1);
    },
  },
  {
    method: "triggers.rotate",
    title: "refuses another account's trigger and a secret that a key rotation has overtaken",
    setup: fill,
    act: async ({ triggers }) => {
      const stolen = rotation("t-3", 0, "stolen", null);
      const late = rotation("t-2", 0, "late", null);
      return [
        await triggers.rotate(stolen),
        await codeOf(triggers.rotate({ ...late, sealed: { ...late.sealed, key_id: "k-0" } })),
      ];
    },
    async check(answer, { triggers, secrets }) {
      expect(answer).toEqual([{ kind: "not_found" }, "triggers_unavailable"]);
      expect(await secrets.find("trigger", "t-3")).toBeUndefined();
      expect(await secrets.find("trigger", "t-2")).toMatchObject({ sealed: "sealed" });
      expect((await triggers.find("t-2"))!.secret_number).toBe(0);
    },
  },
  {
    method: "triggers.remove",
    title: "deletes the secret too, and keeps the fires",
    async setup(stores) {
      await fill(stores);
      await stores.triggers.fire(makeFiring("f-1", "t-2"));
    },
    act: ({ triggers }) => triggers.remove("t-2", "a-1"),
    async check(answer, { triggers, secrets }) {
      expect(answer).toBe(true);
      expect(await triggers.find("t-2")).toBeUndefined();
      expect(await secrets.find("trigger", "t-2")).toBeUndefined();
      expect(await listFires({ triggers }, "t-2")).toMatchObject([{ id: "f-1" }]);
      expect(await triggers.remove("t-2", "a-1")).toBe(false);
      expect(await triggers.remove("t-3", "a-1")).toBe(false);
      expect(await triggers.find("t-3")).toBeDefined();
    },
  },
  {
    method: "triggers.remove",
    title: "leaves the trigger of another account and its secret",
    setup: fill,
    act: ({ triggers }) => triggers.remove("t-2", "a-2"),
    async check(answer, { triggers, secrets }) {
      expect(answer).toBe(false);
      expect(await triggers.find("t-2")).toBeDefined();
      expect(await secrets.find("trigger", "t-2")).toBeDefined();
    },
  },
];

export const triggerCases: readonly Case[] = [...creationCases, ...changeCases, ...secretCases];
