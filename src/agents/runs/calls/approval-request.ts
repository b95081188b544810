// The approval that a call requests: the call as it would be sent, and why a person is asked.
import { type Approval, type ApprovalRow, hashArguments } from "../../approvals/approval.ts";
import type { RunContext } from "../run-context.ts";
import type { ContentSource } from "../state.ts";
import type { ToolCallData } from "../step.ts";

/** Maximum characters of all addresses of an approval, which steps and events repeat. */
const URL_CHARACTERS_MAX = 8_192;

export function makeApproval(
  { deps, state }: Pick<RunContext, "deps" | "state">,
  call: ToolCallData,
): ApprovalRow {
  const { row, version, sources } = state;
  const now = deps.clock.now();
  return {
    id: call.approval_id!,
    run_id: row.id,
    agent_id: row.agent_id,
    thread_id: row.thread_id,
    tool_call_id: call.tool_call_id,
    tool: call.name,
    revision: call.revision,
    risk: call.risk!,
    arguments: call.arguments,
    arguments_sha256: hashArguments(call.arguments),
    why: call.why,
    external_sources: listSources(sources),
    status: "pending",
    reason: null,
    decided_by: null,
    requested_at: now,
    // agents.does.risk.p1
    expires_at: now + version.policy.approval_ttl_seconds * 1000,
    decided_at: null,
    account_id: row.account_id,
  };
}

/** Addresses that don't fit are left to the steps of their results. */
function listSources(sources: readonly ContentSource[]): Approval["external_sources"] {
  let left = URL_CHARACTERS_MAX;
  return sources.map(({ seq, tool, url }) => {
    left -= url?.length ?? 0;
    return { seq, tool, url: left < 0 ? null : url };
  });
}
