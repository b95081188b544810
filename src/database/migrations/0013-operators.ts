// Operators, who use the operator API by a token, and the audit log of what they change.
import type { Migration } from "./migration.ts";

export const operators: Migration = {
  number: 13,
  name: "operators",
  statements: ({ integer, text, strict, clustered }) => [
    `CREATE TABLE operators (
      id ${text} PRIMARY KEY,
      name ${text} NOT NULL UNIQUE,
      role ${text} NOT NULL,
      token_hash ${text} NOT NULL UNIQUE,
      created_at ${integer} NOT NULL,
      expires_at ${integer},
      revoked_at ${integer}
    )${strict}`,
    `CREATE TABLE audit (
      id ${text} PRIMARY KEY,
      at ${integer} NOT NULL,
      actor_kind ${text} NOT NULL,
      actor ${text} NOT NULL,
      via ${text} NOT NULL,
      operation ${text} NOT NULL,
      target ${text},
      outcome ${text} NOT NULL,
      state_before ${text},
      state_after ${text},
      error ${text}
    )${clustered}`,
    "CREATE INDEX audit_at ON audit (at)",
  ],
};
