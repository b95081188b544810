// Columns for the decisions on a request: scope, model asked for, output budget, replica, reason.
import type { Migration } from "./migration.ts";

export const requestDecisions: Migration = {
  number: 14,
  name: "request decisions",
  statements: ({ integer, text }) => [
    ...[
      `run_id ${text}`,
      `scope ${text}`,
      `model_asked ${text}`,
      `max_tokens_asked ${integer}`,
      `max_tokens ${integer}`,
      `max_tokens_by ${text}`,
      `replica ${text}`,
      `upstream_status ${integer}`,
      `finish_reason ${text}`,
      `param ${text}`,
      `reason ${text}`,
    ].map((column) => `ALTER TABLE ledger ADD COLUMN ${column}`),
    "CREATE INDEX ledger_by_request ON ledger (request_id)",
  ],
};
