// Reads the request log's rows and sums in tests, and creates entries.
import { Type } from "@sinclair/typebox";
import { type Database, sql, store } from "../../src/database/index.ts";
import { LogEntry } from "../../src/gateway/request-log/entry.ts";
import { SlotSum } from "../../src/gateway/request-log/store/usage-sums.ts";

const reader = store(
  "ledger-reader",
  {
    entries: (db) => db.all(LogEntry, sql`SELECT * FROM ledger ORDER BY id`),
    sums: (db) =>
      db.all(
        SlotSum,
        sql`SELECT * FROM usage_sums ORDER BY slot, account_id, key_id, model, agent_id`,
      ),
    count: (db) => db.one(Count, sql`SELECT COUNT(*) AS count FROM ledger`),
  },
  {},
);
const Count = Type.Object({ count: Type.Integer() });

export const readRequestLog = (database: Database) => database.bind(reader);

export const NOON = Date.UTC(2026, 10, 20, 12);

export function makeEntry(id: string, fields: Partial<LogEntry> = {}): LogEntry {
  return {
    id,
    request_id: `request of ${id}`,
    at: NOON,
    account_id: "a-1",
    key_id: "k-1",
    sent_by_operator: null,
    route: "chat",
    ...{ run_id: null, agent_id: null, agent_version: null },
    scope: null,
    model_asked: "stub-1",
    model: "stub-1",
    max_tokens_asked: null,
    max_tokens: 512,
    max_tokens_by: "default",
    replica: "10.0.0.5:8000",
    upstream_status: null,
    status: 201,
    code: null,
    param: null,
    reason: null,
    finish_reason: "stop",
    is_stream: false,
    prompt_tokens: 10,
    completion_tokens: 5,
    usage_estimated: false,
    cost: 20,
    attempts: 1,
    waited_ms: 0,
    in_flight: null,
    in_flight_max: null,
    first_token_ms: null,
    duration_ms: 12,
    gateway_us: null,
    request_bytes: 100,
    reply_bytes: 300,
    trace_id: null,
    ...fields,
  };
}

/** The sum of one entry of `makeEntry`. */
export function makeSum(slot: number, fields: Partial<SlotSum> = {}): SlotSum {
  return {
    slot,
    ...{ account_id: "a-1", key_id: "k-1", model: "stub-1", route: "chat" },
    ...{ agent_id: "", agent_version: 0 },
    ...{ requests: 1, failed: 0, callers_left: 0, prompt_tokens: 10, completion_tokens: 5 },
    ...{ estimated: 0, estimated_prompt_tokens: 0, estimated_completion_tokens: 0 },
    ...{ cost: 20, estimated_cost: 0, unpriced: 0, unpriced_estimated: 0 },
    ...fields,
  };
}

export const REFUSED: Partial<LogEntry> = {
  account_id: null,
  key_id: "k-2",
  model: null,
  status: 400,
  code: "invalid_request",
  model_asked: null,
  max_tokens: null,
  max_tokens_by: null,
  replica: null,
  param: "messages",
  reason: "`messages` is required.",
  finish_reason: null,
  prompt_tokens: null,
  completion_tokens: null,
  cost: null,
  attempts: null,
  waited_ms: null,
};
