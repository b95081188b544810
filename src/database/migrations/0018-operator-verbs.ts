// Uses of keys, operators who started runs, and deletions of accounts that are under way.
import type { Migration } from "./migration.ts";

export const operatorVerbs: Migration = {
  number: 18,
  name: "operator verbs",
  statements: ({ integer, text, clustered }) => [
    // A table of its own: a write to a key makes every request read it again.
    `CREATE TABLE key_uses (
      key_id ${text} PRIMARY KEY,
      last_used_at ${integer} NOT NULL
    )${clustered}`,
    `ALTER TABLE runs ADD COLUMN started_by_operator ${text}`,
    // Rows of accounts that no longer exist, until all of theirs are deleted.
    `CREATE TABLE account_deletions (
      account_id ${text} PRIMARY KEY,
      name ${text} NOT NULL,
      begun_at ${integer} NOT NULL
    )${clustered}`,
  ],
};
