-- The tables of a new SQLite database: the sum of all migrations.
-- UPDATE_SCHEMA=1 bun test test/store/schema.test.ts writes this file.

CREATE TABLE wadi_probe (at INTEGER NOT NULL, filler TEXT NOT NULL DEFAULT '') STRICT;

CREATE TABLE accounts (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at INTEGER NOT NULL
    , limits TEXT) STRICT;

CREATE TABLE keys (
      id TEXT PRIMARY KEY,
      account_id TEXT REFERENCES accounts (id),
      name TEXT,
      kind TEXT NOT NULL,
      scopes TEXT NOT NULL,
      models TEXT,
      max_output_tokens INTEGER,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      revoked_at INTEGER
    , limits TEXT) STRICT;

CREATE INDEX keys_by_account ON keys (account_id);

CREATE TABLE key_secrets (
      hash TEXT PRIMARY KEY,
      key_id TEXT NOT NULL REFERENCES keys (id),
      created_at INTEGER NOT NULL,
      expires_at INTEGER
    , ends_in TEXT) STRICT;

CREATE INDEX key_secrets_by_key ON key_secrets (key_id);

CREATE TABLE grants (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      model TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      PRIMARY KEY (account_id, model)
    ) STRICT;

CREATE TABLE models (
      id TEXT PRIMARY KEY,
      first_seen_at INTEGER NOT NULL
    , is_off INTEGER NOT NULL DEFAULT 0, is_blocked INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE units (
      id TEXT PRIMARY KEY,
      state TEXT NOT NULL,
      is_put_down INTEGER NOT NULL,
      changed_at INTEGER NOT NULL,
      starts INTEGER NOT NULL,
      recent_starts_ms TEXT NOT NULL,
      started_at INTEGER,
      stopped_at INTEGER
    , uses INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE ledger (
      id TEXT PRIMARY KEY,
      request_id TEXT NOT NULL,
      at INTEGER NOT NULL,
      account_id TEXT,
      key_id TEXT NOT NULL,
      route TEXT NOT NULL,
      model TEXT,
      status INTEGER NOT NULL,
      code TEXT,
      is_stream INTEGER NOT NULL,
      prompt_tokens INTEGER,
      completion_tokens INTEGER,
      usage_estimated INTEGER NOT NULL,
      cost INTEGER,
      attempts INTEGER,
      waited_ms INTEGER,
      first_token_ms INTEGER,
      duration_ms INTEGER NOT NULL,
      request_bytes INTEGER NOT NULL,
      reply_bytes INTEGER NOT NULL,
      trace_id TEXT
    , run_id TEXT, scope TEXT, model_asked TEXT, max_tokens_asked INTEGER, max_tokens INTEGER, max_tokens_by TEXT, replica TEXT, upstream_status INTEGER, finish_reason TEXT, param TEXT, reason TEXT, agent_id TEXT, agent_version INTEGER, sent_by_operator TEXT, gateway_us INTEGER, in_flight INTEGER, in_flight_max INTEGER) STRICT;

CREATE INDEX ledger_by_at ON ledger (at);

CREATE TABLE holds (
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      account_id TEXT NOT NULL,
      reason TEXT,
      since INTEGER NOT NULL,
      PRIMARY KEY (kind, id)
    ) STRICT;

CREATE TABLE agents (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      name TEXT NOT NULL,
      slug TEXT NOT NULL,
      description TEXT,
      status TEXT NOT NULL,
      current_version INTEGER NOT NULL,
      metadata TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      archived_at INTEGER, expose INTEGER NOT NULL DEFAULT 0,
      UNIQUE (account_id, slug)
    ) STRICT;

CREATE TABLE agent_versions (
      agent_id TEXT NOT NULL,
      version INTEGER NOT NULL,
      system_prompt TEXT NOT NULL,
      model TEXT,
      tools TEXT NOT NULL,
      tool_revisions TEXT NOT NULL,
      policy TEXT NOT NULL,
      budgets TEXT NOT NULL,
      model_params TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      created_by_key_id TEXT, output_schema TEXT,
      PRIMARY KEY (agent_id, version)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE threads (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      title TEXT,
      external_content INTEGER NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;

CREATE INDEX threads_by_account ON threads (account_id, created_at, id);

CREATE INDEX threads_by_agent ON threads (agent_id, created_at, id);

CREATE TABLE messages (
      thread_id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      id TEXT NOT NULL,
      run_id TEXT NOT NULL,
      role TEXT NOT NULL,
      content TEXT,
      tool_calls TEXT,
      tool_call_id TEXT,
      external INTEGER NOT NULL,
      created_at INTEGER NOT NULL, parts TEXT,
      PRIMARY KEY (thread_id, seq)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE thread_summaries (
      thread_id TEXT PRIMARY KEY,
      through_seq INTEGER NOT NULL,
      content TEXT NOT NULL
    ) STRICT;

CREATE TABLE runs (
      id TEXT PRIMARY KEY,
      agent_id TEXT NOT NULL,
      version INTEGER NOT NULL,
      thread_id TEXT NOT NULL,
      status TEXT NOT NULL,
      cancel_requested INTEGER NOT NULL,
      trigger_kind TEXT NOT NULL,
      trigger_id TEXT,
      fire_id TEXT,
      input TEXT NOT NULL,
      output TEXT,
      error TEXT,
      cost_model INTEGER,
      cost_tools INTEGER,
      cost_total INTEGER,
      cost_prices TEXT NOT NULL,
      usage_prompt_tokens INTEGER NOT NULL,
      usage_completion_tokens INTEGER NOT NULL,
      usage_total_tokens INTEGER NOT NULL,
      usage_rounds INTEGER NOT NULL,
      usage_tool_calls INTEGER NOT NULL,
      external_content INTEGER NOT NULL,
      pending_approvals TEXT NOT NULL,
      metadata TEXT NOT NULL,
      started_by_key_id TEXT,
      recoveries INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      started_at INTEGER,
      finished_at INTEGER,
      account_id TEXT NOT NULL,
      number INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      last_seq INTEGER NOT NULL,
      message_seq INTEGER NOT NULL,
      model TEXT NOT NULL,
      budgets TEXT NOT NULL,
      priced INTEGER NOT NULL,
      worked_ms INTEGER NOT NULL, fired_by_key_id TEXT, crashes INTEGER NOT NULL DEFAULT 0, stored_bytes INTEGER NOT NULL DEFAULT 0, unsettled_bytes INTEGER NOT NULL DEFAULT 0, started_by_operator TEXT, rerun_of TEXT, rerun_tools TEXT, rerun_from_round INTEGER,
      UNIQUE (account_id, number)
    ) STRICT;

CREATE INDEX runs_by_agent ON runs (agent_id, number);

CREATE UNIQUE INDEX runs_live ON runs (thread_id) WHERE finished_at IS NULL;

CREATE INDEX runs_claimable ON runs (account_id, number)
      WHERE epoch = 0 AND status IN ('queued', 'running');

CREATE INDEX runs_by_epoch ON runs (epoch) WHERE epoch > 0;

CREATE INDEX runs_by_status
        ON runs (account_id, status, number) WHERE status IN ('waiting_approval', 'failed', 'budget_exceeded', 'cancelled');

CREATE INDEX runs_by_agent_status
        ON runs (account_id, agent_id, status, number) WHERE status IN ('waiting_approval', 'failed', 'budget_exceeded', 'cancelled');

CREATE INDEX runs_triggered
        ON runs (account_id, trigger_kind, number) WHERE trigger_kind <> 'manual';

CREATE INDEX runs_triggered_by_agent
        ON runs (account_id, agent_id, trigger_kind, number) WHERE trigger_kind <> 'manual';

CREATE INDEX runs_triggered_by_status
        ON runs (account_id, trigger_kind, status, number) WHERE trigger_kind <> 'manual' AND status IN ('waiting_approval', 'failed', 'budget_exceeded', 'cancelled');

CREATE TABLE steps (
      run_id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      id TEXT NOT NULL,
      kind TEXT NOT NULL,
      round INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      data TEXT NOT NULL,
      status TEXT NOT NULL, execution TEXT,
      PRIMARY KEY (run_id, seq)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE tool_outputs (
      run_id TEXT NOT NULL,
      tool_call_id TEXT NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (run_id, tool_call_id)
    ) STRICT;

CREATE TABLE run_counts (
      account_id TEXT PRIMARY KEY,
      started INTEGER NOT NULL,
      active INTEGER NOT NULL,
      last_created_at INTEGER NOT NULL
    ) STRICT;

CREATE TABLE run_days (
      account_id TEXT NOT NULL,
      day TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      runs INTEGER NOT NULL,
      succeeded INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      budget_exceeded INTEGER NOT NULL,
      cancelled INTEGER NOT NULL,
      prompt_tokens INTEGER NOT NULL,
      completion_tokens INTEGER NOT NULL,
      total_tokens INTEGER NOT NULL,
      tool_calls INTEGER NOT NULL,
      cost_sar INTEGER,
      unpriced_runs INTEGER NOT NULL,
      PRIMARY KEY (account_id, day, agent_id)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE run_starts (
      account_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      idempotency_key TEXT NOT NULL,
      body_hash TEXT NOT NULL,
      run_id TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      PRIMARY KEY (account_id, agent_id, idempotency_key)
    ) STRICT;

CREATE INDEX run_starts_by_age ON run_starts (created_at);

CREATE TABLE approvals (
      id TEXT PRIMARY KEY,
      run_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      thread_id TEXT NOT NULL,
      tool_call_id TEXT NOT NULL,
      tool TEXT NOT NULL,
      revision INTEGER NOT NULL,
      risk TEXT NOT NULL,
      arguments TEXT NOT NULL,
      arguments_sha256 TEXT NOT NULL,
      why TEXT NOT NULL,
      external_sources TEXT NOT NULL,
      status TEXT NOT NULL,
      reason TEXT,
      decided_by TEXT,
      requested_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      decided_at INTEGER,
      account_id TEXT NOT NULL
    ) STRICT;

CREATE INDEX approvals_by_run ON approvals (run_id);

CREATE TABLE processes (
      epoch INTEGER PRIMARY KEY,
      beats INTEGER NOT NULL,
      started_at INTEGER NOT NULL,
      ended_at INTEGER
    , address TEXT, pid INTEGER, version TEXT, schema_number INTEGER, state TEXT, settings_hash TEXT, settings_fault TEXT, key_ids TEXT, reloads_asked INTEGER NOT NULL DEFAULT 0, reloads_done INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE outbox (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      type TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      data TEXT NOT NULL
    , is_pending INTEGER NOT NULL DEFAULT 0, stored_bytes INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX outbox_by_age ON outbox (created_at);

CREATE TABLE tools (
      account_id TEXT NOT NULL,
      name TEXT NOT NULL,
      status TEXT NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL, server_id TEXT, accepted INTEGER, gone_at INTEGER,
      PRIMARY KEY (account_id, name)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE tool_revisions (
      account_id TEXT NOT NULL,
      name TEXT NOT NULL,
      revision INTEGER NOT NULL,
      risk TEXT NOT NULL,
      title TEXT,
      description TEXT NOT NULL,
      parameters TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      connection_id TEXT,
      timeout_ms INTEGER NOT NULL,
      external_content INTEGER NOT NULL,
      idempotent INTEGER NOT NULL,
      created_at INTEGER NOT NULL, mcp TEXT,
      PRIMARY KEY (account_id, name, revision)
    ) STRICT, WITHOUT ROWID;

CREATE INDEX tool_revisions_by_connection ON tool_revisions (connection_id)
      WHERE connection_id IS NOT NULL;

CREATE TABLE connections (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      name TEXT NOT NULL,
      kind TEXT NOT NULL,
      header_name TEXT,
      allowed_hosts TEXT NOT NULL,
      secret_set_at INTEGER NOT NULL,
      last_used_at INTEGER,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL, oauth TEXT,
      UNIQUE (account_id, name)
    ) STRICT;

CREATE TABLE secrets (
      kind TEXT NOT NULL,
      row_id TEXT NOT NULL,
      account_id TEXT NOT NULL,
      sealed TEXT NOT NULL,
      key_id TEXT NOT NULL,
      set_at INTEGER NOT NULL,
      PRIMARY KEY (kind, row_id)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE secrets_key (
      place INTEGER PRIMARY KEY,
      key_id TEXT NOT NULL
    ) STRICT;

CREATE TABLE notes (
      agent_id TEXT NOT NULL,
      key TEXT NOT NULL,
      content TEXT NOT NULL,
      external INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (agent_id, key)
    ) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_by_account ON approvals (account_id, requested_at, id);

CREATE INDEX approvals_by_agent ON approvals (agent_id, requested_at, id);

CREATE INDEX approvals_waiting ON approvals (account_id, requested_at, id)
      WHERE status = 'pending';

CREATE INDEX approvals_pending ON approvals (expires_at) WHERE status = 'pending';

CREATE TABLE triggers (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      name TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      status TEXT NOT NULL,
      paused_reason TEXT,
      cron TEXT,
      time_zone TEXT,
      overlap TEXT NOT NULL,
      catch_up_seconds INTEGER,
      input TEXT,
      thread_id TEXT,
      key_id TEXT NOT NULL,
      next_fire_at INTEGER,
      last_fire_at INTEGER,
      previous_secret_expires_at INTEGER,
      secret_number INTEGER NOT NULL,
      secret_key_id TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      UNIQUE (account_id, name)
    ) STRICT;

CREATE INDEX triggers_by_agent ON triggers (agent_id);

CREATE INDEX triggers_due ON triggers (next_fire_at, id) WHERE next_fire_at IS NOT NULL;

CREATE INDEX triggers_due_by_account ON triggers (account_id, next_fire_at, id)
      WHERE next_fire_at IS NOT NULL;

CREATE TABLE fires (
      id TEXT PRIMARY KEY,
      trigger_id TEXT NOT NULL,
      source TEXT NOT NULL,
      outcome TEXT NOT NULL,
      run_id TEXT,
      scheduled_at INTEGER,
      webhook_id TEXT,
      missed_count INTEGER NOT NULL,
      error TEXT,
      created_at INTEGER NOT NULL,
      ended_at INTEGER NOT NULL,
      fired_by_key_id TEXT
    ) STRICT;

CREATE UNIQUE INDEX fires_scheduled ON fires (trigger_id, scheduled_at)
      WHERE scheduled_at IS NOT NULL;

CREATE UNIQUE INDEX fires_requested ON fires (trigger_id, webhook_id)
      WHERE webhook_id IS NOT NULL;

CREATE INDEX fires_by_trigger ON fires (trigger_id, created_at, id);

CREATE INDEX fires_by_outcome ON fires (trigger_id, outcome, created_at, id);

CREATE INDEX fires_by_age ON fires (ended_at);

CREATE INDEX runs_live_by_trigger ON runs (trigger_id)
      WHERE trigger_id IS NOT NULL AND finished_at IS NULL;

CREATE INDEX outbox_pending ON outbox (account_id, created_at, id) WHERE is_pending = 1;

CREATE TABLE outbox_listeners (
      account_id TEXT PRIMARY KEY
    ) STRICT;

CREATE TABLE webhook_endpoints (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      url TEXT NOT NULL,
      events TEXT NOT NULL,
      description TEXT,
      status TEXT NOT NULL,
      disabled_reason TEXT,
      disabled_at INTEGER,
      failing_since INTEGER,
      last_success_at INTEGER,
      last_failure_at INTEGER,
      previous_secret_expires_at INTEGER,
      pending_deliveries INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      failures INTEGER NOT NULL,
      secret_number INTEGER NOT NULL
    , last_answer_at INTEGER, last_answer_status INTEGER, last_answer_error TEXT) STRICT;

CREATE INDEX webhook_endpoints_by_account ON webhook_endpoints (account_id, created_at, id);

CREATE INDEX webhook_endpoints_waiting ON webhook_endpoints (id)
      WHERE pending_deliveries > 0;

CREATE TABLE webhook_endpoints_gone (
      id TEXT PRIMARY KEY
    ) STRICT;

CREATE TABLE deliveries (
      id TEXT PRIMARY KEY,
      webhook_id TEXT NOT NULL,
      event_id TEXT NOT NULL,
      event_type TEXT NOT NULL,
      status TEXT NOT NULL,
      attempt_count INTEGER NOT NULL,
      next_attempt_at INTEGER,
      last_response_status INTEGER,
      last_error TEXT,
      created_at INTEGER NOT NULL,
      completed_at INTEGER,
      account_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      tries INTEGER NOT NULL,
      lane INTEGER NOT NULL,
      epoch INTEGER NOT NULL
    , stored_bytes INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX deliveries_by_endpoint
      ON deliveries (webhook_id, status, event_type, created_at, id);

CREATE INDEX deliveries_due ON deliveries (webhook_id, lane, next_attempt_at, id)
      WHERE status = 'pending' AND epoch = 0;

CREATE INDEX deliveries_by_epoch ON deliveries (epoch) WHERE epoch > 0;

CREATE INDEX deliveries_by_age ON deliveries (created_at, id);

CREATE TABLE delivery_attempts (
      delivery_id TEXT NOT NULL,
      number INTEGER NOT NULL,
      kind TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      duration_ms INTEGER NOT NULL,
      response_status INTEGER,
      response_body TEXT,
      error TEXT, url TEXT, signatures INTEGER,
      PRIMARY KEY (delivery_id, number)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE sweeps (
      number INTEGER PRIMARY KEY,
      swept_at INTEGER,
      witnessed_at INTEGER
    ) STRICT;

CREATE TABLE wadi_commits (commits INTEGER NOT NULL) STRICT;

CREATE INDEX runs_suspected ON runs (crashes, id)
      WHERE crashes >= 2 AND finished_at IS NULL;

CREATE TABLE stored_bytes (
      account_id TEXT NOT NULL,
      part TEXT NOT NULL,
      bytes INTEGER NOT NULL,
      PRIMARY KEY (account_id, part)
    ) STRICT, WITHOUT ROWID;

CREATE INDEX agents_active ON agents (account_id) WHERE status = 'active';

CREATE TABLE operators (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      role TEXT NOT NULL,
      token_hash TEXT NOT NULL UNIQUE,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      revoked_at INTEGER
    ) STRICT;

CREATE TABLE audit (
      id TEXT PRIMARY KEY,
      at INTEGER NOT NULL,
      actor_kind TEXT NOT NULL,
      actor TEXT NOT NULL,
      via TEXT NOT NULL,
      operation TEXT NOT NULL,
      target TEXT,
      outcome TEXT NOT NULL,
      state_before TEXT,
      state_after TEXT,
      error TEXT
    ) STRICT, WITHOUT ROWID;

CREATE INDEX audit_at ON audit (at);

CREATE TABLE budget_reservations (
      id TEXT PRIMARY KEY,
      at INTEGER NOT NULL,
      subjects TEXT NOT NULL,
      tokens INTEGER NOT NULL,
      cost INTEGER NOT NULL
    , epoch INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE budget_use (
      subject TEXT NOT NULL,
      span INTEGER NOT NULL,
      start INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      estimated INTEGER NOT NULL,
      tokens INTEGER NOT NULL,
      cost INTEGER NOT NULL,
      PRIMARY KEY (subject, span, start)
    ) STRICT, WITHOUT ROWID;

CREATE INDEX budget_use_start ON budget_use (span, start);

CREATE TABLE budget_alerts (
      subject TEXT NOT NULL,
      name TEXT NOT NULL,
      start INTEGER NOT NULL,
      maximum INTEGER NOT NULL,
      percent INTEGER NOT NULL,
      PRIMARY KEY (subject, name, start, maximum, percent)
    ) STRICT, WITHOUT ROWID;

CREATE INDEX budget_alerts_start ON budget_alerts (start);

CREATE TABLE usage_sums (
        slot INTEGER NOT NULL,
        account_id TEXT NOT NULL,
        key_id TEXT NOT NULL,
        model TEXT NOT NULL,
        route TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        agent_version INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        callers_left INTEGER NOT NULL DEFAULT 0,
        prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL,
        estimated INTEGER NOT NULL DEFAULT 0,
        estimated_prompt_tokens INTEGER NOT NULL DEFAULT 0,
        estimated_completion_tokens INTEGER NOT NULL DEFAULT 0,
        cost INTEGER,
        unpriced INTEGER NOT NULL,
        unpriced_estimated INTEGER NOT NULL DEFAULT 0, estimated_cost INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (slot, account_id, key_id, model, route, agent_id, agent_version)
      ) STRICT, WITHOUT ROWID;

CREATE TABLE key_uses (
      key_id TEXT PRIMARY KEY,
      last_used_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

CREATE TABLE account_deletions (
      account_id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      begun_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

CREATE TABLE wadi_installation (
      place INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      restored_from TEXT,
      restored_at INTEGER,
      paused_at INTEGER,
      moved_to TEXT,
      moved_at INTEGER
    ) STRICT;

CREATE INDEX ledger_by_request ON ledger (request_id, id);

CREATE TABLE console_links (
      token_hash TEXT PRIMARY KEY,
      operator_id TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      used_at INTEGER
    ) STRICT, WITHOUT ROWID;

CREATE TABLE console_sessions (
      id TEXT PRIMARY KEY,
      operator_id TEXT NOT NULL,
      token_hash TEXT NOT NULL UNIQUE,
      user_agent TEXT,
      address TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT;

CREATE TABLE approval_links (
      id TEXT PRIMARY KEY,
      token_hash TEXT NOT NULL UNIQUE,
      session_hash TEXT UNIQUE,
      operator_id TEXT NOT NULL,
      account_id TEXT NOT NULL,
      approval_id TEXT,
      person TEXT NOT NULL,
      user_agent TEXT,
      address TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      used_at INTEGER,
      last_seen_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT;

CREATE INDEX approval_links_by_account ON approval_links (account_id);

CREATE INDEX approvals_approved ON approvals (agent_id, tool, decided_at, id)
      WHERE status = 'approved';

CREATE TABLE run_images (
      run_id TEXT NOT NULL,
      place INTEGER NOT NULL,
      url TEXT NOT NULL,
      PRIMARY KEY (run_id, place)
    ) STRICT;

CREATE TABLE evaluations (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      version INTEGER NOT NULL,
      tools TEXT NOT NULL,
      status TEXT NOT NULL,
      checks TEXT NOT NULL,
      total INTEGER NOT NULL,
      started_by_key_id TEXT NOT NULL,
      started_by_operator TEXT,
      stored_bytes INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      finished_at INTEGER
    ) STRICT;

CREATE INDEX evaluations_by_account ON evaluations (account_id, created_at, id);

CREATE INDEX evaluations_running ON evaluations (id) WHERE finished_at IS NULL;

CREATE TABLE evaluated_runs (
      evaluation_id TEXT NOT NULL,
      position INTEGER NOT NULL,
      run_id TEXT NOT NULL,
      rerun_id TEXT,
      assessment TEXT,
      PRIMARY KEY (evaluation_id, position)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE mcp_servers (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL,
      name TEXT NOT NULL,
      url TEXT NOT NULL,
      connection_id TEXT,
      timeout_ms INTEGER NOT NULL,
      protocol_version TEXT,
      title TEXT,
      skipped TEXT NOT NULL,
      problem TEXT,
      refreshed_at INTEGER,
      refresh_at INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      UNIQUE (account_id, name)
    ) STRICT;

CREATE INDEX mcp_servers_due ON mcp_servers (refresh_at);

CREATE INDEX mcp_servers_by_connection ON mcp_servers (connection_id)
      WHERE connection_id IS NOT NULL;

CREATE TABLE leases (name TEXT PRIMARY KEY, epoch INTEGER NOT NULL) STRICT;

CREATE TABLE counter_place (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      term INTEGER NOT NULL,
      mode TEXT NOT NULL,
      server TEXT,
      epoch INTEGER
    ) STRICT;

CREATE TABLE counter_reports (
      epoch INTEGER PRIMARY KEY,
      term INTEGER NOT NULL,
      server TEXT
    ) STRICT;

CREATE TABLE counter_takes (
      counter TEXT NOT NULL,
      at INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      PRIMARY KEY (counter, at, epoch)
    ) STRICT;

CREATE TABLE counter_slots (
      service TEXT NOT NULL,
      epoch INTEGER NOT NULL,
      slots INTEGER NOT NULL,
      PRIMARY KEY (service, epoch)
    ) STRICT;

CREATE TABLE budget_roots (
      subject TEXT PRIMARY KEY,
      uses TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

INSERT INTO wadi_probe (at, filler) VALUES (0, '');

INSERT INTO sweeps (number, swept_at, witnessed_at) VALUES (1, NULL, NULL);

INSERT INTO wadi_commits (commits) VALUES (0);

INSERT INTO wadi_installation
      SELECT 1, id, NULL, NULL, NULL, NULL, NULL FROM (SELECT substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3)
  || '-a' || substr(h, 18, 3) || '-' || substr(h, 21) AS id
  FROM (SELECT lower(hex(randomblob(16))) AS h) AS random) AS made;
