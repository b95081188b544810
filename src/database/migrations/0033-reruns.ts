// Runs that repeat another one from its record, and evaluations, which repeat many.
import type { Migration } from "./migration.ts";

export const reruns: Migration = {
  number: 33,
  name: "reruns",
  kind: "expansion",
  statements: ({ integer, text, strict, clustered }) => [
    `ALTER TABLE runs ADD COLUMN rerun_of ${text}`,
    `ALTER TABLE runs ADD COLUMN rerun_tools ${text}`,
    `ALTER TABLE runs ADD COLUMN rerun_from_round ${integer}`,
    `CREATE TABLE evaluations (
      id ${text} PRIMARY KEY,
      account_id ${text} NOT NULL,
      agent_id ${text} NOT NULL,
      version ${integer} NOT NULL,
      tools ${text} NOT NULL,
      status ${text} NOT NULL,
      checks ${text} NOT NULL,
      total ${integer} NOT NULL,
      started_by_key_id ${text} NOT NULL,
      started_by_operator ${text},
      stored_bytes ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      finished_at ${integer}
    )${strict}`,
    "CREATE INDEX evaluations_by_account ON evaluations (account_id, created_at, id)",
    "CREATE INDEX evaluations_running ON evaluations (id) WHERE finished_at IS NULL",
    `CREATE TABLE evaluated_runs (
      evaluation_id ${text} NOT NULL,
      position ${integer} NOT NULL,
      run_id ${text} NOT NULL,
      rerun_id ${text},
      assessment ${text},
      PRIMARY KEY (evaluation_id, position)
    )${clustered}`,
  ],
};
