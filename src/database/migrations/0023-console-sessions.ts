// Sessions of operators in the console, and the links by which they sign in.
import type { Migration } from "./migration.ts";

export const consoleSessions: Migration = {
  number: 23,
  name: "console sessions",
  kind: "expansion",
  statements: ({ integer, text, strict, clustered }) => [
    `CREATE TABLE console_links (
      token_hash ${text} PRIMARY KEY,
      operator_id ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      used_at ${integer}
    )${clustered}`,
    `CREATE TABLE console_sessions (
      id ${text} PRIMARY KEY,
      operator_id ${text} NOT NULL,
      token_hash ${text} NOT NULL UNIQUE,
      user_agent ${text},
      address ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      last_seen_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    )${strict}`,
  ],
};
