// Approvals of every account: list, show, decide.
import { Type } from "@sinclair/typebox";
import type { LinkScope } from "../access/index.ts";
import {
  Approval,
  type ApprovalRow,
  type ApprovalStatus,
  createAgentQueries,
  createApprovalQueries,
  type Decision,
} from "../agents/index.ts";
import { ApiError } from "../platform/errors.ts";
import { maybe, Resource, Timestamp } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import { nameAgents } from "./agents.ts";
import { createContextReader } from "./approval-context.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, requireById, unknownId } from "./errors.ts";

const { properties: fields } = Approval;

export const ListedApproval = Resource("ListedApproval", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  agent_id: Type.String({ description: "The agent whose run it is." }),
  agent_name: maybe(Type.String({ description: "Its name; null: it was deleted." })),
  run_id: Type.String({ description: "The run that asks." }),
  tool: Type.String({ description: "The tool to call." }),
  tool_title: maybe(Type.String({ description: "Its name for people; null: it has none." })),
  preview: Type.Array(Type.String({ description: "A text, a number or a boolean." }), {
    description: "The first two arguments of at most 60 characters.",
  }),
  risk: fields.risk,
  why: fields.why,
  status: fields.status,
  requested_at: Timestamp("Time of the request."),
  expires_at: Timestamp("End of the time to decide."),
  reason: fields.reason,
  decided_by: fields.decided_by,
  decided_at: maybe(Timestamp("End of the wait: decided, expired or closed.")),
});

export interface ApprovalListOptions {
  account: string | null;
  status: ApprovalStatus | null;
  limit: number;
  scope?: LinkScope | undefined;
}

interface OperatorDecision {
  decision: Decision;
  reason: string | null;
  by: string;
  scope?: LinkScope | undefined;
}

const CONFLICTS: Readonly<Record<string, string>> = {
  approval_decided: "it was already decided the other way",
  approval_expired: "it was not decided in time and has expired",
  approval_closed: "its run has ended, and it was closed with it",
};

export function createApprovalAdmin(deps: AdminDeps, directory: AccountDirectory) {
  const agents = createAgentQueries(deps.database);
  const approvals = createApprovalQueries(deps);
  const readContext = createContextReader(deps, approvals, directory);
  const require = async (typed: string, scope?: LinkScope) => {
    const found = await requireById("approval", typed, approvals.find);
    // A link does not tell that others exist.
    return isInScope(found, scope) ? found : unknownId("approval", found.id);
  };
  return {
    async list({ account, status, limit, scope }: ApprovalListOptions) {
      if (scope && scope.approval_id !== null) {
        throw new AdminError("this link shows one approval, and no list");
      }
      // A name in a link's request is not looked up: the answer would tell which names exist.
      const found = await directory.list(scope ? null : account, (asked) =>
        approvals.list({ account_id: scope?.account_id ?? asked, status, limit }),
      );
      return approvals.addTitles(await nameAgents(agents, found));
    },
    find: approvals.find,
    /** Returns the title of the tool that is called, else its name. */
    async nameTool(approval: ApprovalRow): Promise<string> {
      const [titled] = await approvals.addTitles([approval]);
      return titled?.tool_title ?? approval.tool;
    },
    async show(typed: string, scope?: LinkScope) {
      const approval = await require(typed, scope);
      return { approval, context: await readContext(approval) };
    },
    /** Idempotent: `isChanged` is false after an equal earlier decision. */
    async decide(typed: string, { scope, ...request }: OperatorDecision) {
      const { id, status } = await require(typed, scope);
      try {
        const person = scope && { person: scope.person };
        const approval = await approvals.decide(id, { ...request, ...person });
        return { approval, isChanged: status !== request.decision };
      } catch (error) {
        const conflict = error instanceof ApiError && CONFLICTS[error.code];
        if (!conflict) throw error;
        throw new AdminError(`${conflict}: \`wadi approvals show ${id}\` tells more`, "conflict");
      }
    },
  };
}

export type ApprovalAdmin = ReturnType<typeof createApprovalAdmin>;

function isInScope({ id, account_id }: Pick<ApprovalRow, "id" | "account_id">, scope?: LinkScope) {
  if (!scope) return true;
  return account_id === scope.account_id && (scope.approval_id ?? id) === id;
}
