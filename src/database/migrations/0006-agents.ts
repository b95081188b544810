// The agent service: agents, threads, runs with their steps, approvals, sums, and what happened.
import type { Dialect, Migration } from "./migration.ts";

export const agents: Migration = {
  number: 6,
  name: "agents",
  statements: (dialect) => [
    ...writeDefinitions(dialect),
    ...writeThreads(dialect),
    ...writeRuns(dialect),
    ...writeSteps(dialect),
    ...writeCounts(dialect),
    ...writeApprovals(dialect),
    ...writeProcesses(dialect),
  ],
};

function writeDefinitions({ integer, text, strict, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE agents (
      id ${text} PRIMARY KEY,
      account_id ${text} NOT NULL,
      name ${text} NOT NULL,
      slug ${text} NOT NULL,
      description ${text},
      status ${text} NOT NULL,
      current_version ${integer} NOT NULL,
      metadata ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      updated_at ${integer} NOT NULL,
      archived_at ${integer},
      UNIQUE (account_id, slug)
    )${strict}`,
    `CREATE TABLE agent_versions (
      agent_id ${text} NOT NULL,
      version ${integer} NOT NULL,
      system_prompt ${text} NOT NULL,
      model ${text},
      tools ${text} NOT NULL,
      tool_revisions ${text} NOT NULL,
      policy ${text} NOT NULL,
      budgets ${text} NOT NULL,
      model_params ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      created_by_key_id ${text},
      PRIMARY KEY (agent_id, version)
    )${clustered}`,
  ];
}

function writeThreads({ integer, text, strict, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE threads (
      id ${text} PRIMARY KEY,
      account_id ${text} NOT NULL,
      agent_id ${text} NOT NULL,
      title ${text},
      external_content ${integer} NOT NULL,
      created_at ${integer} NOT NULL
    )${strict}`,
    "CREATE INDEX threads_by_account ON threads (account_id, created_at, id)",
    "CREATE INDEX threads_by_agent ON threads (agent_id, created_at, id)",
    `CREATE TABLE messages (
      thread_id ${text} NOT NULL,
      seq ${integer} NOT NULL,
      id ${text} NOT NULL,
      run_id ${text} NOT NULL,
      role ${text} NOT NULL,
      content ${text},
      tool_calls ${text},
      tool_call_id ${text},
      external ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      PRIMARY KEY (thread_id, seq)
    )${clustered}`,
    // Summaries replace older messages in prompts; the messages stay.
    `CREATE TABLE thread_summaries (
      thread_id ${text} PRIMARY KEY,
      through_seq ${integer} NOT NULL,
      content ${text} NOT NULL
    )${strict}`,
  ];
}

const ENDED_EARLY = "status IN ('waiting_approval', 'failed', 'budget_exceeded', 'cancelled')";
const TRIGGERED = "trigger_kind <> 'manual'";
/** Indexes for pairs of filters; a run that is started by hand and succeeds is in none. */
const RARE = [
  ["runs_by_status", "status", ENDED_EARLY],
  ["runs_by_agent_status", "agent_id, status", ENDED_EARLY],
  ["runs_triggered", "trigger_kind", TRIGGERED],
  ["runs_triggered_by_agent", "agent_id, trigger_kind", TRIGGERED],
  ["runs_triggered_by_status", "trigger_kind, status", `${TRIGGERED} AND ${ENDED_EARLY}`],
] as const;

function writeRuns({ integer, text, strict }: Dialect): string[] {
  return [
    `CREATE TABLE runs (
      id ${text} PRIMARY KEY,
      agent_id ${text} NOT NULL,
      version ${integer} NOT NULL,
      thread_id ${text} NOT NULL,
      status ${text} NOT NULL,
      cancel_requested ${integer} NOT NULL,
      trigger_kind ${text} NOT NULL,
      trigger_id ${text},
      fire_id ${text},
      input ${text} NOT NULL,
      output ${text},
      error ${text},
      cost_model ${integer},
      cost_tools ${integer},
      cost_total ${integer},
      cost_prices ${text} NOT NULL,
      usage_prompt_tokens ${integer} NOT NULL,
      usage_completion_tokens ${integer} NOT NULL,
      usage_total_tokens ${integer} NOT NULL,
      usage_rounds ${integer} NOT NULL,
      usage_tool_calls ${integer} NOT NULL,
      external_content ${integer} NOT NULL,
      pending_approvals ${text} NOT NULL,
      metadata ${text} NOT NULL,
      started_by_key_id ${text},
      recoveries ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      started_at ${integer},
      finished_at ${integer},
      account_id ${text} NOT NULL,
      number ${integer} NOT NULL,
      epoch ${integer} NOT NULL,
      last_seq ${integer} NOT NULL,
      message_seq ${integer} NOT NULL,
      model ${text} NOT NULL,
      budgets ${text} NOT NULL,
      priced ${integer} NOT NULL,
      worked_ms ${integer} NOT NULL,
      UNIQUE (account_id, number)
    )${strict}`,
    "CREATE INDEX runs_by_agent ON runs (agent_id, number)",
    // agents.limits.one_run_per_thread is enforced by the database itself.
    `CREATE UNIQUE INDEX runs_live ON runs (thread_id) WHERE finished_at IS NULL`,
    `CREATE INDEX runs_claimable ON runs (account_id, number)
      WHERE epoch = 0 AND status IN ('queued', 'running')`,
    "CREATE INDEX runs_by_epoch ON runs (epoch) WHERE epoch > 0",
    // Indexes of rare runs; a list finds enough of the others at its start.
    ...RARE.map(
      ([name, columns, condition]) => `CREATE INDEX ${name}
        ON runs (account_id, ${columns}, number) WHERE ${condition}`,
    ),
  ];
}

