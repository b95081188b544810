// Engines on a database in memory, a manual clock and a scripted model, observed inside the process.

import { Type } from "@sinclair/typebox";
import { holdStore } from "../../../src/access/holds/store.ts";
import type { Caller } from "../../../src/access/index.ts";
import { ApprovalExpiry } from "../../../src/agents/approvals/expiry.ts";
import { approvalStore } from "../../../src/agents/approvals/store.ts";
import {
  DEFAULT_BUDGETS,
  DEFAULT_POLICY,
  type VersionRow,
} from "../../../src/agents/definitions/version.ts";
import type { AgentsDeps } from "../../../src/agents/deps.ts";
import { noteStore } from "../../../src/agents/notes/store.ts";
import { RunEngine } from "../../../src/agents/runs/engine.ts";
import type { Prices, RunRow } from "../../../src/agents/runs/run.ts";
import { type RunStore, runStore } from "../../../src/agents/runs/store/index.ts";
import type { PreparedRun } from "../../../src/agents/runs/store/start.ts";
import { FINAL } from "../../../src/agents/runs/transitions.ts";
import { createBuiltins, createCatalog } from "../../../src/agents/tools/catalog.ts";
import type { BuiltinTool } from "../../../src/agents/tools/contract.ts";
import { UNWATCHED } from "../../../src/cluster/index.ts";
import { Process } from "../../../src/cluster/process.ts";
import { processStore } from "../../../src/cluster/store.ts";
import {
  type Bound,
  type Database,
  type DatabaseLocation,
  openDatabase,
  sql,
  store,
} from "../../../src/database/index.ts";
import type {
  InternalChatError,
  InternalChatRequest,
  InternalCompletion,
} from "../../../src/gateway/index.ts";
import { GuardedEgress } from "../../../src/net/index.ts";
import { outboxStore } from "../../../src/outbox/store.ts";
import type { ErrorCode } from "../../../src/platform/errors.ts";
import { joinServices } from "../../../src/platform/service.ts";
import { stores } from "../../../src/stores.ts";
import { createManualClock, type ManualClock } from "../../support/clock.ts";
import { inlineCompute } from "../../support/compute.ts";
import { createSeededIds } from "../../support/ids.ts";
import { placeInMemory } from "../../support/memory.ts";
import { keepTime } from "../../support/process-clock.ts";
import { openTestSecrets } from "../../support/secrets.ts";
import { readThreads } from "../../support/thread-reader.ts";

export type Reply = InternalCompletion | InternalChatError;
/** The model's reply to its nth request; `turn` counts from 0. */
export type Model = (
  ask: InternalChatRequest,
  signal: AbortSignal,
  turn: number,
) => Reply | Promise<Reply>;

export const KEY_ID = "k-1";
const ACCOUNT = "a-1";
const Name = Type.Object({ name: Type.String() });
/** Writes of other processes to keys and tools. */
const others = store(
  "others",
  {
    listOff: async (db) => {
      const rows = await db.all(Name, sql`SELECT name FROM tools WHERE status = 'disabled'`);
      return new Set(rows.map(({ name }) => name));
    },
  },
  {
    end: async (tx, key_id: string) => tx.tell("key", key_id),
    switch: (tx, name: string, status: "enabled" | "disabled") =>
      tx.run(
        sql`INSERT INTO tools (account_id, name, status, revision, created_at)
            VALUES (${ACCOUNT}, ${name}, ${status}, 1, 0)
            ON CONFLICT (account_id, name) DO UPDATE SET status = excluded.status`,
      ),
  },
);

const PRICES: Prices = {
  currency: "SAR",
  models: { "stub-1": { prompt: "1.000000", completion: "2.000000" } },
  tools: {
    ...{ calculator: "0.000000", current_time: "0.000000", read_output: "0.000000" },
    ...{ pay: "0.250000", look: "0.000000", write: "0.010000", keyed: "0.100000" },
  },
};

export const answer = (fields: Partial<InternalCompletion> = {}): InternalCompletion => ({
  ...{ ok: true, model: "stub-1", content: null, tool_calls: [], finish_reason: "stop" },
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  ...{ usage_estimated: false, duration_ms: 1 },
  ...fields,
});
export const say = (content: string, fields: Partial<InternalCompletion> = {}) =>
  answer({ content, ...fields });
/** A model that gives these replies in turn, then "done". */
export const script =
  (...replies: Reply[]): Model =>
  (_ask, _signal, turn) =>
    replies[turn] ?? say("done");
export type CallRequest = readonly [name: string, args: string | object];
export const call = (...calls: CallRequest[]) =>
  answer({
    finish_reason: "tool_calls",
    tool_calls: calls.map(([name, args], index) => ({
      ...{ id: `theirs-${index}`, type: "function" },
      function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
    })),
  });
export const add = (expression = "1+1"): CallRequest => ["calculator", { expression }];
export const failing = (
  code: ErrorCode,
  fields: Partial<InternalChatError> = {},
): InternalChatError => ({
  ...{ ok: false, code, reason: `it fails with ${code}` },
  ...fields,
});
/** A model that never replies; its request ends by abort. */
export const untilAborted = (signal: AbortSignal) =>
  new Promise<Reply>((resolve) => {
    const leave = () => resolve(failing("upstream_error"));
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave);
  });

