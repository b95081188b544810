// Agents and their versions as the operator API gives them, and what pages derive from them.
import { countMarks, type Mark } from "../marks.tsx";
import { readRunState } from "../parts.tsx";
import { t } from "../texts.ts";

export type RiskName = "read" | "write" | "irreversible";

export interface AgentFields {
  id: string;
  account: string;
  name: string;
  status: "active" | "archived";
  current_version: number;
  created_at: string;
  held?: "agent" | "account" | null;
  held_since?: string | null;
  hold_reason?: string | null;
}

export interface ListedAgentRow extends AgentFields {
  model: string;
  tools: Record<RiskName, number>;
  recent_runs: { id: string; status: string; created_at: string }[];
}

export interface PreviewRow {
  name: string;
  revision: number;
  risk: RiskName;
  title: string | null;
  is_off: boolean;
  decision: "runs" | "asks" | "asks_after_external_content";
  why: ("irreversible" | "write" | "listed" | "external_content")[];
}

export interface ShownVersion {
  version: number;
  system_prompt: string;
  model: string;
  tools: string[];
  policy: {
    approval_ttl_seconds: number;
    unattended_writes: boolean;
    writes_after_external_content: "require_approval" | "allow";
    require_approval: string[];
    on_approval_expired: "continue" | "fail";
    on_unknown_outcome: "ask" | "report";
  };
  budgets: {
    max_cost_sar: string | null;
    max_rounds: number;
    max_tool_calls: number | null;
    max_total_tokens: number | null;
    max_run_seconds: number | null;
  };
  model_params: Record<"temperature" | "top_p" | "max_tokens", number | null> & {
    reasoning: boolean | null;
  };
  output_schema: Record<string, unknown> | null;
  created_at: string;
}

export interface OpenedAgentRow extends AgentFields {
  description: string | null;
  version: ShownVersion;
  created_by_key_name: string | null;
  tools: PreviewRow[];
}

export interface VersionRowShown {
  version: number;
  model: string;
  created_at: string;
  created_by_key_name?: string | null;
}

export interface AgentCosts {
  rows: { agent_id: string | null; cost: string | null; unpriced: number }[];
}

export type AgentState = "active" | "held" | "archived";

export function readAgentState({ status, held }: AgentFields): AgentState {
  if (status === "archived") return "archived";
  return held ? "held" : "active";
}

export const AGENT_STATES = {
  active: { shape: "on", tone: "ok" },
  held: { shape: "paused", tone: "warn" },
  archived: { shape: "off", tone: "mute" },
} as const;

/** The newest runs, oldest first, and a sentence that counts them. */
export function listRunMarks(runs: ListedAgentRow["recent_runs"]): {
  marks: Mark[];
  says: string;
} {
  const marks = runs.map(({ id, status }): Mark => {
    const { tone, word } = readRunState(status);
    return { id, tone, says: word.toLowerCase() };
  });
  const words = marks.map((mark) => mark.says);
  const says = runs.length === 0 ? t("agents.never") : t("agents.marks", countMarks(words));
  return { marks: marks.toReversed(), says };
}

export interface FieldChange {
  path: string;
  before: string;
  after: string;
}

const write = (value: unknown): string =>
  Array.isArray(value) ? value.join(", ") : value === null ? "null" : String(value);

/** Fields of a version but its prompt, by path. */
function listFields(version: ShownVersion): [path: string, value: string][] {
  const { model, tools, policy, budgets, model_params, output_schema } = version;
  const nested = Object.entries({ policy, budgets, model_params }).flatMap(([name, fields]) =>
    Object.entries(fields).map(([field, value]): [string, string] => {
      return [`${name}.${field}`, write(value)];
    }),
  );
  const form = JSON.stringify(output_schema);
  return [["model", model], ["tools", write(tools)], ...nested, ["output_schema", form]];
}

/** Lists the fields in which two versions differ. */
export function listChanges(before: ShownVersion, after: ShownVersion): FieldChange[] {
  const old = new Map(listFields(before));
  return listFields(after)
    .map(([path, value]) => ({ path, before: old.get(path) ?? "", after: value }))
    .filter((change) => change.before !== change.after);
}
