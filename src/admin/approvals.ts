// Approvals of every account: list, show, decide.
import { Type } from "@sinclair/typebox";
import type { Access, Account } from "../access/index.ts";
import {
  type AgentQueries,
  Approval,
  type ApprovalQueries,
  type ApprovalStatus,
  type Decision,
  type RunQueries,
} from "../agents/index.ts";
import { ApiError } from "../platform/errors.ts";
import { maybe, Resource, Timestamp } from "../platform/schema.ts";
import { nameAccounts } from "./accounts.ts";
import { AdminError, readId } from "./errors.ts";

const { properties: fields } = Approval;

export const ListedApproval = Resource("ListedApproval", {
  id: Type.String({ description: "Identifier." }),
  account: Type.String({ description: "The owner's name." }),
  agent_id: Type.String({ description: "The agent whose run it is." }),
  run_id: Type.String({ description: "The run that waits, or waited." }),
  tool: Type.String({ description: "The tool that would be called." }),
  risk: fields.risk,
  why: fields.why,
  status: fields.status,
  requested_at: Timestamp("When it was requested."),
  expires_at: Timestamp("From then on nobody can decide it."),
  decided_at: maybe(Timestamp("When it was decided, expired or was closed; null: it is pending.")),
});

/** Context that a person needs to decide. */
export const ApprovalSetting = Resource("ApprovalSetting", {
  account: Type.String({ description: "The owner's name." }),
  agent_name: maybe(Type.String({ description: "The agent's name; null: it is gone." })),
  run_status: maybe(Type.String({ description: "Where its run stands; null: it is gone." })),
  tool_description: maybe(
    Type.String({ description: "What its owner says the tool does; null: it is built in." }),
  ),
  tool_endpoint: maybe(
    Type.String({ description: "The URL that the arguments are sent to; null: it is built in." }),
  ),
  run_message: maybe(Type.String({ description: "What the run was asked; null: it is gone." })),
});

export interface ApprovalListOptions {
  account: string | null;
  status: ApprovalStatus | null;
  limit: number;
}

export interface DecisionRequest {
  decision: Decision;
  reason: string | null;
  /** Name of the person who decides. */
  by: string;
}

export interface ApprovalAdminOptions {
  access: Pick<Access, "accounts">;
  agents: AgentQueries;
  runs: RunQueries;
  approvals: ApprovalQueries;
  requireAccount(name: string): Promise<Account>;
}

const VERB = "wadi approvals list";
const REFUSED: Readonly<Record<string, string>> = {
  approval_decided: "it was already decided the other way",
  approval_expired: "nobody decided it in time, and it has expired",
  approval_closed: "its run has ended, and it was closed with it",
};

export function createApprovalAdmin(options: ApprovalAdminOptions) {
  const { access, agents, runs, approvals, requireAccount } = options;
  const require = async (typed: string) => {
    const id = readId(typed, "approval's id", VERB);
    const found = await approvals.find(id);
    if (found) return found;
    throw new AdminError(`there is no approval "${id}": see \`${VERB}\``);
  };
  return {
    /** Newest first. */
    async list({ account, status, limit }: ApprovalListOptions) {
      const owner = account === null ? null : await requireAccount(account);
      const names = await nameAccounts(access);
      const found = await approvals.list({ account_id: owner?.id ?? null, status, limit });
      return found.map((one) => ({ ...one, account: names.get(one.account_id)! }));
    },
    async show(typed: string) {
      const approval = await require(typed);
      const { agent_id, account_id, run_id } = approval;
      const run = await runs.find(run_id);
      const revision = await approvals.findRevision(approval);
      const setting = {
        account: (await nameAccounts(access)).get(account_id)!,
        agent_name: (await agents.findName(agent_id, account_id)) ?? null,
        tool_description: revision?.description ?? null,
        tool_endpoint: revision?.endpoint ?? null,
        run_status: run?.status ?? null,
        run_message: run?.input.message ?? null,
      };
      return { approval, setting };
    },
    /** Idempotent: `was_decided` reports an equal earlier decision. */
    async decide(typed: string, request: DecisionRequest) {
      const { id, status } = await require(typed);
      try {
        const approval = await approvals.decide(id, request);
        return { approval, was_decided: status === request.decision };
      } catch (failure) {
        const why = failure instanceof ApiError && REFUSED[failure.code];
        if (!why) throw failure;
        throw new AdminError(`${why}: \`wadi approvals show ${id}\` tells more`);
      }
    },
  };
}
