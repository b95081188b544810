// Cases of the stores that read across the tables of all modules.
import { expect } from "bun:test";
import type { Key } from "../../src/access/index.ts";
import type { DeletedPart } from "../../src/database/index.ts";
import { QUARTER_MS } from "../../src/gateway/budgets/period.ts";
import { writeEntries } from "../../src/gateway/request-log/entry.ts";
import { ACCOUNT_PARTS } from "../../src/inventory/index.ts";
import { makeEntry, NOON } from "../support/request-log.ts";
import { makeApproval, makeRecord, makeStep } from "../support/runs.ts";
import { create } from "./agent-cases.ts";
import type { Case, Stores } from "./cases.ts";
import { define, makeServer, read, take } from "./mcp-cases.ts";
import { claimRuns, ended, finding, start, startMany } from "./run-acts.ts";
import { addEndpoint, fillOne, LATER } from "./webhook-acts.ts";
import { turn } from "./webhook-sending-acts.ts";

const NOW = Date.UTC(2026, 10, 20);

export const makeKey = (id: string): Key => ({
  ...{ id, account_id: null, name: null, kind: "ordinary", scopes: [], models: null },
  ...{ max_output_tokens: null, created_at: NOW, expires_at: null, revoked_at: null },
});
/** Lets the process of a run crash twice without progress. */
const crashTwice = async ({ processes, runs }: Stores, id: string) => {
  for (const nth of [1, 2]) {
    const epoch = await processes.register(NOW);
    await runs.claim(epoch, [{ account_id: "a-1", runsMax: 1 }], NOW);
    await runs.reclaim([finding(id, nth)], [epoch], NOW);
  }
};

/** Live processes 1 and 2, of which the first has claimed a run and two deliveries. */
async function claimSome(stores: Stores): Promise<void> {
  const { processes, runs, webhooks } = stores;
  for (let n = 0; n < 3; n++) await processes.register(NOW);
  await processes.end(3, NOW);
  await startMany(stores, ["r-1", "r-2"]);
  await runs.claim(1, [{ account_id: "a-1", runsMax: 1 }], NOW);
  await fillOne(stores);
  await webhooks.claim(1, [turn(2)], LATER);
  await processes.takeLease("sweeps", 1);
}

