// Upkeep of a database: its last sweep, and a row that readiness writes as a trial.
import type { Migration } from "./migration.ts";

export const upkeep: Migration = {
  number: 9,
  name: "upkeep",
  statements: ({ integer, text, strict }) => [
    `ALTER TABLE wadi_probe ADD COLUMN filler ${text} NOT NULL DEFAULT ''`,
    // One row, of number 1. Null: the next start dates it.
    `CREATE TABLE sweeps (
      number ${integer} PRIMARY KEY,
      swept_at ${integer},
      witnessed_at ${integer}
    )${strict}`,
    // In an older database its newest row says when the program last wrote.
    `INSERT INTO sweeps SELECT 1, NULL, NULLIF(MAX(at), 0) FROM (
      SELECT MAX(started_at) AS at FROM processes
      UNION ALL SELECT MAX(ended_at) FROM processes
      UNION ALL SELECT MAX(at) FROM ledger
      UNION ALL SELECT MAX(at) FROM wadi_probe
    ) AS newest`,
  ],
};
