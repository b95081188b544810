// Cases of reading threads that runs have written.
import { expect } from "bun:test";
import type { ThreadFilter } from "../../src/agents/threads/store.ts";
import { BEGIN, makeRecord } from "../support/runs.ts";
import type { Case, Stores } from "./cases.ts";
import { claimRuns, end, start } from "./run-acts.ts";

const ALL: ThreadFilter = { account_id: "a-1", agent_id: null, before: null, limit: 9 };

const thread = (id: string, fields: object = {}) => ({
  ...{ id: `thread of ${id}`, account_id: "a-1", agent_id: "g-1", title: null },
  ...{ external_content: false, created_at: BEGIN, active_run_id: id, message_count: 1 },
  ...{ updated_at: BEGIN, ...fields },
});
/** Two threads of one agent at the same time, one of another agent, one of another account. */
const startFour = async (stores: Stores) => {
  await start(stores, "r-1");
  await start(stores, "r-2");
  await start(stores, "r-3", { agent_id: "g-2", created_at: BEGIN + 1 });
  await start(stores, "r-4", { account_id: "a-2" });
};

export const threadCases: readonly Case[] = [
  {
    method: "threads.find",
    title: "shows the active run, the number of messages and the time of the last one",
    setup: (stores) => start(stores, "r-1"),
    act: ({ threads }) => threads.find("thread of r-1", "a-1"),
    async check(answer, stores) {
      const { threads } = stores;
      expect(answer).toEqual(thread("r-1"));
      await claimRuns(stores);
      const record = makeRecord("r-1");
      await stores.runs.settle({
        ...record,
        at: BEGIN + 50,
        messages: [reply("m-2"), reply("m-3")],
      });
      const grown = thread("r-1", { message_count: 3, updated_at: BEGIN + 50 });
      expect(await threads.find("thread of r-1", "a-1")).toEqual(grown);
      await end(stores, "r-1");
      expect(await threads.find("thread of r-1", "a-1")).toMatchObject({ active_run_id: null });
    },
  },
  {
    method: "threads.find",
    title: "does not find another account's thread or an unknown one",
    setup: (stores) => start(stores, "r-1"),
    act: ({ threads }) =>
      Promise.all([threads.find("thread of r-1", "a-2"), threads.find("r-1", "a-1")]),
    check: (answer) => expect(answer).toEqual([undefined, undefined]),
  },
  {
    method: "threads.list",
    title: "lists threads of an account or of one agent, newest first, ties by id",
    setup: startFour,
    act: ({ threads }) => threads.list(ALL),
    async check(answer, { threads }) {
      const third = thread("r-3", {
        agent_id: "g-2",
        created_at: BEGIN + 1,
        updated_at: BEGIN + 1,
      });
      expect(answer).toEqual([third, thread("r-2"), thread("r-1")]);
      expect(await threads.list({ ...ALL, agent_id: "g-2" })).toEqual([third]);
      expect(await threads.list({ ...ALL, account_id: "a-3" })).toEqual([]);
    },
  },
  {
    method: "threads.list",
    title: "continues after any thread of a page",
    setup: startFour,
    act: ({ threads }) => threads.list({ ...ALL, limit: 2 }),
    async check(answer, { threads }) {
      const page = answer as { id: string; created_at: number }[];
      expect(page.map(({ id }) => id)).toEqual(["thread of r-3", "thread of r-2"]);
      const placeOf = (i: number) => ({ at: page[i]!.created_at, id: page[i]!.id });
      const behind = (i: number) => threads.list({ ...ALL, before: placeOf(i) });
      expect(await behind(0)).toEqual([thread("r-2"), thread("r-1")]);
      expect(await behind(1)).toEqual([thread("r-1")]);
      const ofAgent = { ...ALL, agent_id: "g-1", before: placeOf(0) };
      expect(await threads.list(ofAgent)).toHaveLength(2);
    },
  },
  {
    method: "threads.listMessages",
    title: "lists the last messages, or all, in order",
    async setup(stores) {
      await start(stores, "r-1");
      await claimRuns(stores);
      await stores.runs.settle({ ...makeRecord("r-1"), messages: [reply("m-2"), reply("m-3")] });
    },
    act: ({ threads }) => threads.listMessages("thread of r-1", 0, 3),
    async check(answer, { threads, runs }) {
      const last = { id: "m-3", seq: 3, role: "assistant", content: "text of m-3" };
      expect(answer).toMatchObject([{ seq: 1, role: "user" }, { seq: 2 }, last]);
      expect(await threads.listMessages("thread of r-1", 1, 3)).toMatchObject([{ seq: 2 }, last]);
      expect(await threads.listMessages("thread of r-1", 0, 9)).toHaveLength(3);
      expect(await threads.listMessages("thread of r-2", 0, 9)).toEqual([]);
      expect(await threads.listMessages("thread of r-1", 0, 2)).toHaveLength(2);
      // A page holds fewer long items, and at least one.
      const long = ["m-4", "m-5", "m-6"].map((id) => ({
        ...reply(id),
        content: "x".repeat(300_000),
      }));
      await runs.settle({ ...makeRecord("r-1"), messages: long });
      const read = (after: number) => threads.listMessages("thread of r-1", after, 9);
      expect((await read(0)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
      expect((await read(4)).map(({ seq }) => seq)).toEqual([5]);
    },
  },
];

function reply(id: string) {
  return {
    ...{ id, role: "assistant" as const, content: `text of ${id}` },
    ...{ tool_calls: null, tool_call_id: null, external: false },
  };
}
