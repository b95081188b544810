// The calls of a round that have no result yet, and where each of them stands.
import { type Approval, hashArguments } from "../../approvals/approval.ts";
import type { ApprovalData, ToolCallData } from "../step.ts";

/** What of a decided approval its call goes by. */
export type DecidedApproval = Pick<
  Approval,
  "id" | "tool" | "tool_call_id" | "arguments" | "arguments_sha256" | "reason"
>;

/**
 * `ready`: it may run · `asks`: a person has to decide · `denied`: they said no, or nothing in time
 * · `sent`: it is under way, or was when its process died.
 */
export type OpenCall = { call: ToolCallData } & (
  | { standing: "ready"; decided: DecidedApproval | null }
  | { standing: "asks" | "sent" }
  | { standing: "denied"; event: "rejected" | "expired"; decided: DecidedApproval }
);

export type ReadyCall = Extract<OpenCall, { standing: "ready" }>;

/** Only what changes something outside is written down before it is sent. */
export function isSent({ attempt, risk }: ToolCallData): boolean {
  return attempt > 0 && risk !== "read";
}

/** A call that is sent, or asked for again, stands in the place of the one before. */
export function applyCall(open: readonly OpenCall[], call: ToolCallData): OpenCall[] {
  const others = open.filter((one) => one.call.tool_call_id !== call.tool_call_id);
  if (call.decision === "needs_approval") return [...others, { call, standing: "asks" }];
  if (isSent(call)) return [...others, { call, standing: "sent" }];
  return [...others, { call, standing: "ready", decided: null }];
}

/** Takes over what was decided of a call; what was denied, by tool and arguments; null: nothing. */
export function applyDecision(open: OpenCall[], { event, approval }: ApprovalData): string | null {
  if (event !== "approved" && event !== "rejected" && event !== "expired") return null;
  const decided = approval as unknown as DecidedApproval;
  const at = open.findIndex(({ call }) => call.approval_id === decided.id);
  const one = open[at];
  if (one?.standing === "asks") {
    const { call } = one;
    if (event === "approved") open[at] = { call, standing: "ready", decided };
    else open[at] = { call, standing: "denied", event, decided };
  }
  return event === "approved" ? null : nameCall(decided.tool, decided.arguments_sha256);
}

/** A call as it will be sent: of an approved one with what was shown, and with nothing else. */
export function prepareCall({ call, decided }: ReadyCall) {
  if (decided === null) return call;
  if (hashArguments(decided.arguments) !== decided.arguments_sha256) {
    throw new Error("an approval's arguments are not those that were shown");
  }
  return { ...call, decision: "approved" as const, arguments: decided.arguments };
}

/** The same for the same tool with the same arguments. */
export function nameCall(tool: string, arguments_sha256: string): string {
  return `${tool} ${arguments_sha256}`;
}
