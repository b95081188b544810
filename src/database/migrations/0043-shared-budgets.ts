// Budgets that several processes decide in the database, in turn for each account and key.
import type { Migration } from "./migration.ts";

export const sharedBudgets: Migration = {
  number: 43,
  name: "shared budgets",
  kind: "expansion",
  statements: ({ integer, text, clustered }) => [
    // 0: reserved by a process that was alone.
    `ALTER TABLE budget_reservations ADD COLUMN epoch ${integer} NOT NULL DEFAULT 0`,
    // Found again from what is used and reserved, wherever it is empty.
    `CREATE TABLE budget_roots (
      subject ${text} PRIMARY KEY,
      uses ${text} NOT NULL
    )${clustered}`,
  ],
};
