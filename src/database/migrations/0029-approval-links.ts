// Links to approvals: a teammate opens one once, and its session decides.
import type { Migration } from "./migration.ts";

export const approvalLinks: Migration = {
  number: 29,
  name: "approval links",
  kind: "expansion",
  statements: ({ integer, text, strict }) => [
    // The version before must not take a session of a teammate for one of its operator.
    `CREATE TABLE approval_links (
      id ${text} PRIMARY KEY,
      token_hash ${text} NOT NULL UNIQUE,
      session_hash ${text} UNIQUE,
      operator_id ${text} NOT NULL,
      account_id ${text} NOT NULL,
      approval_id ${text},
      person ${text} NOT NULL,
      user_agent ${text},
      address ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      used_at ${integer},
      last_seen_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    )${strict}`,
    "CREATE INDEX approval_links_by_account ON approval_links (account_id)",
    `CREATE INDEX approvals_approved ON approvals (agent_id, tool, decided_at, id)
      WHERE status = 'approved'`,
  ],
};
