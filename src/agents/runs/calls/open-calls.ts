// Calls of a round without a result: where each of them stands, and the results that end them.
import { formatMoney } from "../../../platform/money.ts";
import { type Approval, hashArguments } from "../../approvals/approval.ts";
import type { Decision } from "../../approvals/decision.ts";
import type { NewMessage } from "../../threads/thread.ts";
import type { RemoteTask } from "../../tools/contract.ts";
import type { ToolCallData, ToolResultData } from "../step.ts";

export type DecidedApproval = Pick<
  Approval,
  "id" | "tool" | "tool_call_id" | "arguments" | "arguments_sha256" | "reason"
> & {
  /** Times as text. */
  requested_at?: string;
  decided_at?: string | null;
};

/** `sent`: under way, or without a result because its process died. `task`: at its server. */
export type OpenCall = { call: ToolCallData } & (
  | { status: "ready"; approval: DecidedApproval | null }
  | { status: "awaiting_approval" | "sent" }
  | { status: "task"; task: RemoteTask }
  | { status: "denied"; event: "rejected" | "expired"; approval: DecidedApproval }
);

export type ReadyCall = Extract<OpenCall, { status: "ready" }>;
export type TaskCall = Extract<OpenCall, { status: "task" }>;
export type DeniedCall = Extract<OpenCall, { status: "denied" }>;

/** Only calls that change something outside are recorded before they are sent. */
export function isSent({ attempt, risk }: ToolCallData): boolean {
  return attempt > 0 && risk !== "read";
}

export function withCall(open: readonly OpenCall[], call: ToolCallData): OpenCall[] {
  const others = open.filter((one) => one.call.tool_call_id !== call.tool_call_id);
  if (call.decision === "needs_approval") return [...others, { call, status: "awaiting_approval" }];
  if (isSent(call)) return [...others, { call, status: "sent" }];
  return [...others, { call, status: "ready", approval: null }];
}

export function withDecision(
  open: readonly OpenCall[],
  event: Decision | "expired",
  approval: DecidedApproval,
): OpenCall[] {
  return open.map((one): OpenCall => {
    const { call, status } = one;
    if (status !== "awaiting_approval" || call.approval_id !== approval.id) return one;
    if (event === "approved") return { call, status: "ready", approval };
    return { call, status: "denied", event, approval };
  });
}

/** The detail of the event by which a task is stored. */
export interface StoredTask {
  tool_call_id: string;
  task_id: string;
  session?: string | undefined;
  /** Time as text. */
  ends_at: string;
}

export function withTask(open: readonly OpenCall[], stored: StoredTask): OpenCall[] {
  const { task_id: id, session } = stored;
  const task = { id, session, ends_at: Date.parse(stored.ends_at) };
  return open.map((one) =>
    one.call.tool_call_id === stored.tool_call_id ? { call: one.call, status: "task", task } : one,
  );
}

/** The call as it will be sent: an approved one with exactly the arguments that were shown. */
export function prepareCall({ call, approval }: ReadyCall): ToolCallData {
  if (approval === null) return call;
  if (hashArguments(approval.arguments) !== approval.arguments_sha256) {
    throw new Error("an approval's arguments are not those that were shown");
  }
  return { ...call, decision: "approved", arguments: approval.arguments };
}

export function fingerprint(tool: string, arguments_sha256: string): string {
  return `${tool} ${arguments_sha256}`;
}

const FREE = formatMoney(0);

export function makeResult(
  { tool_call_id, name }: Pick<ToolCallData, "tool_call_id" | "name">,
  result: Pick<ToolResultData, "outcome" | "content"> & Partial<ToolResultData>,
): ToolResultData {
  return {
    tool_call_id,
    name,
    truncated: false,
    http_status: null,
    duration_ms: null,
    external: false,
    cost: FREE,
    ...result,
  };
}

export function cancelledResult(call: ToolCallData): ToolResultData {
  if (isSent(call)) {
    const content = "The run ended while this call was under way: it may have been done or not.";
    return makeResult(call, { outcome: "outcome_unknown", content });
  }
  const content = "The run ended before this call was done.";
  return makeResult(call, { outcome: "cancelled", content });
}

export function toolMessage(
  { tool_call_id, content, external }: ToolResultData,
  id: string,
): NewMessage {
  return { id, role: "tool", content, tool_calls: null, tool_call_id, external };
}
