// Budgets: limits of accounts and keys, what is reserved and used of them, and announced limits.
import type { Migration } from "./migration.ts";

export const budgets: Migration = {
  number: 15,
  name: "budgets",
  statements: ({ integer, text, strict, clustered }) => [
    // In the rows that each request reads: without limits nothing else is looked up.
    `ALTER TABLE accounts ADD COLUMN limits ${text}`,
    `ALTER TABLE keys ADD COLUMN limits ${text}`,
    // Requests under way; a row of a dead process is charged in full.
    `CREATE TABLE budget_reservations (
      id ${text} PRIMARY KEY,
      at ${integer} NOT NULL,
      subjects ${text} NOT NULL,
      tokens ${integer} NOT NULL,
      cost ${integer} NOT NULL
    )${strict}`,
    // Sums of minutes and of quarters of an hour: the days of every zone consist of quarters.
    `CREATE TABLE budget_use (
      subject ${text} NOT NULL,
      span ${integer} NOT NULL,
      start ${integer} NOT NULL,
      requests ${integer} NOT NULL,
      estimated ${integer} NOT NULL,
      tokens ${integer} NOT NULL,
      cost ${integer} NOT NULL,
      PRIMARY KEY (subject, span, start)
    )${clustered}`,
    "CREATE INDEX budget_use_start ON budget_use (span, start)",
    `CREATE TABLE budget_alerts (
      subject ${text} NOT NULL,
      name ${text} NOT NULL,
      start ${integer} NOT NULL,
      maximum ${integer} NOT NULL,
      percent ${integer} NOT NULL,
      PRIMARY KEY (subject, name, start, maximum, percent)
    )${clustered}`,
    "CREATE INDEX budget_alerts_start ON budget_alerts (start)",
  ],
};