export interface TrialOptions {
  database?: Database;
  /** Of a new database; by default in memory, and empty. */
  place?: DatabaseLocation;
  clock?: ManualClock;
  version?: Partial<VersionRow>;
  tools?: readonly BuiltinTool[];
  /** Whether other processes may use the database, so that this one is not exclusive. */
  isShared?: boolean;
  concurrent_runs?: number;
  /** null if unknown. */
  context_window?: number | null;
  /** Of the model. */
  capabilities?: readonly string[];
  seed?: number;
  /** Egress for tools; by default every request fails. */
  egress?: AgentsDeps["egress"];
  /** Observer of the engine's runs. */
  activity?: AgentsDeps["activity"];
  countCall?: AgentsDeps["countCall"];
  /** Wraps the store, to simulate a failing database or a process that is cut off. */
  wrap?(store: RunStore): RunStore;
  /** Wraps the store of processes. */
  wrapProcesses?(store: ProcessStore): ProcessStore;
}
export type ProcessStore = Bound<typeof processStore>;
export type Trial = Awaited<ReturnType<typeof openTrial>>;

export async function openTrial(model: Model, options: TrialOptions = {}) {
  const clock = options.clock ?? createManualClock();
  const ids = createSeededIds(options.seed ?? 1);
  const place = options.place ?? (await placeInMemory());
  const onFailure = (failure: unknown) => {
    throw failure;
  };
  const database =
    options.database ??
    (await openDatabase({ place, stores: [...stores, others], clock, onFailure }));
  const bound = database.bind(runStore);
  const outside = database.bind(others);
  const version = makeVersion(options.version);
  const wrapped = options.wrap?.(bound) ?? bound;
  const processes = keepTime(database.bind(processStore), clock);
  const callers = new Map<string, Caller>();
  const lines: { message: string; error?: unknown }[] = [];
  const limits = { concurrent_runs: options.concurrent_runs ?? 100 };
  const { context_window = 100_000 } = options;
  const asks: InternalChatRequest[] = [];
  const log = {
    info() {},
    warn() {},
    error: (message: string, fields: object) => void lines.push({ message, ...fields }),
  } as never;
  const { isShared = false } = options;
  const listeners = new Map<symbol, Parameters<Database["listen"]>[1]>();
  let isDeaf = false;
  const seen: Database = {
    ...database,
    ...{ isShared, engine: isShared ? "postgres" : "memory" },
    listen(channel, run) {
      const name = Symbol(channel);
      listeners.set(name, run);
      const stop = database.listen(channel, (...news) => isDeaf || run(...news));
      return () => {
        listeners.delete(name);
        stop();
      };
    },
  };
  const process = new Process({
    database: { ...seen, bind: () => (options.wrapProcesses?.(processes) ?? processes) as never },
    ...{ clock, log },
    onFatal(why) {
      throw why;
    },
  });
  const deps: AgentsDeps = {
    ...{ database: seen, process, compute: inlineCompute, log, disk: { require() {} } },
    secrets: openTestSecrets(database, clock),
    access: { findCaller: async (key_id) => callers.get(key_id) },
    internal: {
      chat: {
        find: () => ({ id: "stub-1", context_window, capabilities: options.capabilities ?? [] }),
        ask: async (_who: unknown, ask: InternalChatRequest, signal: AbortSignal) => {
          asks.push(structuredClone(ask));
          return model(ask, signal, asks.length - 1);
        },
      },
      search: {
        ask: async () => ({
          ok: true,
          results: [{ title: "Found", url: "https://found.example.com", snippet: "Text" }],
        }),
      },
    } as never,
    egress:
      options.egress ?? new GuardedEgress({ clock, allow: () => [], resolve: async () => [] }),
    ...{ clock, ids, alias: "wadi", activity: options.activity ?? UNWATCHED },
    ...(options.countCall ? { countCall: options.countCall } : {}),
    settings: () => ({ limits }) as never,
  };
  const notes = database.bind(noteStore);
  const builtins = createBuiltins({ ...deps, search: deps.internal.search, notes });
  const catalog = createCatalog(builtins);
  const own = new Map((options.tools ?? []).map((tool) => [tool.name, tool]));
  const runner = new RunEngine({
    deps,
    store: wrapped,
    findVersion: async () => version,
    async openToolset() {
      let off = await outside.listOff();
      return {
        find: (name) => (off.has(name) ? undefined : (own.get(name) ?? catalog.find(name))),
        async refresh() {
          off = await outside.listOff();
        },
      };
    },
  });
  // Like the app: a process starts before its engine, and ends after it.
  const engine = {
    ...joinServices([process, runner]),
    drain: () => runner.drain(),
    get executing() {
      return runner.executing;
    },
  };
  const expiry = new ApprovalExpiry(deps, bound);
  allow(callers);

  const find = async (id: string) => (await bound.find(id, null))!;
  /** Many turns, since a tool may compute in another thread. */
  const until = async <T>(look: () => Promise<T | false | undefined | null>): Promise<T> => {
    for (let turns = 0; turns < 100_000; turns++) {
      const found = await look();
      if (found) return found;
      await clock.advance(0);
    }
    throw new Error("what was waited for did not come");
  };
  let started = 0;
  /** Also ends when a call hangs, for which a stop waits a while. */
  const stop = async () => {
    await expiry.stop(0);
    const stopped = engine.stop(0);
    await clock.advance(2_000);
    await stopped;
  };
  return {
    ...{
      engine,
      clock,
      ids,
      database,
      store: bound,
      processes,
      approvals: database.bind(approvalStore),
      expiry,
      callers,
      asks,
      lines,
      limits,
      version,
      find,
      until,
    },
    outbox: database.bind(outboxStore),
    holds: database.bind(holdStore),
    /** Ends the key, and notifies by a commit. */
    async endKey(key_id = KEY_ID) {
      callers.delete(key_id);
      await outside.end(key_id);
    },
    /** Channels that are listened to. */
    listened: () => [...listeners.keys()].map((name) => name.description),
    /** Loses what happens during the work, and tells only that something was lost. */
    async lose(work: () => Promise<unknown>) {
      isDeaf = true;
      await work();
      isDeaf = false;
      for (const run of [...listeners.values()]) run(null, false);
    },
    /** Switches a tool like its owner, in any process. */
    switchTool: outside.switch,
    allow: (fields: Partial<Caller> = {}) => allow(callers, fields),
    /** Starts a run, and returns its id. */
    async run(
      message = "Go on.",
      fields: Partial<RunRow> = {},
      thread_id: string | null = null,
      images: PreparedRun["images"] = [],
    ) {
      const id = fields.id ?? `r-${++started}-${options.seed ?? 1}`;
      const run = makeRun(id, { input: { message }, budgets: version.budgets, ...fields });
      run.created_at = clock.now();
      if (thread_id !== null) run.thread_id = thread_id;
      await bound.start({
        images,
        ...{ run, thread_id, message_id: `m-${id}`, hook_message_id: `h-${id}`, idempotency: null },
        history: null,
        limits: { active_runs: 1_000_000, daily_runs: 1_000_000, stored_bytes: 1e12 },
      });
      return id;
    },
    ended: (id: string) =>
      until(async () => {
        const row = await find(id);
        return FINAL.has(row.status) && row;
      }),
    reaches: (id: string, status: RunRow["status"]) =>
      until(async () => (await find(id)).status === status),
    steps: (id: string) => bound.listSteps(id, 0, null),
    messages: (thread_id: string) => readThreads(database).messages(thread_id),
    cancel: (id: string) =>
      bound.cancel(id, null, Array.from({ length: 100 }, ids.uuid), clock.now()),
    stop,
    async close() {
      await stop();
      await database.close();
    },
  };
}

