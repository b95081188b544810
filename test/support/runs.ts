// Starts runs in tests, and reads their rows.
import { Type } from "@sinclair/typebox";
import { ApprovalRow } from "../../src/agents/approvals/approval.ts";
import { DEFAULT_BUDGETS } from "../../src/agents/definitions/version.ts";
import type { RunRow } from "../../src/agents/runs/run.ts";
import type { NewStep } from "../../src/agents/runs/step.ts";
import type { Progress, RunRecord } from "../../src/agents/runs/store/record.ts";
import type { PreparedRun, StartLimits } from "../../src/agents/runs/store/start.ts";
import { MessageRow, type NewMessage, ThreadRow } from "../../src/agents/threads/thread.ts";
import { type Database, sql, store } from "../../src/database/index.ts";
import { maybe } from "../../src/platform/schema.ts";

const Counts = Type.Object({
  account_id: Type.String(),
  started: Type.Integer(),
  active: Type.Integer(),
});
const Day = Type.Object({
  account_id: Type.String(),
  day: Type.String(),
  agent_id: Type.String(),
  runs: Type.Integer(),
  succeeded: Type.Integer(),
  failed: Type.Integer(),
  budget_exceeded: Type.Integer(),
  cancelled: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  tool_calls: Type.Integer(),
  cost_sar: maybe(Type.Integer()),
  unpriced_runs: Type.Integer(),
});

const reader = store(
  "run-reader",
  {
    counts: (db) =>
      db.all(Counts, sql`SELECT account_id, started, active FROM run_counts ORDER BY account_id`),
    days: (db) => db.all(Day, sql`SELECT * FROM run_days ORDER BY account_id, day, agent_id`),
    threads: (db) => db.all(ThreadRow, sql`SELECT * FROM threads ORDER BY id`),
    messages: (db, thread_id: string) =>
      db.all(MessageRow, sql`SELECT * FROM messages WHERE thread_id = ${thread_id} ORDER BY seq`),
    approvals: (db) => db.all(ApprovalRow, sql`SELECT * FROM approvals ORDER BY id`),
  },
  {},
);

export const readRuns = (database: Database) => database.bind(reader);

export const BEGIN = Date.UTC(2026, 10, 20);

export const FREE: StartLimits = {
  active_runs: 1_000,
  daily_runs: 1_000,
  stored_bytes: 1e9,
};

export function makeRun(id: string, fields: Partial<RunRow> = {}): RunRow {
  return {
    ...{ id, agent_id: "g-1", version: 1, thread_id: `thread of ${id}`, status: "queued" },
    ...{ cancel_requested: false, trigger_kind: "manual", trigger_id: null, fire_id: null },
    ...{ input: { message: `question of ${id}` }, output: null, error: null },
    cost: { model: 0, tools: 0, total: 0, prices: { currency: "SAR", models: {}, tools: {} } },
    usage: makeUsage(0),
    ...{ external_content: false, pending_approvals: [], metadata: {}, started_by_key_id: "k-1" },
    fired_by_key_id: null,
    started_by_operator: null,
    ...{ recoveries: 0, created_at: BEGIN, started_at: null, finished_at: null },
    ...{ account_id: "a-1", number: 0, epoch: 0, last_seq: 0, message_seq: 0, model: "stub-1" },
    ...{ rerun_of: null, rerun_tools: null, rerun_from_round: null },
    ...{ budgets: DEFAULT_BUDGETS, priced: 0, worked_ms: 0, crashes: 0 },
    ...fields,
  };
}

/** This many rounds, each with ten prompt tokens, five completion tokens and one call. */
const makeUsage = (rounds: number): RunRow["usage"] => ({
  prompt_tokens: 10 * rounds,
  completion_tokens: 5 * rounds,
  total_tokens: 15 * rounds,
  rounds,
  tool_calls: rounds,
});

export function makePreparedRun(
  id: string,
  fields: Partial<RunRow> = {},
  more: Partial<PreparedRun> = {},
): PreparedRun {
  const run = makeRun(id, fields);
  return {
    ...{
      run,
      thread_id: null,
      message_id: `message of ${id}`,
      hook_message_id: null,
      history: null,
      limits: FREE,
      idempotency: null,
    },
    ...more,
  };
}

export const makeProgress = (rounds: number, fields: Partial<Progress> = {}): Progress => ({
  cost: { model: 10 * rounds, tools: 0, total: 10 * rounds },
  usage: makeUsage(rounds),
  ...{ priced: 10 * rounds, worked_ms: rounds, output: null, external_content: false },
  ...fields,
});

export const makeStep = (id: string, message = `step ${id}`): NewStep => ({
  ...{ id, round: 1, kind: "system" },
  data: { event: "compacted", message },
});

export const makeMessage = (id: string, fields: Partial<NewMessage> = {}): NewMessage => ({
  ...{ id, role: "assistant", content: `answer ${id}`, tool_calls: null, tool_call_id: null },
  external: false,
  ...fields,
});

export const makeRecord = (run_id: string, fields: Partial<RunRecord> = {}): RunRecord => ({
  ...{ run_id, epoch: 1, at: BEGIN + 10, progress: makeProgress(1) },
  ...{ steps: [], messages: [], outputs: [], effects: [], summary: null },
  ...fields,
});

export const makeApproval = (id: string, run_id: string): ApprovalRow => ({
  ...{ id, run_id, agent_id: "g-1", thread_id: `thread of ${run_id}`, tool_call_id: `call-${id}` },
  ...{ tool: "pay", revision: 1, risk: "irreversible", arguments: { sum: 5 } },
  ...{ arguments_sha256: "0".repeat(64), why: ["irreversible"], external_sources: [] },
  ...{ status: "pending", reason: null, decided_by: null, requested_at: BEGIN + 10 },
  ...{ expires_at: BEGIN + 1_000, decided_at: null, account_id: "a-1" },
});
