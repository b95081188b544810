// MCP servers of accounts, and the tools that come from them.
import type { Migration } from "./migration.ts";

export const mcpServers: Migration = {
  number: 34,
  name: "mcp servers",
  kind: "expansion",
  statements: ({ integer, text, strict }) => [
    `CREATE TABLE mcp_servers (
      id ${text} PRIMARY KEY,
      account_id ${text} NOT NULL,
      name ${text} NOT NULL,
      url ${text} NOT NULL,
      connection_id ${text},
      timeout_ms ${integer} NOT NULL,
      protocol_version ${text},
      title ${text},
      skipped ${text} NOT NULL,
      problem ${text},
      refreshed_at ${integer},
      refresh_at ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      UNIQUE (account_id, name)
    )${strict}`,
    "CREATE INDEX mcp_servers_due ON mcp_servers (refresh_at)",
    `CREATE INDEX mcp_servers_by_connection ON mcp_servers (connection_id)
      WHERE connection_id IS NOT NULL`,
    // How a connection asks for its tokens, where its secret is none.
    `ALTER TABLE connections ADD COLUMN oauth ${text}`,
    `ALTER TABLE tool_revisions ADD COLUMN mcp ${text}`,
    `ALTER TABLE tools ADD COLUMN server_id ${text}`,
    // The last revision that the owner accepted.
    `ALTER TABLE tools ADD COLUMN accepted ${integer}`,
    // Since when the server does not have the tool any more.
    `ALTER TABLE tools ADD COLUMN gone_at ${integer}`,
  ],
};
