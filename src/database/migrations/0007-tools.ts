// Registrations of callers: tools, connections with their secrets, and notes.
import type { Dialect, Migration } from "./migration.ts";

export const tools: Migration = {
  number: 7,
  name: "tools",
  statements: (dialect) => [
    ...writeTools(dialect),
    ...writeConnections(dialect),
    ...writeNotes(dialect),
    "CREATE INDEX approvals_by_account ON approvals (account_id, requested_at, id)",
    "CREATE INDEX approvals_by_agent ON approvals (agent_id, requested_at, id)",
    `CREATE INDEX approvals_waiting ON approvals (account_id, requested_at, id)
      WHERE status = 'pending'`,
    "CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending'",
  ],
};

function writeTools({ integer, text, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE tools (
      account_id ${text} NOT NULL,
      name ${text} NOT NULL,
      status ${text} NOT NULL,
      revision ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      PRIMARY KEY (account_id, name)
    )${clustered}`,
    `CREATE TABLE tool_revisions (
      account_id ${text} NOT NULL,
      name ${text} NOT NULL,
      revision ${integer} NOT NULL,
      risk ${text} NOT NULL,
      title ${text},
      description ${text} NOT NULL,
      parameters ${text} NOT NULL,
      endpoint ${text} NOT NULL,
      connection_id ${text},
      timeout_ms ${integer} NOT NULL,
      external_content ${integer} NOT NULL,
      idempotent ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      PRIMARY KEY (account_id, name, revision)
    )${clustered}`,
    `CREATE INDEX tool_revisions_by_connection ON tool_revisions (connection_id)
      WHERE connection_id IS NOT NULL`,
  ];
}

function writeConnections({ integer, text, strict, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE connections (
      id ${text} PRIMARY KEY,
      account_id ${text} NOT NULL,
      name ${text} NOT NULL,
      kind ${text} NOT NULL,
      header_name ${text},
      allowed_hosts ${text} NOT NULL,
      secret_set_at ${integer} NOT NULL,
      last_used_at ${integer},
      created_at ${integer} NOT NULL,
      updated_at ${integer} NOT NULL,
      UNIQUE (account_id, name)
    )${strict}`,
    // Sealed secrets, each bound to its kind, row and owner.
    `CREATE TABLE secrets (
      kind ${text} NOT NULL,
      row_id ${text} NOT NULL,
      account_id ${text} NOT NULL,
      sealed ${text} NOT NULL,
      key_id ${text} NOT NULL,
      set_at ${integer} NOT NULL,
      PRIMARY KEY (kind, row_id)
    )${clustered}`,
    `CREATE TABLE secrets_key (
      place ${integer} PRIMARY KEY,
      key_id ${text} NOT NULL
    )${strict}`,
  ];
}

function writeNotes({ integer, text, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE notes (
      agent_id ${text} NOT NULL,
      key ${text} NOT NULL,
      content ${text} NOT NULL,
      external ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      updated_at ${integer} NOT NULL,
      PRIMARY KEY (agent_id, key)
    )${clustered}`,
  ];
}