const activityCases: Case[] = [
  {
    method: "activity.count",
    title: "counts nothing in a new database",
    act: ({ activity }) => activity.count(),
    check: (answer) =>
      expect(answer).toEqual({
        runs: new Map(),
        suspects: 0,
        approvals: { count: 0, oldest: null, next: null },
        webhooks: { waiting: 0, failing: 0, disabled: 0 },
      }),
  },
  {
    method: "activity.count",
    title: "counts runs, approvals, deliveries and endpoints, each in its state",
    async setup(stores) {
      await startMany(stores, ["r-1", "r-2", "r-3", "r-4", "r-5"]);
      await crashTwice(stores, "r-1");
      await crashTwice(stores, "r-2");
      const epoch = await stores.processes.register(NOW);
      await stores.runs.claimSuspect(epoch);
      await stores.runs.finish(makeRecord("r-1", { epoch }), ended("failed", "event of r-1"));
      await stores.runs.claim(epoch, [{ account_id: "a-1", runsMax: 2 }], NOW);
      const request = (id: string, requested_at: number, expires_at: number) => ({
        approval: { ...makeApproval(id, "r-3"), requested_at, expires_at },
        event_id: `event of ${id}`,
      });
      const requests = [request("p-1", NOW + 1, NOW + 9), request("p-2", NOW + 2, NOW + 8)];
      await stores.runs.plan(makeRecord("r-3", { epoch }), requests);
      await stores.runs.wait("r-3", epoch, 9);
      await stores.secrets.claim("k-1");
      await addEndpoint(stores, "w-1", { pending_deliveries: 4, failing_since: NOW });
      await addEndpoint(stores, "w-2", { pending_deliveries: 3, failing_since: NOW });
      const off = { status: "disabled", failing_since: NOW } as const;
      await addEndpoint(stores, "w-3", { ...off, disabled_reason: "failing" });
      await addEndpoint(stores, "w-4", { ...off, disabled_reason: "gone" });
      await addEndpoint(stores, "w-5", { ...off, disabled_reason: "failing" });
      await addEndpoint(stores, "w-6", { ...off, disabled_reason: "manual" });
    },
    act: ({ activity }) => activity.count(),
    check: (answer) =>
      expect(answer).toEqual({
        runs: new Map([
          ["running", 2],
          ["waiting_approval", 1],
          ["queued", 1],
        ]),
        suspects: 1,
        approvals: { count: 2, oldest: NOW + 1, next: NOW + 8 },
        webhooks: { waiting: 7, failing: 2, disabled: 3 },
      }),
  },
  {
    method: "activity.listProcesses",
    title: "lists live processes with what they have told and what they hold",
    async setup(stores) {
      await claimSome(stores);
      await stores.processes.describe(2, {
        ...{ address: "two:8080", pid: 7, version: "1.2.3", schema_number: 41 },
        ...{ settings_hash: "abc", settings_fault: null, key_ids: "k-1", reloads_done: 1 },
      });
      await stores.processes.askReload();
      await stores.processes.drain(2);
    },
    act: ({ activity }) => activity.listProcesses(),
    check: (answer) =>
      expect(answer).toEqual([
        {
          ...{ epoch: 1, started_at: NOW, address: null, pid: null, version: null },
          ...{ schema_number: null, state: null, settings_hash: null, settings_fault: null },
          ...{ key_ids: null, reloads_asked: 1, reloads_done: 0, runs: 1, deliveries: 2 },
        },
        {
          ...{ epoch: 2, started_at: NOW, address: "two:8080", pid: 7, version: "1.2.3" },
          ...{ schema_number: 41, state: "draining", settings_hash: "abc" },
          ...{ settings_fault: null, key_ids: "k-1", reloads_asked: 1, reloads_done: 1 },
          ...{ runs: 0, deliveries: 0 },
        },
      ]),
  },
  {
    method: "activity.countHeld",
    title: "counts the runs and deliveries that a process has claimed",
    setup: claimSome,
    act: async ({ activity }) => [await activity.countHeld(1), await activity.countHeld(2)],
    check: (answer) => expect(answer).toEqual([4, 0]),
  },
  {
    method: "activity.listLeases",
    title: "lists leases with the processes that have them",
    setup: claimSome,
    act: ({ activity }) => activity.listLeases(),
    check: (answer) => expect(answer).toEqual([{ name: "sweeps", epoch: 1 }]),
  },
  {
    method: "activity.countRunsOfKey",
    title: "counts unfinished runs that act for the key",
    async setup(stores) {
      await addAccount(stores);
      await addRuns(stores);
      await start(stores, "r-5", { thread_id: "t-8", started_by_key_id: "k-9" });
    },
    act: ({ activity }) => activity.countRunsOfKey("k-9"),
    check: (answer) => expect(answer).toBe(1),
  },
  {
    method: "activity.countAgents",
    title: "counts no agent in a new database",
    act: ({ activity }) => activity.countAgents(),
    check: (answer) => expect(answer).toEqual(new Map()),
  },
  {
    method: "activity.countAgents",
    title: "counts the agents of each account that are not archived",
    async setup(stores) {
      for (const id of ["g-1", "g-2", "g-3"]) await create(stores, id);
      await create(stores, "g-4", { account_id: "a-2" });
      const archived = { status: "archived" } as const;
      await stores.agents.update("g-2", "a-1", archived, NOW + 7, 100);
    },
    act: ({ activity }) => activity.countAgents(),
    check: (answer) =>
      expect(answer).toEqual(
        new Map([
          ["a-1", 2],
          ["a-2", 1],
        ]),
      ),
  },
];

