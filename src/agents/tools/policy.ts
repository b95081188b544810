// Which tool calls run by themselves and which wait for a person: the rules of risk.
import type { Risk } from "./contract.ts";

/** The part of a version's policy that decides about calls. */
export interface CallPolicy {
  unattended_writes: boolean;
  /** Anything but `allow` asks. */
  writes_after_external_content: string;
  /** The names of tools that always ask. */
  require_approval: readonly string[];
}

export interface PlannedCall {
  risk: Risk;
  /** The tool's name. */
  name: string;
  policy: CallPolicy;
  /** The run has read content from outside, itself or earlier on its thread. */
  has_external: boolean;
}

export type AskReason = "irreversible" | "write" | "listed" | "external_content";

export interface CallDecision {
  decision: "auto" | "needs_approval";
  /** Every rule that asks, in the order of the rules; empty: none does. */
  why: AskReason[];
}

type Rule = (call: PlannedCall) => boolean;

/**
 * agents.does.risk.write: each switch lifts its own rule only. After outside content a write asks
 * although `unattended_writes` is true; and `allow` frees no write that would ask without it.
 */
const RULES: readonly { why: AskReason; risk: Risk | "any"; asks: Rule }[] = [
  // agents.does.risk.irreversible: no switch of the policy lifts it.
  { why: "irreversible", risk: "irreversible", asks: () => true },
  { why: "write", risk: "write", asks: ({ policy }) => !policy.unattended_writes },
  // agents.does.risk.read: the only rule that a reading call knows.
  {
    why: "listed",
    risk: "any",
    asks: ({ name, policy }) => policy.require_approval.includes(name),
  },
  {
    why: "external_content",
    risk: "write",
    asks: ({ policy, has_external }) =>
      has_external && policy.writes_after_external_content !== "allow",
  },
];

export function decide(call: PlannedCall): CallDecision {
  const why: AskReason[] = [];
  for (const rule of RULES) {
    if ((rule.risk === "any" || rule.risk === call.risk) && rule.asks(call)) why.push(rule.why);
  }
  return { decision: why.length > 0 ? "needs_approval" : "auto", why };
}
