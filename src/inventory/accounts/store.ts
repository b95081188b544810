// Deletion of accounts: each is gone at once, and its rows in all tables follow in parts.
import { type Static, Type } from "@sinclair/typebox";
import { dropApprovalLinks } from "../../access/approval-links/store.ts";
import { dropHolds } from "../../access/holds/store.ts";
import { removeAccount } from "../../access/store.ts";
import { deleteAgents } from "../../agents/definitions/store.ts";
import { deleteEvaluations } from "../../agents/evaluations/store.ts";
import { deleteRunSums, deleteRuns } from "../../agents/runs/store/retention.ts";
import { deleteThreads } from "../../agents/threads/store.ts";
import { deleteConnections } from "../../agents/tools/connections/store.ts";
import { deleteTools } from "../../agents/tools/http/store/index.ts";
import { deleteServers } from "../../agents/tools/mcp/store.ts";
import {
  countRows,
  type Db,
  type DeletedPart,
  sql,
  store,
  type Tx,
  type WalkPart,
} from "../../database/index.ts";
import { dropBudgets } from "../../gateway/budgets/store.ts";
import { deleteEntries } from "../../gateway/request-log/store/index.ts";
import { deleteSums, sumRequests } from "../../gateway/request-log/store/usage-sums.ts";
import { dropGrants } from "../../models/store.ts";
import { deleteEvents, setAccountListening } from "../../outbox/store.ts";
import { dropAllStored } from "../../storage/store.ts";
import { deleteTriggers } from "../../triggers/store/change.ts";
import { sweepGone } from "../../webhooks/store/deliveries.ts";
import { deleteEndpoints } from "../../webhooks/store/endpoints.ts";

const AccountDeletion = Type.Object({
  account_id: Type.String(),
  name: Type.String(),
  begun_at: Type.Integer(),
});
export type AccountDeletion = Static<typeof AccountDeletion>;

type DeletePart = (tx: Tx, part: WalkPart) => Promise<DeletedPart>;

const indexed =
  (remove: (tx: Tx, account_id: string, limit: number) => Promise<DeletedPart>): DeletePart =>
  (tx, { account_id, limit }) =>
    remove(tx, account_id, limit);

/** Kinds of rows in the order of their deletion: what starts work goes first. */
const PARTS = {
  triggers: indexed(deleteTriggers),
  endpoints: indexed(deleteEndpoints),
  runs: indexed(deleteRuns),
  "sums of runs": indexed(deleteRunSums),
  evaluations: indexed(deleteEvaluations),
  threads: indexed(deleteThreads),
  agents: indexed(deleteAgents),
  "mcp servers": indexed(deleteServers),
  tools: indexed(deleteTools),
  connections: indexed(deleteConnections),
  events: deleteEvents,
  async deliveries(tx, { limit }) {
    const rows = await sweepGone(tx, limit);
    return { rows, next: rows < limit ? null : "" };
  },
  requests: deleteEntries,
  "sums of requests": deleteSums,
} satisfies Record<string, DeletePart>;

export type AccountPart = keyof typeof PARTS;
export const ACCOUNT_PARTS = Object.keys(PARTS) as AccountPart[];

export const accountDeletionStore = store(
  "account_deletions",
  {
    /** Counts what an account has; its requests are counted by their sums. */
    count: async (db, account_id: string) => {
      const of = (table: Parameters<typeof countRows>[1]) =>
        countRows(db, sql`FROM ${table} WHERE account_id = ${account_id}`);
      return {
        keys: await of(sql`keys`),
        agents: await of(sql`agents`),
        threads: await of(sql`threads`),
        runs: await of(sql`runs`),
        "unfinished runs": await countRows(
          db,
          sql`FROM runs WHERE finished_at IS NULL AND account_id = ${account_id}`,
        ),
        approvals: await of(sql`approvals`),
        "mcp servers": await of(sql`mcp_servers`),
        tools: await of(sql`tools`),
        connections: await of(sql`connections`),
        triggers: await of(sql`triggers`),
        endpoints: await of(sql`webhook_endpoints`),
        deliveries: await countDeliveries(db, account_id),
        requests: await sumRequests(db, account_id),
      };
    },
    list: (db) =>
      db.all(AccountDeletion, sql`SELECT * FROM account_deletions ORDER BY begun_at, account_id`),
  },
  {
    /** Deletes the account with its keys, grants and holds; its other rows are deleted by parts. */
    begin: async (tx, { account_id, name, begun_at }: AccountDeletion) => {
      await tx.run(
        sql`INSERT INTO account_deletions (account_id, name, begun_at)
            VALUES (${account_id}, ${name}, ${begun_at}) ON CONFLICT DO NOTHING`,
      );
      await dropGrants(tx, account_id);
      await dropHolds(tx, account_id);
      await dropApprovalLinks(tx, account_id);
      const keys = await removeAccount(tx, account_id);
      await dropBudgets(tx, [`account ${account_id}`, ...keys.map((id) => `key ${id}`)]);
      await setAccountListening(tx, account_id, false);
    },
    deletePart: (tx, part: AccountPart, where: WalkPart) => PARTS[part](tx, where),
    /** Forgets the deletion, once no row is left and none can come. */
    end: async (tx, account_id: string) => {
      await dropAllStored(tx, account_id);
      await dropBudgets(tx, [`account ${account_id}`]);
      await tx.run(sql`DELETE FROM account_deletions WHERE account_id = ${account_id}`);
    },
  },
);

function countDeliveries(db: Db, account_id: string): Promise<number> {
  return countRows(
    db,
    sql`FROM deliveries WHERE webhook_id IN
          (SELECT id FROM webhook_endpoints WHERE account_id = ${account_id})`,
  );
}
