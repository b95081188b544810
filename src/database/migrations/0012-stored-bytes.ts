// Stored bytes of accounts: counters in parts, and the bytes that each row was counted with.
import type { Migration } from "./migration.ts";

export const storedBytes: Migration = {
  number: 12,
  name: "stored bytes",
  statements: ({ integer, text, clustered }) => [
    `CREATE TABLE stored_bytes (
      account_id ${text} NOT NULL,
      part ${text} NOT NULL,
      bytes ${integer} NOT NULL,
      PRIMARY KEY (account_id, part)
    )${clustered}`,
    // 0: a row of an earlier release, which no counter holds.
    ...["runs", "outbox", "deliveries"].map(
      (table) => `ALTER TABLE ${table} ADD COLUMN stored_bytes ${integer} NOT NULL DEFAULT 0`,
    ),
    // Written by the run's process alone, and added to the account's counter now and then.
    `ALTER TABLE runs ADD COLUMN unsettled_bytes ${integer} NOT NULL DEFAULT 0`,
    "CREATE INDEX agents_active ON agents (account_id) WHERE status = 'active'",
  ],
};
