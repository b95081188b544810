// Accounts, keys with their secrets, grants of models, and when a model was first seen.
import type { Migration } from "./migration.ts";

export const accountsAndKeys: Migration = {
  number: 1,
  name: "accounts and keys",
  statements: ({ integer, text, strict }) => [
    `CREATE TABLE wadi_probe (at ${integer} NOT NULL)${strict}`,
    "INSERT INTO wadi_probe VALUES (0)",
    `CREATE TABLE accounts (
      id ${text} PRIMARY KEY,
      name ${text} NOT NULL UNIQUE,
      created_at ${integer} NOT NULL
    )${strict}`,
    // A null account: a key without an owner, for which the platform never acts.
    `CREATE TABLE keys (
      id ${text} PRIMARY KEY,
      account_id ${text} REFERENCES accounts (id),
      name ${text},
      kind ${text} NOT NULL,
      scopes ${text} NOT NULL,
      models ${text},
      max_output_tokens ${integer},
      created_at ${integer} NOT NULL,
      expires_at ${integer},
      revoked_at ${integer}
    )${strict}`,
    "CREATE INDEX keys_by_account ON keys (account_id)",
    // A table of its own: a key that is rotated has two secrets for a while and keeps its id.
    `CREATE TABLE key_secrets (
      hash ${text} PRIMARY KEY,
      key_id ${text} NOT NULL REFERENCES keys (id),
      created_at ${integer} NOT NULL,
      expires_at ${integer}
    )${strict}`,
    "CREATE INDEX key_secrets_by_key ON key_secrets (key_id)",
    `CREATE TABLE grants (
      account_id ${text} NOT NULL REFERENCES accounts (id),
      model ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      PRIMARY KEY (account_id, model)
    )${strict}`,
    `CREATE TABLE models (
      id ${text} PRIMARY KEY,
      first_seen_at ${integer} NOT NULL
    )${strict}`,
  ],
};
