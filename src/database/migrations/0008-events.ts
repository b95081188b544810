// Triggers start runs, and webhook endpoints receive events.
import type { Dialect, Migration } from "./migration.ts";

export const events: Migration = {
  number: 8,
  name: "events",
  statements: (dialect) => [
    ...writeTriggers(dialect),
    ...writeOutbox(dialect),
    ...writeEndpoints(dialect),
    ...writeDeliveries(dialect),
  ],
};

function writeTriggers({ integer, text, strict }: Dialect): string[] {
  return [
    `CREATE TABLE triggers (
      id ${text} PRIMARY KEY,
      account_id ${text} NOT NULL,
      name ${text} NOT NULL,
      agent_id ${text} NOT NULL,
      kind ${text} NOT NULL,
      status ${text} NOT NULL,
      paused_reason ${text},
      cron ${text},
      time_zone ${text},
      overlap ${text} NOT NULL,
      catch_up_seconds ${integer},
      input ${text},
      thread_id ${text},
      key_id ${text} NOT NULL,
      next_fire_at ${integer},
      last_fire_at ${integer},
      previous_secret_expires_at ${integer},
      secret_number ${integer} NOT NULL,
      secret_key_id ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      updated_at ${integer} NOT NULL,
      UNIQUE (account_id, name)
    )${strict}`,
    "CREATE INDEX triggers_by_agent ON triggers (agent_id)",
    // Due triggers, also by account, because accounts take turns.
    `CREATE INDEX triggers_due ON triggers (next_fire_at, id) WHERE next_fire_at IS NOT NULL`,
    `CREATE INDEX triggers_due_by_account ON triggers (account_id, next_fire_at, id)
      WHERE next_fire_at IS NOT NULL`,
    `CREATE TABLE fires (
      id ${text} PRIMARY KEY,
      trigger_id ${text} NOT NULL,
      source ${text} NOT NULL,
      outcome ${text} NOT NULL,
      run_id ${text},
      scheduled_at ${integer},
      webhook_id ${text},
      missed_count ${integer} NOT NULL,
      error ${text},
      created_at ${integer} NOT NULL,
      ended_at ${integer} NOT NULL,
      fired_by_key_id ${text}
    )${strict}`,
    // The indexes make each instant of a schedule and each signed request fire only once.
    `CREATE UNIQUE INDEX fires_scheduled ON fires (trigger_id, scheduled_at)
      WHERE scheduled_at IS NOT NULL`,
    `CREATE UNIQUE INDEX fires_requested ON fires (trigger_id, webhook_id)
      WHERE webhook_id IS NOT NULL`,
    "CREATE INDEX fires_by_trigger ON fires (trigger_id, created_at, id)",
    // An outcome may be rare among very many fires.
    "CREATE INDEX fires_by_outcome ON fires (trigger_id, outcome, created_at, id)",
    "CREATE INDEX fires_by_age ON fires (ended_at)",
    // The key that fired a trigger by hand or could sign for it; it may not decide approvals.
    `ALTER TABLE runs ADD COLUMN fired_by_key_id ${text}`,
    `CREATE INDEX runs_live_by_trigger ON runs (trigger_id)
      WHERE trigger_id IS NOT NULL AND finished_at IS NULL`,
  ];
}

function writeOutbox({ integer, text, strict }: Dialect): string[] {
  return [
    // 1: not yet fanned out to endpoints.
    `ALTER TABLE outbox ADD COLUMN is_pending ${integer} NOT NULL DEFAULT 0`,
    `CREATE INDEX outbox_pending ON outbox (account_id, created_at, id) WHERE is_pending = 1`,
    // Accounts that have an endpoint; events of other accounts are not fanned out.
    `CREATE TABLE outbox_listeners (
      account_id ${text} PRIMARY KEY
    )${strict}`,
  ];
}

function writeEndpoints({ integer, text, strict }: Dialect): string[] {
  return [
    `CREATE TABLE webhook_endpoints (
      id ${text} PRIMARY KEY,
      account_id ${text} NOT NULL,
      url ${text} NOT NULL,
      events ${text} NOT NULL,
      description ${text},
      status ${text} NOT NULL,
      disabled_reason ${text},
      disabled_at ${integer},
      failing_since ${integer},
      last_success_at ${integer},
      last_failure_at ${integer},
      previous_secret_expires_at ${integer},
      pending_deliveries ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      updated_at ${integer} NOT NULL,
      failures ${integer} NOT NULL,
      secret_number ${integer} NOT NULL
    )${strict}`,
    "CREATE INDEX webhook_endpoints_by_account ON webhook_endpoints (account_id, created_at, id)",
    `CREATE INDEX webhook_endpoints_waiting ON webhook_endpoints (id)
      WHERE pending_deliveries > 0`,
    // Deleted endpoints whose deliveries are still to be deleted.
    `CREATE TABLE webhook_endpoints_gone (
      id ${text} PRIMARY KEY
    )${strict}`,
  ];
}

function writeDeliveries({ integer, text, strict, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE deliveries (
      id ${text} PRIMARY KEY,
      webhook_id ${text} NOT NULL,
      event_id ${text} NOT NULL,
      event_type ${text} NOT NULL,
      status ${text} NOT NULL,
      attempt_count ${integer} NOT NULL,
      next_attempt_at ${integer},
      last_response_status ${integer},
      last_error ${text},
      created_at ${integer} NOT NULL,
      completed_at ${integer},
      account_id ${text} NOT NULL,
      kind ${text} NOT NULL,
      tries ${integer} NOT NULL,
      lane ${integer} NOT NULL,
      epoch ${integer} NOT NULL
    )${strict}`,
    // Each filtered list merges few ranges and skips millions of rows that the filter excludes.
    `CREATE INDEX deliveries_by_endpoint
      ON deliveries (webhook_id, status, event_type, created_at, id)`,
    `CREATE INDEX deliveries_due ON deliveries (webhook_id, lane, next_attempt_at, id)
      WHERE status = 'pending' AND epoch = 0`,
    "CREATE INDEX deliveries_by_epoch ON deliveries (epoch) WHERE epoch > 0",
    "CREATE INDEX deliveries_by_age ON deliveries (created_at, id)",
    `CREATE TABLE delivery_attempts (
      delivery_id ${text} NOT NULL,
      number ${integer} NOT NULL,
      kind ${text} NOT NULL,
      started_at ${integer} NOT NULL,
      duration_ms ${integer} NOT NULL,
      response_status ${integer},
      response_body ${text},
      error ${text},
      PRIMARY KEY (delivery_id, number)
    )${clustered}`,
  ];
}
