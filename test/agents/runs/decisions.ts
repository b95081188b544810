// Reads of a run's approvals, and decisions on them.
import { expect } from "bun:test";
import type { Approval, ApprovalRow } from "../../../src/agents/approvals/approval.ts";
import { type Decision, decideApproval } from "../../../src/agents/approvals/decision.ts";
import type { Trial } from "./trial.ts";

const FILTER = { account_id: null, agent_id: null, status: null, before: null, limit: 100 };

/** The run's approvals in the order of their requests. */
export async function approvalsOf(trial: Trial, run_id: string): Promise<ApprovalRow[]> {
  return (await trial.approvals.list({ ...FILTER, run_id })).toReversed();
}

export async function pendingOf(trial: Trial, run_id: string): Promise<ApprovalRow[]> {
  return (await approvalsOf(trial, run_id)).filter(({ status }) => status === "pending");
}

/** Decides like the route, with an authorized key. */
export function decide(
  trial: Trial,
  approval_id: string,
  decision: Decision,
  reason: string | null = null,
): Promise<ApprovalRow> {
  const { clock, ids, store } = trial;
  return decideApproval({ clock, ids }, store, {
    ...{ approval_id, account_id: "a-1", decision, reason },
    decided_by: { kind: "key", id: "k-2" },
  });
}

/** The code of a refusal, or `accepted`. */
export const codeOf = (deciding: Promise<unknown>): Promise<string> =>
  deciding.then(
    () => "accepted",
    (refusal: { code: string }) => refusal.code,
  );

/** Decides every pending approval of a run. */
export async function decideAll(trial: Trial, run_id: string, decision: Decision): Promise<number> {
  const pending = await pendingOf(trial, run_id);
  for (const { id } of pending) await decide(trial, id, decision);
  return pending.length;
}

/** Checks that row, steps and events of each approval agree, once each. */
export async function verifyApprovals(trial: Trial, run_id: string): Promise<void> {
  const rows = await approvalsOf(trial, run_id);
  const steps = (await trial.steps(run_id))
    .filter(({ kind }) => kind === "approval")
    .map(({ data }) => data as { event: string; approval: Approval });
  const events = (await trial.outbox.list("a-1")).map(({ type, data }) => ({
    ...{ type, approval: JSON.parse(data).approval as Approval | undefined },
  }));
  for (const { id, status } of rows) {
    const history = steps.filter(({ approval }) => approval.id === id);
    const after = status === "pending" ? [] : [status];
    expect(history.map(({ event }) => event)).toEqual(["requested", ...after] as never);
    expect(history.map(({ approval }) => approval.status)).toEqual(["pending", ...after] as never);
    const sent = events.filter(({ approval }) => approval?.id === id);
    // Ids of processes at one instant may sort `requested` after `decided`.
    sent.sort((one, other) => (one.type < other.type ? 1 : -1));
    expect(sent).toEqual(
      history.map(({ event, approval }) => ({
        type: event === "requested" ? "approval.requested" : "approval.decided",
        approval,
      })),
    );
  }
  expect(steps).toHaveLength(
    rows.reduce((sum, { status }) => sum + (status === "pending" ? 1 : 2), 0),
  );
  const pending = rows.filter(({ status }) => status === "pending").map(({ id }) => id);
  expect((await trial.find(run_id)).pending_approvals.toSorted()).toEqual(pending.toSorted());
}