function writeSteps({ integer, text, strict, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE steps (
      run_id ${text} NOT NULL,
      seq ${integer} NOT NULL,
      id ${text} NOT NULL,
      kind ${text} NOT NULL,
      round ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      data ${text} NOT NULL,
      status ${text} NOT NULL,
      PRIMARY KEY (run_id, seq)
    )${clustered}`,
    // Whole results, of which the steps hold head and tail.
    `CREATE TABLE tool_outputs (
      run_id ${text} NOT NULL,
      tool_call_id ${text} NOT NULL,
      content ${text} NOT NULL,
      PRIMARY KEY (run_id, tool_call_id)
    )${strict}`,
  ];
}

function writeCounts({ integer, text, strict, clustered }: Dialect): string[] {
  return [
    // One row for each account: its number of started runs, and of queued and running ones.
    `CREATE TABLE run_counts (
      account_id ${text} PRIMARY KEY,
      started ${integer} NOT NULL,
      active ${integer} NOT NULL,
      last_created_at ${integer} NOT NULL
    )${strict}`,
    `CREATE TABLE run_days (
      account_id ${text} NOT NULL,
      day ${text} NOT NULL,
      agent_id ${text} NOT NULL,
      runs ${integer} NOT NULL,
      succeeded ${integer} NOT NULL,
      failed ${integer} NOT NULL,
      budget_exceeded ${integer} NOT NULL,
      cancelled ${integer} NOT NULL,
      prompt_tokens ${integer} NOT NULL,
      completion_tokens ${integer} NOT NULL,
      total_tokens ${integer} NOT NULL,
      tool_calls ${integer} NOT NULL,
      cost_sar ${integer},
      unpriced_runs ${integer} NOT NULL,
      PRIMARY KEY (account_id, day, agent_id)
    )${clustered}`,
    `CREATE TABLE run_starts (
      account_id ${text} NOT NULL,
      agent_id ${text} NOT NULL,
      idempotency_key ${text} NOT NULL,
      body_hash ${text} NOT NULL,
      run_id ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      PRIMARY KEY (account_id, agent_id, idempotency_key)
    )${strict}`,
    "CREATE INDEX run_starts_by_age ON run_starts (created_at)",
  ];
}

function writeApprovals({ integer, text, strict }: Dialect): string[] {
  return [
    `CREATE TABLE approvals (
      id ${text} PRIMARY KEY,
      run_id ${text} NOT NULL,
      agent_id ${text} NOT NULL,
      thread_id ${text} NOT NULL,
      tool_call_id ${text} NOT NULL,
      tool ${text} NOT NULL,
      revision ${integer} NOT NULL,
      risk ${text} NOT NULL,
      arguments ${text} NOT NULL,
      arguments_sha256 ${text} NOT NULL,
      why ${text} NOT NULL,
      external_sources ${text} NOT NULL,
      status ${text} NOT NULL,
      reason ${text},
      decided_by ${text},
      requested_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      decided_at ${integer},
      account_id ${text} NOT NULL
    )${strict}`,
    "CREATE INDEX approvals_by_run ON approvals (run_id)",
  ];
}

function writeProcesses({ integer, text, strict }: Dialect): string[] {
  return [
    // Processes of the program; rows that one has claimed are its own while it lives.
    `CREATE TABLE processes (
      epoch ${integer} PRIMARY KEY,
      beats ${integer} NOT NULL,
      started_at ${integer} NOT NULL,
      ended_at ${integer}
    )${strict}`,
    `CREATE TABLE outbox (
      id ${text} PRIMARY KEY,
      account_id ${text} NOT NULL,
      type ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      data ${text} NOT NULL
    )${strict}`,
    "CREATE INDEX outbox_by_age ON outbox (created_at)",
  ];
}
