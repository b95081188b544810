// An approval as an engine creates it: its rows and its step.
import { Approval, type ApprovalRow } from "../../../src/agents/approvals/approval.ts";
import type { NewStep } from "../../../src/agents/runs/step.ts";
import type { ApprovalRequest } from "../../../src/agents/runs/store/round.ts";
import { show } from "../../../src/platform/schema.ts";
import type { Json, RunsFront } from "./runs-front.ts";

export function makeApproval(
  front: RunsFront,
  run: Json,
): { request: ApprovalRequest; step: NewStep } {
  const now = front.clock.now();
  const approval: ApprovalRow = {
    id: crypto.randomUUID(),
    run_id: run.id,
    agent_id: run.agent_id,
    thread_id: run.thread_id,
    tool_call_id: `call_${crypto.randomUUID()}`,
    ...{ tool: "send_letter", revision: 1, risk: "write", arguments: { to: "x" } },
    arguments_sha256: "0".repeat(64),
    ...{ why: ["write"], external_sources: [], status: "pending", reason: null },
    ...{ decided_by: null, requested_at: now, expires_at: now + 60_000, decided_at: null },
    account_id: front.account_id,
  };
  const data = { event: "requested" as const, approval: show(Approval, approval) };
  return {
    request: { approval, event_id: crypto.randomUUID() },
    step: { id: crypto.randomUUID(), kind: "approval", round: 1, data },
  };
}
