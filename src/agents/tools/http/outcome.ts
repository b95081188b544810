// What a call has come to, from how its request ended: done, not done, or nobody knows.

import type { GuardedOutcome } from "../../../net/index.ts";
import type { ToolOutcome } from "../contract.ts";
import { isSuccess } from "./reply.ts";

/**
 * What stands between us and the endpoint answers so when it did not hear the end. The three-digit
 * ones of no standard are a large network's.
 */
const GATEWAYS = new Set([502, 504, 520, 522, 524]);

/**
 * A reading call may simply be made again. Of one that changes something it counts whether it was
 * done: unless it was surely not sent, or the endpoint itself said what became of it, nobody knows.
 */
export function classifyOutcome(end: GuardedOutcome, onlyReads: boolean): ToolOutcome {
  const { status } = end;
  if (end.ok) return judgeStatus(end.status, onlyReads);
  const isLate = end.code === "timeout" || end.code === "aborted";
  if (onlyReads) return isLate ? "timeout" : "error";
  if (!end.sent) return "error";
  // It was done, and its reply is lost: that is told in words, since nothing is left to be decided.
  return status === null ? "outcome_unknown" : judgeStatus(status, onlyReads);
}

function judgeStatus(status: number, onlyReads: boolean): ToolOutcome {
  if (isSuccess(status)) return "ok";
  return GATEWAYS.has(status) && !onlyReads ? "outcome_unknown" : "error";
}
