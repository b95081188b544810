// Approvals as the operator finds and decides them, of whichever account.
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/index.ts";
import type { Ids } from "../../platform/ids.ts";
import { runStore } from "../runs/store/index.ts";
import { toolStore } from "../tools/http/store.ts";
import type { ApprovalRow } from "./approval.ts";
import { decideApproval } from "./deciding.ts";
import type { Decision } from "./decision-table.ts";
import { type ApprovalFilter, approvalStore } from "./store.ts";

export interface ApprovalBookOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
}

/** null: whatever. */
export type ApprovalBookFilter = Pick<ApprovalFilter, "account_id" | "status" | "limit">;

export interface OperatorDecision {
  decision: Decision;
  /** null: none. */
  reason: string | null;
  /** The name of the person. */
  by: string;
}

/** So many are read at once: the arguments of one may take 256 KB. */
const APPROVALS_AT_ONCE = 50;

export function createApprovalBook({ database, clock, ids }: ApprovalBookOptions) {
  const approvals = database.bind(approvalStore);
  const runs = database.bind(runStore);
  const tools = database.bind(toolStore);
  return {
    /** Newest first, without what only one alone is looked at for. */
    async list({ account_id, status, limit }: ApprovalBookFilter) {
      const filter = { account_id, status, agent_id: null, run_id: null };
      const found: ReturnType<typeof shorten>[] = [];
      let before: ApprovalFilter["before"] = null;
      while (found.length < limit) {
        const wanted = Math.min(limit - found.length, APPROVALS_AT_ONCE);
        const rows: readonly ApprovalRow[] = await approvals.list({
          ...filter,
          ...{ before, limit: wanted },
        });
        found.push(...rows.map(shorten));
        if (rows.length < wanted) break;
        const { requested_at: at, id } = rows.at(-1)!;
        before = { at, id };
      }
      return found;
    },
    /** undefined: there is none of this id. */
    find: (id: string): Promise<ApprovalRow | undefined> => approvals.find(id),
    /** The revision of a caller's tool that would be called; undefined: the tool is built in. */
    findRevision: async ({ account_id, tool: name, revision }: ApprovalRow) =>
      (await tools.listPinned(account_id, [{ name, revision }]))[0],
    /** As for a key: the approval as it is then; what its state does not allow is refused. */
    decide(approval_id: string, { decision, reason, by }: OperatorDecision): Promise<ApprovalRow> {
      const decided_by = { kind: "operator" as const, id: by };
      const wish = { approval_id, account_id: null, decision, reason, decided_by };
      return decideApproval({ clock, ids }, runs, wish);
    },
  };
}
export type ApprovalBook = ReturnType<typeof createApprovalBook>;

function shorten({ arguments: _, external_sources: __, ...short }: ApprovalRow) {
  return short;
}
