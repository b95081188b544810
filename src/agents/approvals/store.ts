// The store of approvals, for reads only: the store of runs writes them with their runs.
import { type Static, Type } from "@sinclair/typebox";
import { none, type Sql, sql, store, type Tx, WaitingRows } from "../../database/index.ts";
import { recordEvents } from "../../outbox/store.ts";
import { maybe, Row, show, Timestamp } from "../../platform/schema.ts";
import { Approval, ApprovalRow } from "./approval.ts";

const FoundApproval = Row(ApprovalRow, {
  started_by_key_id: maybe(Type.String()),
  fired_by_key_id: maybe(Type.String()),
});
export type FoundApproval = Static<typeof FoundApproval>;

export interface ApprovalFilter {
  account_id: string | null;
  agent_id: string | null;
  run_id: string | null;
  status: Approval["status"] | null;
  before: { at: number; id: string } | null;
  limit: number;
}

/** A call that was approved earlier, with what a comparison needs. */
export const ApprovedCall = Type.Object({
  id: Type.String({ description: "Id of its approval." }),
  arguments: ApprovalRow.properties.arguments,
  decided_by: ApprovalRow.properties.decided_by,
  decided_at: Timestamp("When it was approved."),
});
export type ApprovedCall = Static<typeof ApprovedCall>;

export interface ApprovedCallFilter {
  agent_id: string;
  tool: string;
  /** Milliseconds since 1970; calls that were approved before. */
  until: number;
  limit: number;
  /** Maximum bytes of all their arguments; older calls that exceed them are left out. */
  bytesMax: number;
}

const Id = Type.Object({ id: Type.String() });
const Expiry = Type.Object({ expires_at: Type.Integer() });

/** Condition as literal text, so that the partial index of pending approvals is used. */
const PENDING = sql`AND status = 'pending'`;

function whereStatus(status: ApprovalFilter["status"]): Sql {
  if (status === "pending") return PENDING;
  return status === null ? none : sql`AND status = ${status}`;
}

function startBehind({ at, id }: NonNullable<ApprovalFilter["before"]>): Sql {
  return sql`AND (requested_at, id) < (${at}, ${id})`;
}

export const approvalStore = store(
  "approvals",
  {
    find: (db, id: string) =>
      db.one(
        FoundApproval,
        sql`SELECT approvals.*, runs.started_by_key_id, runs.fired_by_key_id FROM approvals
            JOIN runs ON runs.id = approvals.run_id WHERE approvals.id = ${id}`,
      ),
    list: (db, { account_id, agent_id, run_id, status, before, limit }: ApprovalFilter) =>
      db.all(
        ApprovalRow,
        sql`SELECT * FROM approvals WHERE requested_at > 0
              ${account_id === null ? none : sql`AND account_id = ${account_id}`}
              ${agent_id === null ? none : sql`AND agent_id = ${agent_id}`}
              ${run_id === null ? none : sql`AND run_id = ${run_id}`}
              ${whereStatus(status)}
              ${before === null ? none : startBehind(before)}
            ORDER BY requested_at DESC, id DESC LIMIT ${limit}`,
      ),
    /** Newest first. */
    listApproved: (db, { agent_id, tool, until, limit, bytesMax }: ApprovedCallFilter) =>
      db.all(
        ApprovedCall,
        sql`SELECT id, arguments, decided_by, decided_at FROM (
              SELECT id, arguments, decided_by, decided_at, SUM(OCTET_LENGTH(arguments))
                OVER (ORDER BY decided_at DESC, id DESC) AS bytes
              FROM (SELECT * FROM approvals
                WHERE status = 'approved' AND agent_id = ${agent_id} AND tool = ${tool}
                  AND decided_at < ${until}
                ORDER BY decided_at DESC, id DESC LIMIT ${limit}) AS newest
            ) AS sums WHERE bytes <= ${bytesMax} ORDER BY decided_at DESC, id DESC`,
      ),
    listOverdue: async (db, now: number, limit: number) => {
      const rows = await db.all(
        Id,
        sql`SELECT id FROM approvals WHERE status = 'pending' AND expires_at <= ${now}
            ORDER BY expires_at LIMIT ${limit}`,
      );
      return rows.map(({ id }) => id);
    },
    countPending: async (db, countedMax: number) =>
      (await db.one(
        WaitingRows,
        sql`SELECT COUNT(*) AS count, MIN(requested_at) AS oldest
            FROM (SELECT requested_at FROM approvals WHERE status = 'pending'
              LIMIT ${countedMax}) AS pending`,
      ))!,
    findNextExpiry: async (db) =>
      (
        await db.one(
          Expiry,
          sql`SELECT expires_at FROM approvals WHERE status = 'pending'
              ORDER BY expires_at LIMIT 1`,
        )
      )?.expires_at,
  },
  {},
);

/** Part of a transaction, agents.events.webhook.4: records the event of a request or a decision. */
export async function recordApprovalEvent(
  tx: Tx,
  type: "approval.requested" | "approval.decided",
  approval: ApprovalRow,
  { id, at }: { id: string; at: number },
): Promise<void> {
  const { account_id } = approval;
  tx.tell("approval", approval.id);
  const data = { approval: show(Approval, approval) };
  await recordEvents(tx, { id, account_id, type, at, data });
}
