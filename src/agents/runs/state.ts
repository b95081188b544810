// A run in memory: where it stands, what was said, and the calls of its round that are still open.
import type { VersionRow } from "../definitions/version.ts";
import type { Message, NewMessage } from "../threads/thread.ts";
import type { Summary } from "../threads/view.ts";
import { countMessageTokens, type ThreadMessage } from "../threads/view-blocks.ts";
import type { Fence } from "../tools/fence.ts";
import type { RunRow } from "./run.ts";
import type { AssistantData, StepRow, ToolCallData, ToolResultData } from "./step.ts";

export interface RunState {
  /** As it was written last. */
  row: RunRow;
  readonly version: VersionRow;
  readonly fence: Fence;
  /** What was said on the thread, outside text inside its fence; from `first_seq` on. */
  readonly said: ThreadMessage[];
  readonly first_seq: number;
  /** Where the messages of this run begin. */
  readonly present_from: number;
  /** About what all of it costs of the window. */
  said_tokens: number;
  summary: Summary | null;
  /** Calls of the present round without a result. */
  open: ToolCallData[];
  /** Rounds in a row in which no call was valid. */
  invalid_rounds: number;
  /** Models and tools without a price of which a step has told already. */
  readonly told_unpriced: Set<string>;
}

/** What a run is restored from: its log, and what its thread holds. */
export interface RunLog {
  row: RunRow;
  version: VersionRow;
  messages: readonly Message[];
  steps: readonly StepRow[];
  /** What stands for the messages before these; null: there are none before. */
  summary: string | null;
}

/** What the first run of a thread has at its start: nothing need be read; null: it is no such. */
export function beginLog(row: RunRow): Pick<RunLog, "messages" | "steps" | "summary"> | null {
  if (row.last_seq > 0 || row.message_seq > 1) return null;
  const message: Message = {
    ...{ id: row.id, thread_id: row.thread_id, run_id: row.id, seq: 1, role: "user" },
    ...{ content: row.input.message, tool_calls: null, tool_call_id: null, external: false },
    created_at: row.created_at,
  };
  return { messages: [message], steps: [], summary: null };
}

/** The same, whether the run was interrupted or not. */
export function restoreState(log: RunLog, fence: Fence): RunState {
  const { row, version, messages, steps, summary } = log;
  const own = messages.findIndex(({ run_id }) => run_id === row.id);
  const state: RunState = {
    ...{ row, version, fence },
    said: [],
    first_seq: messages[0]?.seq ?? 1,
    present_from: own === -1 ? messages.length : own,
    said_tokens: 0,
    summary: summary === null ? null : { text: summary, until: 0 },
    open: [],
    invalid_rounds: 0,
    told_unpriced: new Set(),
  };
  for (const message of messages) hear(state, message);
  for (const step of steps) applyStep(state, step);
  return state;
}

/** Takes over a message that was written. */
export function hear(state: RunState, message: NewMessage): void {
  const { role, tool_call_id, external } = message;
  const content =
    external && message.content !== null
      ? state.fence.wrap(message.content, null)
      : message.content;
  const said: Omit<ThreadMessage, "tokens"> = { role, content };
  if (tool_call_id !== null) said.tool_call_id = tool_call_id;
  if (message.tool_calls?.length) {
    said.tool_calls = message.tool_calls.map(({ id, name, arguments: text }) => {
      return { id, type: "function", function: { name, arguments: text } };
    });
  }
  const tokens = countMessageTokens(said);
  state.said.push({ ...said, tokens });
  state.said_tokens += tokens;
}

/** Takes over a step that was written. */
export function applyStep(state: RunState, { kind, data }: Pick<StepRow, "kind" | "data">): void {
  switch (kind) {
    case "assistant":
      state.open = [];
      if ((data as AssistantData).tool_calls.length > 0) state.invalid_rounds += 1;
      return;
    case "tool_call": {
      const call = data as ToolCallData;
      // A call that is sent again stands in the place of the one before.
      state.open = state.open.filter(({ tool_call_id }) => tool_call_id !== call.tool_call_id);
      state.open.push(call);
      return;
    }
    case "tool_result": {
      const result = data as ToolResultData;
      state.open = state.open.filter(({ tool_call_id }) => tool_call_id !== result.tool_call_id);
      if (result.outcome !== "invalid_arguments") state.invalid_rounds = 0;
      return;
    }
    case "system": {
      const { event, detail } = data as { event: string; detail?: { name?: string } };
      if (event === "price_missing" && detail?.name) state.told_unpriced.add(detail.name);
    }
  }
}
