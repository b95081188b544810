// Approvals as the operator API gives them.

export interface ListedApproval {
  id: string;
  account: string;
  agent_id: string;
  agent_name: string | null;
  run_id: string;
  tool: string;
  tool_title: string | null;
  preview: string[];
  risk: "read" | "write" | "irreversible";
  why: Reason[];
  status: "pending" | "approved" | "rejected" | "expired" | "closed";
  requested_at: string;
  expires_at: string;
  reason: string | null;
  decided_by: Decider | null;
  decided_at: string | null;
}

type Reason = "irreversible" | "write" | "listed" | "external_content" | "outcome_unknown";

export interface Decider {
  kind: "key" | "operator";
  id: string;
  /** Whom the operator made a link for, by which it was decided. */
  person?: string;
}

export interface CallResult {
  seq: number;
  tool: string;
  url: string | null;
  is_external: boolean;
  text: string;
  is_cut: boolean;
}

export interface ApprovalDetail {
  approval: Omit<ListedApproval, "account" | "agent_name" | "preview" | "tool_title"> & {
    arguments: Record<string, unknown>;
    arguments_sha256: string;
    external_sources: { seq: number; tool: string; url?: string | null }[];
  };
  account: string;
  agent_name: string | null;
  agent_version: number | null;
  run_status: string | null;
  run_message: string | null;
  run_hook: string | null;
  started_by: {
    kind: "manual" | "cron" | "webhook";
    trigger_id: string | null;
    trigger_name: string | null;
    key_id: string | null;
    key_name: string | null;
    operator: string | null;
  } | null;
  cost: string | null;
  budget: string | null;
  tool_title: string | null;
  tool_description: string | null;
  tool_endpoint: string | null;
  on_approval_expired: string | null;
  barred_keys: { id: string; name: string | null }[];
  has_earlier_messages: boolean;
  approved_calls: { id: string; arguments: unknown; decided_at: string }[];
  results: CallResult[];
  has_all_results: boolean;
}

export interface Argument {
  path: string;
  /** A text as it is, and anything else as JSON. */
  text: string;
  kind: string;
}

/** Maximum arguments in the table; more are in the JSON. */
export const ARGUMENTS_MAX = 50;
/** Maximum depth of paths; deeper values are JSON. */
const DEPTH_MAX = 6;

/** Lists arguments by path, nested ones below their parents. */
export function listArguments(value: unknown): Argument[] {
  const found: Argument[] = [];
  const add = (path: string, part: unknown, depth: number) => {
    if (found.length > ARGUMENTS_MAX) return;
    const entries = typeof part === "object" && part !== null ? Object.entries(part) : [];
    if (entries.length === 0 || depth > DEPTH_MAX) {
      const isText = typeof part === "string";
      found.push({ path, text: isText ? part : JSON.stringify(part), kind: typeof part });
      return;
    }
    for (const [name, child] of entries) {
      if (found.length > ARGUMENTS_MAX) return;
      add(nest(path, name, Array.isArray(part)), child, depth + 1);
    }
  };
  if (typeof value === "object" && value !== null && Object.keys(value).length > 0) {
    add("", value, 0);
  }
  return found;
}

/** Quotes names that could be read as a path. */
function nest(path: string, name: string, isItem: boolean): string {
  if (isItem) return `${path}[${name}]`;
  if (name === "" || /[.[\]"]/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}
