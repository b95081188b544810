// The request log: a row for each request of the gateway, and daily sums, which outlive the rows.
import type { Migration } from "./migration.ts";

export const requestLog: Migration = {
  number: 4,
  name: "ledger",
  statements: ({ integer, text, strict }) => [
    // Usage outlives accounts and keys, so the table references neither.
    `CREATE TABLE ledger (
      id ${text} PRIMARY KEY,
      request_id ${text} NOT NULL,
      at ${integer} NOT NULL,
      account_id ${text},
      key_id ${text} NOT NULL,
      route ${text} NOT NULL,
      model ${text},
      status ${integer} NOT NULL,
      code ${text},
      is_stream ${integer} NOT NULL,
      prompt_tokens ${integer},
      completion_tokens ${integer},
      usage_estimated ${integer} NOT NULL,
      cost ${integer},
      attempts ${integer},
      waited_ms ${integer},
      first_token_ms ${integer},
      duration_ms ${integer} NOT NULL,
      request_bytes ${integer} NOT NULL,
      reply_bytes ${integer} NOT NULL,
      trace_id ${text}
    )${strict}`,
    "CREATE INDEX ledger_by_at ON ledger (at)",
    // Empty texts stand for no account and no model: nulls are all different in a key.
    `CREATE TABLE ledger_days (
      day ${text} NOT NULL,
      account_id ${text} NOT NULL,
      key_id ${text} NOT NULL,
      model ${text} NOT NULL,
      route ${text} NOT NULL,
      requests ${integer} NOT NULL,
      failed ${integer} NOT NULL,
      prompt_tokens ${integer} NOT NULL,
      completion_tokens ${integer} NOT NULL,
      cost ${integer},
      unpriced ${integer} NOT NULL,
      PRIMARY KEY (day, account_id, key_id, model, route)
    )${strict}`,
  ],
};
