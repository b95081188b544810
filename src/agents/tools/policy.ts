// The rules of risk: which tool calls run by themselves, and which wait for a person.
import type { Risk } from "./contract.ts";

export interface CallPolicy {
  unattended_writes: boolean;
  /** Every value but `allow` asks. */
  writes_after_external_content: string;
  require_approval: readonly string[];
}

export interface PlannedCall {
  risk: Risk;
  name: string;
  policy: CallPolicy;
  hasExternal: boolean;
}

export type AskReason = "irreversible" | "write" | "listed" | "external_content";

export interface CallDecision {
  decision: "auto" | "needs_approval";
  why: AskReason[];
}

type Rule = (call: PlannedCall) => boolean;

/** agents.does.risk.write: each switch of the policy lifts its own rule only. */
const RULES: readonly { why: AskReason; risk: Risk | "any"; asks: Rule }[] = [
  // agents.does.risk.irreversible: the policy has no switch for this rule.
  { why: "irreversible", risk: "irreversible", asks: () => true },
  { why: "write", risk: "write", asks: ({ policy }) => !policy.unattended_writes },
  // agents.does.risk.read: reading calls ask by this rule alone.
  {
    why: "listed",
    risk: "any",
    asks: ({ name, policy }) => policy.require_approval.includes(name),
  },
  {
    why: "external_content",
    risk: "write",
    asks: ({ policy, hasExternal }) =>
      hasExternal && policy.writes_after_external_content !== "allow",
  },
];

export function decide(call: PlannedCall): CallDecision {
  const why: AskReason[] = [];
  for (const rule of RULES) {
    if ((rule.risk === "any" || rule.risk === call.risk) && rule.asks(call)) why.push(rule.why);
  }
  return { decision: why.length > 0 ? "needs_approval" : "auto", why };
}