function allow(callers: Map<string, Caller>, fields: Partial<Caller> = {}): void {
  const caller: Caller = {
    ...{ key_id: KEY_ID, account_id: ACCOUNT, kind: "ordinary", models: null },
    ...{ scopes: ["agents", "search"], max_output_tokens: null },
    ...fields,
  };
  callers.set(caller.key_id, caller);
}

function makeVersion(fields: Partial<VersionRow> = {}): VersionRow {
  const tools = fields.tools ?? ["calculator", "current_time", "read_output", "web_search"];
  return {
    ...{ agent_id: "g-1", version: 1, system_prompt: "You help.", model: "wadi", tools },
    tool_revisions: tools.map((name) => ({ name, revision: 1, kind: "builtin", risk: "read" })),
    ...{ policy: DEFAULT_POLICY, budgets: DEFAULT_BUDGETS },
    model_params: { temperature: null, top_p: null, max_tokens: null, reasoning: false },
    ...{ created_at: 0, created_by_key_id: null },
    ...fields,
  } as VersionRow;
}

export function makeRun(id: string, fields: Partial<RunRow> = {}): RunRow {
  return {
    ...{ id, agent_id: "g-1", version: 1, thread_id: `t-${id}`, status: "queued" },
    ...{ cancel_requested: false, trigger_kind: "manual", trigger_id: null, fire_id: null },
    ...{ input: { message: "Go on." }, output: null, error: null, external_content: false },
    cost: { model: 0, tools: 0, total: 0, prices: PRICES },
    usage: {
      ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, rounds: 0, tool_calls: 0 },
    },
    ...{ pending_approvals: [], metadata: {}, started_by_key_id: KEY_ID, recoveries: 0 },
    fired_by_key_id: null,
    started_by_operator: null,
    ...{ created_at: 0, started_at: null, finished_at: null, account_id: ACCOUNT, number: 0 },
    ...{ epoch: 0, last_seq: 0, message_seq: 0, model: "stub-1", budgets: DEFAULT_BUDGETS },
    ...{ priced: 0, worked_ms: 0, crashes: 0 },
    ...{ rerun_of: null, rerun_tools: null, rerun_from_round: null },
    ...fields,
  };
}
