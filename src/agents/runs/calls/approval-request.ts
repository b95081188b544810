// What a person is asked: a call as it would be sent, and why it is not sent without them.
import { show } from "../../../platform/schema.ts";
import { Approval, type ApprovalRow, hashArguments } from "../../approvals/approval.ts";
import type { AgentsDeps } from "../../deps.ts";
import type { RunRow } from "../run.ts";
import type { ContentSource, RunState } from "../state.ts";
import type { NewStep, ToolCallData } from "../step.ts";
import type { ApprovalRequest } from "../store/wait.ts";

/**
 * Of all sources of an approval together. Each stands in every approval of a round, and there up to
 * five times: steps and events repeat it.
 */
const URL_CHARACTERS_MAX = 8_192;

interface Requesting {
  deps: Pick<AgentsDeps, "clock" | "ids">;
  state: RunState;
}

/** A run that asks: the steps that say so, and what it waits for from then on. */
export function requestDecisions(work: Requesting, row: RunRow, calls: readonly ToolCallData[]) {
  const { ids } = work.deps;
  const requests = calls.map((call) => requestApproval(work, row, call));
  const steps = requests.map(({ approval }): NewStep => {
    const data = { event: "requested" as const, approval: show(Approval, approval) };
    return { id: ids.uuid(), round: row.usage.rounds, kind: "approval", data };
  });
  const asked = requests.map(({ approval }) => approval.id);
  const pending_approvals = [...row.pending_approvals, ...asked];
  return { progress: { ...row, pending_approvals }, steps, requests };
}

/** Where many long addresses do not fit, the step of the result has them. */
function tellSources(sources: readonly ContentSource[]): Approval["external_sources"] {
  let left = URL_CHARACTERS_MAX;
  return sources.map(({ seq, tool, url }) => {
    left -= url?.length ?? 0;
    return { seq, tool, url: left < 0 ? null : url };
  });
}

function requestApproval(
  { deps: { clock, ids }, state }: Requesting,
  row: RunRow,
  call: ToolCallData,
): ApprovalRequest {
  const now = clock.now();
  const approval: ApprovalRow = {
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
    external_sources: tellSources(state.sources),
    status: "pending",
    reason: null,
    decided_by: null,
    requested_at: now,
    // agents.does.risk.p1
    expires_at: now + state.version.policy.approval_ttl_seconds * 1000,
    decided_at: null,
    account_id: row.account_id,
  };
  return { approval, event_id: ids.uuid() };
}
