// Approvals of every account, for operators.
import type { Database } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import { runStore } from "../runs/store/index.ts";
import { toolStore } from "../tools/http/store.ts";
import type { ApprovalRow } from "./approval.ts";
import { type Decision, decideApproval } from "./decision.ts";
import { type ApprovalFilter, approvalStore } from "./store.ts";

export interface ApprovalQueriesOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
}

export type ApprovalQuery = Pick<ApprovalFilter, "account_id" | "status" | "limit">;

interface OperatorInput {
  decision: Decision;
  reason: string | null;
  by: string;
}

/** Maximum approvals read at once: the arguments of one may take 256 KB. */
const APPROVALS_AT_ONCE = 50;

export function createApprovalQueries({ database, clock, ids }: ApprovalQueriesOptions) {
  const approvals = database.bind(approvalStore);
  const runs = database.bind(runStore);
  const tools = database.bind(toolStore);
  return {
    async list({ account_id, status, limit }: ApprovalQuery) {
      const filter = { account_id, status, agent_id: null, run_id: null };
      const found: ReturnType<typeof summarize>[] = [];
      let before: ApprovalFilter["before"] = null;
      while (found.length < limit) {
        const wanted = Math.min(limit - found.length, APPROVALS_AT_ONCE);
        const rows: readonly ApprovalRow[] = await approvals.list({
          ...filter,
          before,
          limit: wanted,
        });
        found.push(...rows.map(summarize));
        if (rows.length < wanted) break;
        const { requested_at: at, id } = rows.at(-1)!;
        before = { at, id };
      }
      return found;
    },
    find: (id: string): Promise<ApprovalRow | undefined> => approvals.find(id),
    /** Finds the revision of a caller's tool; built-in tools have none. */
    findRevision: async ({ account_id, tool: name, revision }: ApprovalRow) =>
      (await tools.listPinned(account_id, [{ name, revision }]))[0],
    /** Decides like a key would; throws what the approval's status forbids. */
    decide(approval_id: string, { decision, reason, by }: OperatorInput): Promise<ApprovalRow> {
      const decided_by = { kind: "operator" as const, id: by };
      const request = { approval_id, account_id: null, decision, reason, decided_by };
      return decideApproval({ clock, ids }, runs, request);
    },
  };
}

const PREVIEW_VALUES_MAX = 2;
const PREVIEW_CHARACTERS_MAX = 60;

/** Replaces the arguments, which may be long, by the first short ones. */
function summarize({ arguments: sent, external_sources: _, ...short }: ApprovalRow) {
  const preview = Object.values(sent as Record<string, unknown>)
    .filter((value) => ["string", "number", "boolean"].includes(typeof value))
    .map(String)
    .filter((value) => value !== "" && value.length <= PREVIEW_CHARACTERS_MAX);
  return { ...short, preview: preview.slice(0, PREVIEW_VALUES_MAX) };
}
