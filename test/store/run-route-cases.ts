// Cases of reads for the routes of runs, and of retention.
import { expect } from "bun:test";
import { BEGIN, makeMessage, makeRecord, makeStep } from "../support/runs.ts";
import { create } from "./agent-cases.ts";
import type { Case } from "./cases.ts";
import { claimRuns, codeOf, DAY_MS, end, ended, start, startMany } from "./run-acts.ts";

const again = { idempotency: { key: "k-1", body_hash: "h-1" } };

const routeCases: Case[] = [
  {
    method: "runs.findStartable",
    title: "returns an agent's account, version and holds",
    async setup(stores) {
      await create(stores, "g-1");
      await create(stores, "g-2");
      const hold = { account_id: "a-1", reason: null, since: BEGIN };
      await stores.holds.hold({ kind: "agent", id: "g-2", ...hold });
    },
    act: ({ runs }) => Promise.all(["g-1", "g-2", "g-3"].map((id) => runs.findStartable(id))),
    async check(answer, { runs, holds }) {
      const free = { account_id: "a-1", status: "active", current_version: 1, is_held: false };
      const held = { ...free, is_held: true };
      expect(answer).toEqual([free, held, undefined]);
      const hold = { account_id: "a-1", reason: null, since: BEGIN };
      await holds.hold({ kind: "account", id: "a-1", ...hold });
      expect(await runs.findStartable("g-1")).toEqual(held);
    },
  },
  {
    method: "runs.findStarted",
    title: "finds the run of an identical request for a day",
    setup: (stores) => start(stores, "r-1", {}, again),
    act: ({ runs }) => runs.findStarted("a-1", "g-1", again.idempotency, BEGIN + DAY_MS - 1),
    async check(answer, { runs }) {
      expect(answer).toMatchObject({ id: "r-1" });
      const find = (account: string, agent: string, fields: object, now = BEGIN) =>
        codeOf(runs.findStarted(account, agent, { ...again.idempotency, ...fields }, now));
      expect(await find("a-1", "g-1", { body_hash: "h-2" })).toBe("idempotency_conflict");
      const { idempotency } = again;
      for (const [account, agent, now] of [
        ["a-2", "g-1", BEGIN],
        ["a-1", "g-2", BEGIN],
        ["a-1", "g-1", BEGIN + DAY_MS],
      ] as const) {
        expect(await runs.findStarted(account, agent, idempotency, now)).toBeUndefined();
      }
    },
  },
  {
    method: "runs.findPosition",
    title: "returns only status, steps and start",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2"]);
      await claimRuns(stores, 1);
      await stores.runs.note(makeRecord("r-1", { steps: [makeStep("s-1")] }));
    },
    act: ({ runs }) => Promise.all(["r-1", "r-2", "r-3"].map((id) => runs.findPosition(id))),
    check(answer) {
      expect(answer).toEqual([
        { status: "running", last_seq: 1, started_at: BEGIN + 5 },
        { status: "queued", last_seq: 0, started_at: null },
        undefined,
      ]);
    },
  },
  {
    method: "runs.loadBefore",
    title: "returns a thread up to a message, and the summary that ends at that one",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores, 1);
      const messages = ["m-2", "m-3", "m-4"].map((id) => makeMessage(id));
      const summary = { through_seq: 2, content: "So far." };
      await stores.runs.note(makeRecord("r-1", { steps: [makeStep("s-1")], messages, summary }));
    },
    act: ({ runs }) => runs.loadBefore("thread of r-1", 3, 2),
    async check(answer, { runs }) {
      expect(answer).toMatchObject({ messages: [{ id: "m-3" }], summary: "So far." });
      const whole = await runs.loadBefore("thread of r-1", 2, null);
      expect(whole.messages.map(({ seq }) => seq)).toEqual([1, 2]);
      expect(whole.summary).toBeNull();
      expect((await runs.loadBefore("thread of r-1", 4, 1)).summary).toBeNull();
    },
  },
  {
    method: "runs.loadHistory",
    title: "returns what a run found in its thread, numbered from 1, with an earlier summary",
    async setup(stores) {
      for (const id of ["r-1", "r-4"]) await start(stores, id);
      await claimRuns(stores, 2);
      const messages = ["m-2", "m-3"].map((id) => makeMessage(id));
      const summary = { through_seq: 2, content: "So far." };
      await stores.runs.note(makeRecord("r-1", { messages, summary }));
      const own = { through_seq: 1, content: "The question itself." };
      await stores.runs.note(makeRecord("r-4", { summary: own }));
      await end(stores, "r-1");
      const thread_id = "thread of r-1";
      await start(stores, "r-2", { external_content: true }, { thread_id });
      const history = { messages: [], summary: "Before.", external: false };
      await start(stores, "r-3", {}, { history });
    },
    act: ({ runs }) => runs.loadHistory({ id: "r-2", thread_id: "thread of r-1" }),
    async check(answer, { runs }) {
      expect(answer).toEqual({
        messages: [expect.objectContaining({ id: "m-3", run_id: "r-1", seq: 1 })],
        ...{ summary: "So far.", external: true },
      });
      // A summary that covers the run itself says too much.
      for (const id of ["r-1", "r-4"]) {
        const first = { id, thread_id: `thread of ${id}` };
        expect(await runs.loadHistory(first)).toBeUndefined();
      }
      const copied = { id: "r-3", thread_id: "thread of r-3" };
      expect(await runs.loadHistory(copied)).toMatchObject({ messages: [], summary: "Before." });
    },
  },
  {
    method: "runs.findThreadOwner",
    title: "returns the account of a thread",
    setup: (stores) => start(stores, "r-1"),
    act: ({ runs }) =>
      Promise.all([runs.findThreadOwner("thread of r-1"), runs.findThreadOwner("none")]),
    check: (answer) => expect(answer).toEqual(["a-1", undefined]),
  },
  {
    method: "runs.sweep",
    title: "deletes runs that ended long ago, and skips the rest",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2", "r-3"]);
      await claimRuns(stores);
      for (const id of ["r-1", "r-3"]) {
        const outputs = [{ tool_call_id: "c-1", content: "whole" }];
        await stores.runs.note(makeRecord(id, { steps: [makeStep(`s of ${id}`)], outputs }));
        await end(stores, id);
      }
    },
    act: ({ runs }) => runs.sweep("", BEGIN + DAY_MS, 2),
    async check(answer, { runs, ran }) {
      expect(answer).toEqual({ deleted: 1, afterId: "r-2" });
      expect(await runs.find("r-1", null)).toBeUndefined();
      expect(await runs.listSteps("r-1", 0, null)).toEqual([]);
      expect(await runs.findOutput("r-1", "c-1")).toBeUndefined();
      expect(await ran.messages("thread of r-1")).not.toEqual([]);
      expect(await ran.days()).toMatchObject([{ runs: 2 }]);
      const none = { deleted: 0, afterId: null };
      expect(await runs.sweep("r-2", BEGIN, 2)).toEqual(none);
      // A run that starts, or ends, at the very moment is too young.
      expect(await runs.sweep("r-2", BEGIN, 1)).toEqual(none);
      expect(await runs.sweep("r-2", BEGIN + 10, 2)).toEqual(none);
      expect(await runs.sweep("r-2", BEGIN + DAY_MS, 2)).toEqual({ deleted: 1, afterId: null });
      expect(await runs.find("r-2", null)).toMatchObject({ status: "running" });
      expect(await runs.find("r-3", null)).toBeUndefined();
    },
  },
  {
    method: "runs.sweepStarts",
    title: "deletes old idempotency keys, up to a limit",
    async setup(stores) {
      for (const [i, id] of ["r-1", "r-2", "r-3"].entries()) {
        const idempotency = { key: id, body_hash: "h" };
        await start(stores, id, { created_at: BEGIN + i }, { idempotency });
      }
    },
    act: ({ runs }) => runs.sweepStarts(BEGIN + 1, 1),
    async check(answer, { runs }) {
      expect(answer).toBe(1);
      expect(await runs.sweepStarts(BEGIN + 1, 5)).toBe(1);
      expect(await runs.sweepStarts(BEGIN + 1, 5)).toBe(0);
      const find = (key: string) =>
        runs.findStarted("a-1", "g-1", { key, body_hash: "h" }, BEGIN + 2);
      expect([await find("r-2"), await find("r-3")]).toMatchObject([undefined!, { id: "r-3" }]);
    },
  },
  {
    method: "usage.sum",
    title: "sums runs by day and agent, and an unknown value as null",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2"]);
      await start(stores, "r-3", { account_id: "a-2" });
      await claimRuns(stores);
      await end(stores, "r-1");
      await end(stores, "r-2", "failed");
    },
    act: ({ usage }) => usage.sum("a-1", "agent", "2026-11-20", "2026-11-20"),
    async check(answer, { usage }) {
      const sum = { runs: 2, succeeded: 1, failed: 1, cancelled: 0 };
      expect(answer).toMatchObject([{ name: "g-1", ...sum }]);
      const days = await usage.sum("a-1", "day", "2026-11-01", "2026-11-30");
      expect(days).toMatchObject([{ name: "2026-11-20", ...sum }]);
      expect(await usage.sum("a-1", "day", "2026-11-21", "2026-11-30")).toEqual([]);
      expect(await usage.sum("a-2", "day", "2026-11-20", "2026-11-20")).toEqual([]);
    },
  },
  {
    method: "usage.sum",
    title: "sorts by day or agent, whatever ended first",
    async setup(stores) {
      await start(stores, "r-1", { agent_id: "g-2" });
      await start(stores, "r-2", { agent_id: "g-1" });
      await claimRuns(stores);
      const finish = (id: string, at: number) =>
        stores.runs.finish(makeRecord(id, { at }), ended("succeeded", `event of ${id}`));
      await finish("r-1", BEGIN + DAY_MS);
      await finish("r-2", BEGIN);
    },
    act: ({ usage }) =>
      Promise.all(
        (["day", "agent"] as const).map((by) => usage.sum("a-1", by, "2026-11-01", "2026-11-30")),
      ),
    check: (answer) =>
      expect(answer).toMatchObject([
        [{ name: "2026-11-20" }, { name: "2026-11-21" }],
        [{ name: "g-1" }, { name: "g-2" }],
      ]),
  },
];
export const runRouteCases: readonly Case[] = routeCases;
