// Approvals of every account, for operators.
import type { Database } from "../../database/index.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import { runStore } from "../runs/store/index.ts";
import { type Pinned, toolStore } from "../tools/http/store/index.ts";
import { findBuiltinTitle } from "../tools/titles.ts";
import type { ApprovalRow } from "./approval.ts";
import { type DecisionRequest, decideApproval } from "./decision.ts";
import { type ApprovalFilter, type ApprovedCall, approvalStore } from "./store.ts";

export interface ApprovalQueriesOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
}

export type ApprovalQuery = Pick<ApprovalFilter, "account_id" | "status" | "limit">;

interface OperatorInput extends Pick<DecisionRequest, "decision" | "reason"> {
  by: string;
  /** Whom the operator's link was made for; undefined: the operator decides. */
  person?: string;
}

/** A result that the run had before it asked. */
interface ReadResult {
  seq: number;
  tool: string;
  url: string | null;
  is_external: boolean;
  text: string;
  is_cut: boolean;
}

/** Maximum approvals read at once: the arguments of one may take 256 KB. */
const APPROVALS_AT_ONCE = 50;
const APPROVED_CALLS = { limit: 20, bytesMax: 256 * 1024 };
/** Each has at most 64 KB. */
const RESULTS = { limit: 200, bytesMax: 1024 * 1024 };
const TOOLS_AT_ONCE = 100;

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
    /** Lists the newest approved calls of the same agent and tool that came before. */
    listApproved: ({ agent_id, tool, decided_at }: ApprovalRow): Promise<ApprovedCall[]> =>
      approvals.listApproved({
        ...{ agent_id, tool, until: decided_at ?? clock.now() },
        ...APPROVED_CALLS,
      }),
    /** Lists the newest results that the run had before it asked, and whether these are all. */
    async listResults(approval: ApprovalRow): Promise<{ results: ReadResult[]; areAll: boolean }> {
      const { run_id, requested_at: until, external_sources } = approval;
      const urls = new Map(external_sources.map(({ seq, url }) => [seq, url ?? null]));
      const { limit, bytesMax } = RESULTS;
      const steps = await runs.listResults({ run_id, until, limit: limit + 1, bytesMax });
      const results = steps.slice(-limit).flatMap(({ seq, data }): ReadResult[] => {
        if (!data) return [];
        const { name: tool, external: is_external, content: text, truncated: is_cut } = data;
        return [{ seq, tool, url: urls.get(seq) ?? null, is_external, text, is_cut }];
      });
      return { results, areAll: results.length === steps.length };
    },
    /** Adds the titles of tools, of the revisions that are called. */
    async addTitles<R extends CalledTool>(rows: readonly R[]) {
      const titles = new Map<string, string | null>();
      for (const [account_id, own] of Map.groupBy(rows, (row) => row.account_id)) {
        const pinned = [...new Map(own.map((row) => [nameRevision(row), pin(row)])).values()];
        for (let at = 0; at < pinned.length; at += TOOLS_AT_ONCE) {
          const found = await tools.listPinned(account_id, pinned.slice(at, at + TOOLS_AT_ONCE));
          for (const one of found) titles.set(nameRevision({ ...one, tool: one.name }), one.title);
        }
      }
      return rows.map((row) => {
        const title = titles.get(nameRevision(row));
        return { ...row, tool_title: title === undefined ? findBuiltinTitle(row.tool) : title };
      });
    },
    /** Decides like a key would; throws what the approval's status forbids. */
    decide(approval_id: string, input: OperatorInput): Promise<ApprovalRow> {
      const { decision, reason, by, person } = input;
      const decided_by = { kind: "operator" as const, id: by, ...(person && { person }) };
      const request = { approval_id, account_id: null, decision, reason, decided_by };
      return decideApproval({ clock, ids }, runs, request);
    },
  };
}

export type ApprovalQueries = ReturnType<typeof createApprovalQueries>;

type CalledTool = Pick<ApprovalRow, "account_id" | "tool" | "revision">;

const pin = ({ tool: name, revision }: CalledTool): Pinned => ({ name, revision });

const nameRevision = ({ account_id, tool, revision }: CalledTool): string =>
  `${account_id} ${tool} ${revision}`;

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
