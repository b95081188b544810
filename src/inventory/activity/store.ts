// Work that waits or is under way, counted across modules from the indexes of what is unfinished.
import { type Static, Type } from "@sinclair/typebox";
import { countRows, sql, store } from "../../database/index.ts";
import { maybe } from "../../platform/schema.ts";

const StatusCount = Type.Object({ status: Type.String(), count: Type.Integer() });
const AgentCount = Type.Object({ account_id: Type.String(), count: Type.Integer() });
const Pending = Type.Object({
  count: Type.Integer(),
  oldest: maybe(Type.Integer()),
  /** Earliest expiry. */
  next: maybe(Type.Integer()),
});
const Endpoints = Type.Object({
  waiting: Type.Integer(),
  failing: Type.Integer(),
  disabled: Type.Integer(),
});

const ProcessRow = Type.Object({
  epoch: Type.Integer(),
  started_at: Type.Integer(),
  address: maybe(Type.String()),
  pid: maybe(Type.Integer()),
  version: maybe(Type.String()),
  schema_number: maybe(Type.Integer()),
  state: maybe(Type.String()),
  settings_hash: maybe(Type.String()),
  settings_fault: maybe(Type.String()),
  key_ids: maybe(Type.String()),
  reloads_asked: Type.Integer(),
  reloads_done: Type.Integer(),
  /** Runs and deliveries that it has claimed. */
  runs: Type.Integer(),
  deliveries: Type.Integer(),
});

const LeaseRow = Type.Object({ name: Type.String(), epoch: Type.Integer() });

export interface WorkCounts {
  /** Unfinished runs by their status. */
  runs: ReadonlyMap<string, number>;
  /** Unfinished runs whose processes crashed again and again. */
  suspects: number;
  approvals: Static<typeof Pending>;
  /** Deliveries that wait, and endpoints that fail or were disabled for failing. */
  webhooks: Static<typeof Endpoints>;
}

export const activityStore = store(
  "activity",
  {
    count: async (db): Promise<WorkCounts> => {
      const runs = await db.all(
        StatusCount,
        sql`SELECT status, COUNT(*) AS count FROM runs WHERE finished_at IS NULL GROUP BY status`,
      );
      const approvals = await db.one(
        Pending,
        sql`SELECT COUNT(*) AS count, MIN(requested_at) AS oldest,
              MIN(expires_at) AS next FROM approvals WHERE status = 'pending'`,
      );
      const webhooks = await db.one(
        Endpoints,
        sql`SELECT COALESCE(SUM(pending_deliveries), 0) AS waiting,
              COALESCE(SUM(CASE WHEN status = 'enabled' AND failing_since IS NOT NULL
                THEN 1 ELSE 0 END), 0) AS failing,
              COALESCE(SUM(CASE WHEN disabled_reason IN ('failing', 'gone')
                THEN 1 ELSE 0 END), 0) AS disabled
            FROM webhook_endpoints`,
      );
      return {
        runs: new Map(runs.map(({ status, count }) => [status, count])),
        suspects: await countRows(db, sql`FROM runs WHERE crashes >= 2 AND finished_at IS NULL`),
        approvals: approvals!,
        webhooks: webhooks!,
      };
    },
    /** Live processes on the data, and what they hold. */
    listProcesses: (db) =>
      db.all(
        ProcessRow,
        sql`SELECT epoch, started_at, address, pid, version, schema_number, state, settings_hash,
              settings_fault, key_ids, reloads_asked, reloads_done,
              (SELECT COUNT(*) FROM runs WHERE epoch > 0 AND epoch = processes.epoch) AS runs,
              (SELECT COUNT(*) FROM deliveries WHERE epoch > 0 AND epoch = processes.epoch)
                AS deliveries
            FROM processes WHERE ended_at IS NULL ORDER BY epoch`,
      ),
    /** Leases of live and dead processes, such as "model server qwen3-32b". */
    listLeases: (db) => db.all(LeaseRow, sql`SELECT name, epoch FROM leases ORDER BY name`),
    countHeld: async (db, epoch: number) =>
      (await countRows(db, sql`FROM leases WHERE epoch = ${epoch}`)) +
      (await countRows(db, sql`FROM runs WHERE epoch > 0 AND epoch = ${epoch}`)) +
      (await countRows(db, sql`FROM deliveries WHERE epoch > 0 AND epoch = ${epoch}`)),
    /** Unfinished runs that act for a key. */
    countRunsOfKey: (db, key_id: string) =>
      countRows(db, sql`FROM runs WHERE finished_at IS NULL AND started_by_key_id = ${key_id}`),
    /** Agents that are not archived, by account. */
    countAgents: async (db): Promise<ReadonlyMap<string, number>> => {
      const counts = await db.all(
        AgentCount,
        sql`SELECT account_id, COUNT(*) AS count FROM agents WHERE status = 'active'
            GROUP BY account_id`,
      );
      return new Map(counts.map(({ account_id, count }) => [account_id, count]));
    },
  },
  {},
);