const OWNER = { id: "a-1", name: "acme", created_at: NOW };
const DELETION = { account_id: "a-1", name: "acme", begun_at: NOW + 5 };
const part = (after = "", limit = 100) => ({ account_id: "a-1", after, limit });
const addAccount = async ({ accounts, keys, models, holds }: Stores) => {
  await accounts.create(OWNER);
  await accounts.create({ ...OWNER, id: "a-2", name: "other" });
  for (const [id, account_id] of [
    ["k-1", "a-1"],
    ["k-2", "a-2"],
  ] as const) {
    const secret = {
      ...{ hash: `hash of ${id}`, key_id: id, created_at: NOW, expires_at: null },
      ends_in: null,
    };
    await keys.create({ ...makeKey(id), account_id }, secret);
    await keys.noteUses([{ key_id: id, last_used_at: NOW }]);
    await models.grant(account_id, "m-1", NOW);
    const hold = { kind: "account", id: account_id, account_id, reason: null, since: NOW } as const;
    await holds.hold(hold);
  }
};
/** Runs of both accounts, each with steps. */
const addRuns = async (stores: Stores) => {
  await startMany(stores, ["r-1", "r-2", "r-3"]);
  await start(stores, "r-4", { account_id: "a-2", thread_id: "t-9" });
  await claimRuns(stores);
  const steps = [makeStep("s-1"), makeStep("s-2")];
  await stores.runs.plan(makeRecord("r-1", { steps }));
};
const addRequests = ({ requestLog }: Stores) =>
  requestLog.add(
    writeEntries([
      makeEntry("e-1"),
      makeEntry("e-2", { account_id: "a-2", key_id: "k-2" }),
      makeEntry("e-3", { at: NOON + 86_400_000 }),
      makeEntry("e-4"),
    ]),
    false,
  );

