// Approvals as the operator API gives them, and what the page derives from them.
import { splitHidden, writeSpan } from "../format.ts";
import { t } from "../texts.ts";

export interface ListedApproval {
  id: string;
  account: string;
  agent_id: string;
  agent_name: string | null;
  run_id: string;
  tool: string;
  preview: string[];
  risk: "read" | "write" | "irreversible";
  why: Reason[];
  status: "pending" | "approved" | "rejected" | "expired" | "closed";
  requested_at: string;
  expires_at: string;
  decided_at?: string | null;
}

type Reason = "irreversible" | "write" | "listed" | "external_content" | "outcome_unknown";

export interface ApprovalDetail {
  approval: Omit<ListedApproval, "account" | "agent_name" | "preview"> & {
    arguments: Record<string, unknown>;
    arguments_sha256: string;
    external_sources: { seq: number; tool: string; url: string | null }[];
    reason: string | null;
    decided_by: { kind: "key" | "operator"; id: string } | null;
    decided_at: string | null;
  };
  account: string;
  agent_name: string | null;
  run_status: string | null;
  tool_description: string | null;
  tool_endpoint: string | null;
  run_message: string | null;
}

export interface Argument {
  path: string;
  /** A text as it is, and anything else as JSON. */
  text: string;
  isText: boolean;
}

/** Maximum arguments in the table; more are in the JSON. */
const ARGUMENTS_MAX = 50;

/** Lists arguments by path, nested ones below their parents. */
export function listArguments(value: Record<string, unknown>): Argument[] {
  const found: Argument[] = [];
  const add = (path: string, part: unknown) => {
    if (found.length >= ARGUMENTS_MAX) return;
    const isNested = typeof part === "object" && part !== null && Object.keys(part).length > 0;
    if (isNested) {
      for (const [name, child] of Object.entries(part)) {
        add(Array.isArray(part) ? `${path}[${name}]` : `${path}.${name}`, child);
      }
      return;
    }
    const isText = typeof part === "string";
    found.push({ path, text: isText ? part : JSON.stringify(part), isText });
  };
  for (const [name, part] of Object.entries(value)) add(name, part);
  return found;
}

export interface Warning {
  title: string;
  says: string;
  /** Argument that it is about. */
  path?: string;
}

/** Share of the time below which a decision is urgent. */
const LATE = 0.1;
const WARNINGS_MAX = 2;

/** Finds by rules what a person has to look at first. */
export function listWarnings({ approval }: ApprovalDetail, nowMs: number): Warning[] {
  const { why, requested_at, expires_at, status } = approval;
  const warnings: Warning[] = [];
  if (why.includes("outcome_unknown")) {
    warnings.push({ title: t("first.unknown"), says: t("first.unknown.says") });
  }
  for (const { path, text, isText } of listArguments(approval.arguments)) {
    if (!isText || splitHidden(text).every(({ kind }) => kind === "text")) continue;
    warnings.push({ title: t("first.hidden", path), says: t("first.hidden.says"), path });
  }
  const leftMs = Date.parse(expires_at) - nowMs;
  const allMs = Date.parse(expires_at) - Date.parse(requested_at);
  if (status === "pending" && leftMs < allMs * LATE) {
    warnings.push({ title: t("first.late"), says: t("first.late.says", writeSpan(leftMs)) });
  }
  return warnings.slice(0, WARNINGS_MAX);
}
