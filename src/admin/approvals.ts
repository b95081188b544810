// Approvals of every account: list, show, decide.
import { Type } from "@sinclair/typebox";
import {
  Approval,
  type ApprovalStatus,
  createAgentQueries,
  createApprovalQueries,
  createRunQueries,
  type Decision,
} from "../agents/index.ts";
import { ApiError } from "../platform/errors.ts";
import { maybe, Resource, Timestamp } from "../platform/schema.ts";
import type { AccountDirectory } from "./accounts.ts";
import { nameAgents } from "./agents.ts";
import type { AdminDeps } from "./deps.ts";
import { AdminError, requireById } from "./errors.ts";

const { properties: fields } = Approval;

export const ListedApproval = Resource("ListedApproval", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  agent_id: Type.String({ description: "The agent whose run it is." }),
  agent_name: maybe(Type.String({ description: "Its name; null: it was deleted." })),
  run_id: Type.String({ description: "The run that asks." }),
  tool: Type.String({ description: "The tool to call." }),
  preview: Type.Array(Type.String({ description: "A text, a number or a boolean." }), {
    description: "The first two arguments of at most 60 characters.",
  }),
  risk: fields.risk,
  why: fields.why,
  status: fields.status,
  requested_at: Timestamp("Time of the request."),
  expires_at: Timestamp("End of the time to decide."),
  decided_at: maybe(Timestamp("End of the wait: decided, expired or closed.")),
});

/** Context of an approval; null for a deleted agent or run, and for a built-in tool. */
export interface ApprovalSetting {
  account: string;
  agent_name: string | null;
  run_status: string | null;
  tool_description: string | null;
  tool_endpoint: string | null;
  run_message: string | null;
}

export interface ApprovalListOptions {
  account: string | null;
  status: ApprovalStatus | null;
  limit: number;
}

interface OperatorDecision {
  decision: Decision;
  reason: string | null;
  by: string;
}

const CONFLICTS: Readonly<Record<string, string>> = {
  approval_decided: "it was already decided the other way",
  approval_expired: "it was not decided in time and has expired",
  approval_closed: "its run has ended, and it was closed with it",
};

export function createApprovalAdmin(
  { database, clock, ids }: AdminDeps,
  directory: AccountDirectory,
) {
  const agents = createAgentQueries(database);
  const runs = createRunQueries({ database, clock, ids });
  const approvals = createApprovalQueries({ database, clock, ids });
  const require = (typed: string) => requireById("approval", typed, approvals.find);
  return {
    async list({ account, status, limit }: ApprovalListOptions) {
      const found = await directory.list(account, (account_id) =>
        approvals.list({ account_id, status, limit }),
      );
      return nameAgents(agents, found);
    },
    find: approvals.find,
    async show(typed: string) {
      const approval = await require(typed);
      const { agent_id, account_id, run_id } = approval;
      const run = await runs.find(run_id);
      const revision = await approvals.findRevision(approval);
      const setting: ApprovalSetting = {
        account: (await directory.names()).get(account_id)!,
        agent_name: (await agents.findName(agent_id, account_id)) ?? null,
        run_status: run?.status ?? null,
        tool_description: revision?.description ?? null,
        tool_endpoint: revision?.endpoint ?? null,
        run_message: run?.input.message ?? null,
      };
      return { approval, setting };
    },
    /** Idempotent: `isChanged` is false after an equal earlier decision. */
    async decide(typed: string, request: OperatorDecision) {
      const { id, status } = await require(typed);
      try {
        const approval = await approvals.decide(id, request);
        return { approval, isChanged: status !== request.decision };
      } catch (error) {
        const conflict = error instanceof ApiError && CONFLICTS[error.code];
        if (!conflict) throw error;
        throw new AdminError(`${conflict}: \`wadi approvals show ${id}\` tells more`, "conflict");
      }
    },
  };
}