const deletionCases: Case[] = [
  {
    method: "account_deletions.begin",
    title: "deletes the account with keys, uses, grants and holds, and no other's",
    setup: addAccount,
    act: ({ accountDeletions }) => accountDeletions.begin(DELETION),
    async check(_, { accounts, keys, models, holds, accountDeletions }) {
      expect(await accounts.list()).toMatchObject([{ id: "a-2" }]);
      expect(await keys.list(null)).toMatchObject([{ id: "k-2" }]);
      expect(await keys.find("hash of k-1")).toBeUndefined();
      expect(await keys.findSeen("k-1")).toBeUndefined();
      expect(await keys.findSeen("k-2")).toMatchObject({ last_used_at: NOW });
      expect(await holds.list()).toMatchObject([{ account_id: "a-2" }]);
      await models.see(["m-1"], NOW);
      expect(await models.find("m-1", "a-1")).toMatchObject({ is_granted: false });
      expect(await models.find("m-1", "a-2")).toMatchObject({ is_granted: true });
      expect(await accountDeletions.list()).toEqual([DELETION]);
      // Nothing is known of the old key's use any more.
      const secret = { hash: "another", key_id: "k-1", created_at: NOW, expires_at: null };
      await keys.create({ ...makeKey("k-1"), account_id: "a-2" }, { ...secret, ends_in: null });
      expect(await keys.findSeen("k-1")).toMatchObject({ last_used_at: null });
    },
  },
  {
    method: "account_deletions.begin",
    title: "takes back the reservations of requests under way, which then settle nothing",
    async setup(stores) {
      await addAccount(stores);
      const reserved = { at: NOW, tokens: 100, cost: 0 };
      await stores.budgets.reserve({ id: "r-1", subjects: ["key k-1"], ...reserved });
      await stores.budgets.reserve({ id: "r-2", subjects: ["account a-2"], ...reserved });
    },
    act: ({ accountDeletions }) => accountDeletions.begin(DELETION),
    async check(_, { budgets }) {
      const used = { requests: 1, estimated: 0, tokens: 30, cost: 0 };
      await budgets.settle([{ id: "r-1", ...used }], []);
      expect(await budgets.listReservations()).toMatchObject([{ id: "r-2" }]);
      expect(await budgets.sum("key k-1", QUARTER_MS, 0, NOW * 2)).toMatchObject({ requests: 0 });
    },
  },
  {
    method: "account_deletions.deletePart",
    title: "deletes runs with their steps up to the limit, and goes on",
    setup: addRuns,
    act: ({ accountDeletions }) => accountDeletions.deletePart("runs", part("", 2)),
    async check(answer, { accountDeletions, runs }) {
      expect(answer).toEqual({ rows: 2, next: "" });
      // A run stays until its last step is gone, so that no step is left behind.
      expect(await runs.find("r-1", null)).toBeDefined();
      expect(await accountDeletions.deletePart("runs", part("", 2))).toMatchObject({ rows: 2 });
      expect(await accountDeletions.deletePart("runs", part())).toEqual({ rows: 1, next: null });
      for (const id of ["r-1", "r-2", "r-3"]) expect(await runs.find(id, null)).toBeUndefined();
      expect(await runs.listSteps("r-1", 0, 10)).toEqual([]);
      expect(await runs.find("r-4", null)).toBeDefined();
    },
  },
  {
    method: "account_deletions.deletePart",
    title: "deletes threads with their messages and summaries, and no other account's",
    async setup(stores) {
      await startMany(stores, ["r-1"]);
      await start(stores, "r-4", { account_id: "a-2", thread_id: "t-9" });
      await claimRuns(stores);
      await stores.runs.claim(1, [{ account_id: "a-2", runsMax: 1 }], NOW);
      const summary = { through_seq: 0, content: "what was said" };
      for (const id of ["r-1", "r-4"]) await stores.runs.note(makeRecord(id, { summary }));
    },
    act: ({ accountDeletions }) => accountDeletions.deletePart("threads", part()),
    async check(answer, { runs }) {
      expect(answer).toEqual({ rows: 2, next: null });
      const read = async (id: string) => runs.load((await runs.find(id, null))!);
      expect(await read("r-1")).toMatchObject({ messages: [], summary: null });
      const kept = { messages: [{ thread_id: "t-9" }], summary: "what was said" };
      expect(await read("r-4")).toMatchObject(kept);
    },
  },
  {
    method: "account_deletions.deletePart",
    title: "deletes agents with their notes and versions, and no other account's",
    async setup(stores) {
      await create(stores, "g-1");
      await create(stores, "g-2", { account_id: "a-2" });
      for (const [agent_id, key] of [
        ["g-1", "camels"],
        ["g-1", "dunes"],
        ["g-2", "wells"],
      ] as const) {
        await stores.noted.apply(agent_id, { set: { key, content: "x" } }, false, NOW);
      }
    },
    act: ({ accountDeletions }) => accountDeletions.deletePart("agents", part("", 2)),
    async check(answer, { accountDeletions, agents, notes }) {
      expect(answer).toEqual({ rows: 2, next: "" });
      const rest = await accountDeletions.deletePart("agents", part());
      expect(rest).toEqual({ rows: 2, next: null });
      expect(await agents.find("g-1", "a-1")).toBeUndefined();
      expect(await notes.list("g-1")).toEqual([]);
      expect(await agents.find("g-2", "a-2")).toBeDefined();
      expect(await notes.list("g-2")).toMatchObject([{ key: "wells" }]);
    },
  },
  {
    method: "account_deletions.deletePart",
    title: "goes on until no MCP server and no tool of the account is left, and keeps others",
    async setup({ mcpServers }) {
      const own = { isAccepted: true };
      const add = (name: string, account_id: string) => {
        const reading = read(define(`${name}_a`), define(`${name}_b`));
        return mcpServers.create(makeServer(name, { account_id }), reading, take(own));
      };
      for (const name of ["one", "two", "three"]) await add(name, "a-1");
      await add("other", "a-2");
    },
    async act({ accountDeletions }) {
      const answers: [string, number, string | null][] = [];
      for (const what of ["mcp servers", "tools"] as const) {
        for (let next: string | null = ""; next !== null; ) {
          const deleted = await accountDeletions.deletePart(what, part(next, 2));
          answers.push([what, deleted.rows, deleted.next]);
          next = deleted.next;
        }
      }
      return answers;
    },
    async check(answer, { mcpServers, tools }) {
      expect(await mcpServers.list("a-1")).toEqual([]);
      expect(await mcpServers.list("a-2")).toMatchObject([{ name: "other" }]);
      expect(await tools.list("a-1", null, 10)).toEqual([]);
      expect(await tools.list("a-2", null, 10)).toHaveLength(2);
      const of = (kind: string) => (answer as [string, number][]).filter(([what]) => what === kind);
      const sum = (kind: string) => of(kind).reduce((rows, [, more]) => rows + more, 0);
      // Six tools with a revision each.
      expect([sum("mcp servers"), sum("tools")]).toEqual([3, 12]);
    },
  },
  {
    method: "account_deletions.deletePart",
    title: "goes on with the sums of runs where the limit ends with a table",
    async setup(stores) {
      for (const key of ["k-1", "k-2", "k-3"]) {
        await start(stores, `r of ${key}`, {}, { idempotency: { key, body_hash: "h" } });
      }
      await start(stores, "r-4", { account_id: "a-2" });
    },
    act: ({ accountDeletions }) => accountDeletions.deletePart("sums of runs", part("", 3)),
    async check(answer, { accountDeletions, ran }) {
      expect(answer).toEqual({ rows: 3, next: "" });
      const rest = await accountDeletions.deletePart("sums of runs", part());
      expect(rest).toEqual({ rows: 1, next: null });
      expect(await ran.counts()).toMatchObject([{ account_id: "a-2" }]);
    },
  },
  {
    method: "account_deletions.deletePart",
    title: "walks the request log, which has no index of accounts",
    setup: addRequests,
    act: ({ accountDeletions }) => accountDeletions.deletePart("requests", part("", 2)),
    async check(answer, { accountDeletions, written }) {
      expect(answer).toEqual({ rows: 1, next: "e-2" });
      const rest = await accountDeletions.deletePart("requests", part("e-2", 3));
      expect(rest).toEqual({ rows: 2, next: null });
      expect(await written.entries()).toMatchObject([{ id: "e-2" }]);
    },
  },
  {
    method: "account_deletions.deletePart",
    title: "deletes the sums of requests day by day",
    setup: addRequests,
    act: ({ accountDeletions }) => accountDeletions.deletePart("sums of requests", part()),
    async check(answer, { accountDeletions, written }) {
      const rows = [];
      for (let { next } = answer as DeletedPart; next !== null; ) {
        const deleted = await accountDeletions.deletePart("sums of requests", part(next));
        rows.push(deleted.rows);
        next = deleted.next;
      }
      expect([(answer as DeletedPart).rows, ...rows]).toEqual([1, 1, 0]);
      expect(await written.sums()).toMatchObject([{ account_id: "a-2" }]);
    },
  },
  {
    method: "account_deletions.deletePart",
    title: "finds nothing of any kind in an empty database",
    act: async ({ accountDeletions }) => {
      const parts = ACCOUNT_PARTS.map((what) => accountDeletions.deletePart(what, part()));
      return Promise.all(parts);
    },
    check: (answer) => expect(answer).toEqual(ACCOUNT_PARTS.map(() => ({ rows: 0, next: null }))),
  },
  {
    method: "account_deletions.end",
    title: "forgets the deletion and the account's counters",
    async setup(stores) {
      await addRuns(stores);
      await stores.accountDeletions.begin(DELETION);
    },
    act: ({ accountDeletions }) => accountDeletions.end("a-1"),
    async check(_, { accountDeletions, storage }) {
      expect(await accountDeletions.list()).toEqual([]);
      expect(await storage.find("a-1")).toBe(0);
      expect(await storage.find("a-2")).toBeGreaterThan(0);
    },
  },
  {
    method: "account_deletions.list",
    title: "lists nothing before a deletion",
    act: ({ accountDeletions }) => accountDeletions.list(),
    check: (answer) => expect(answer).toEqual([]),
  },
  {
    method: "account_deletions.count",
    title: "counts what one account has",
    async setup(stores) {
      await addAccount(stores);
      await addRuns(stores);
      await addRequests(stores);
    },
    act: ({ accountDeletions }) => accountDeletions.count("a-1"),
    check: (answer) =>
      expect(answer).toEqual({
        ...{ keys: 1, agents: 0, threads: 3, runs: 3, "unfinished runs": 3, approvals: 0 },
        "mcp servers": 0,
        ...{ tools: 0, connections: 0, triggers: 0, endpoints: 0, deliveries: 0, requests: 3 },
      }),
  },
];

export const inventoryCases: Case[] = [...activityCases, ...deletionCases];
