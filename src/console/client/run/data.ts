// A run and its steps, as the operator API shows them.

export interface ShownRun {
  id: string;
  account: string;
  agent_id: string;
  agent_name: string | null;
  version: number;
  model: string;
  status: string;
  cancel_requested: boolean;
  trigger_id: string | null;
  trigger_kind: "manual" | "cron" | "webhook";
  started_by: string | null;
  rerun_of: string | null;
  input: { message: string; content?: { type: string }[]; hook?: unknown };
  output: { message: string } | null;
  error: { code: string; message: string } | null;
  cost: {
    total: string | null;
    prices: {
      models: Record<string, { prompt?: string | null; completion?: string | null }>;
    };
  };
  usage: { prompt_tokens: number; completion_tokens: number; rounds: number };
  budgets: { max_cost_sar: string | null; max_rounds: number | null };
  /** The reply that the model writes now. */
  live: { text: string; tool_calls: { name: string; arguments: string }[] } | null;
  pending_approvals: string[];
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  worked_ms: number;
  waited_ms: number;
}

const TITLE_CHARACTERS = 120;

export const titleOf = ({ input }: ShownRun): string =>
  input.message === "" ? "(image)" : input.message.split("\n", 1)[0]!.slice(0, TITLE_CHARACTERS);

export interface ReplyStep {
  content: string | null;
  tool_calls: { id: string; name: string; arguments: string }[];
  finish_reason: string;
  model: string;
  usage: { prompt_tokens: number; completion_tokens: number };
  cost: string | null;
  duration_ms: number;
}

export interface ShownCall {
  tool_call_id: string;
  name: string;
  risk: string | null;
  arguments: unknown;
  decision: string;
  attempt: number;
}

export interface ResultStep {
  tool_call_id: string;
  name: string;
  outcome: string;
  content: string;
  truncated: boolean;
  http_status: number | null;
  duration_ms: number | null;
  external: boolean;
  cost: string | null;
}

export interface DecisionStep {
  event: "requested" | "approved" | "rejected" | "expired" | "closed";
  approval: {
    id: string;
    tool_call_id: string;
    reason: string | null;
    decided_by: { kind: string; id: string } | null;
    requested_at: string;
    decided_at: string | null;
  };
}

export interface EventStep {
  event: string;
  message: string;
  detail?: { wait_ms?: number; tool_call_id?: string; cost?: string | null } | null;
}

interface StepTimes {
  seq: number;
  round: number;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  waited_ms: number | null;
  first_token_ms: number | null;
  replica: string | null;
  attempts: number | null;
}

export type StepItem = StepTimes &
  (
    | { kind: "assistant"; data: ReplyStep }
    | { kind: "tool_call"; data: ShownCall }
    | { kind: "tool_result"; data: ResultStep }
    | { kind: "approval"; data: DecisionStep }
    | { kind: "system"; data: EventStep }
  );
