// A run in memory: where it stands, what was said, and the calls of its round that are still open.
import type { VersionRow } from "../definitions/version.ts";
import {
  countMessageTokens,
  type ShownMessage,
  type ThreadMessage,
} from "../threads/context-blocks.ts";
import type { Summary } from "../threads/context-view.ts";
import type { Message, NewMessage } from "../threads/thread.ts";
import type { KnownAddresses } from "../tools/address-memory.ts";
import type { Fence } from "../tools/fence.ts";
import { recallAddresses, rememberResult } from "./calls/known-addresses.ts";
import { applyCall, applyDecision, type OpenCall } from "./calls/open-calls.ts";
import { listAsks, type RunRow } from "./run.ts";
import type {
  ApprovalData,
  AssistantData,
  StepRow,
  SystemData,
  ToolCallData,
  ToolResultData,
} from "./step.ts";

/** A person who decides is shown so many places from which text came, the first ones. */
const SOURCES_MAX = 100;
/** It reads again what has been told of already. */
const READ_OUTPUT = "read_output";

/** A step from which text from outside came to the run. */
export interface ContentSource {
  seq: number;
  tool: string;
  tool_call_id: string;
  /** null: it came from no one place, or nobody knows. */
  url: string | null;
}

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
  /** What the model has refused as too long, and how often; null: nothing. */
  refused: { room_tokens: number; times: number } | null;
  /** Calls of the present round without a result. */
  open: OpenCall[];
  /** Calls that a person did not allow, by tool and arguments: they are not asked for again. */
  readonly denied: Set<string>;
  /** Rounds in a row in which no call was valid. */
  invalid_rounds: number;
  /** Results of this run by their calls, as its steps hold them. */
  readonly results: Map<string, ToolResultData>;
  /** What all of them hold together, and how many were cut. */
  readonly told: { characters: number; wholes: number };
  /** Where text from outside came from, in the order of the steps. */
  readonly sources: ContentSource[];
  /** Addresses that may be opened also behind outside text; null: the run opens none. */
  readonly known: KnownAddresses | null;
  /** Models and tools without a price of which a step has told already. */
  readonly told_unpriced: Set<string>;
  /** Calls in which processes of this run hung, and how often. */
  readonly hung: Map<string, number>;
}

/** What a run is restored from: its log, and what its thread holds. */
export interface StoredRunLog {
  row: RunRow;
  version: VersionRow;
  messages: readonly Message[];
  steps: readonly StepRow[];
  /** What stands for the messages before these; null: there are none before. */
  summary: string | null;
}

/** What the first run of a thread has at its start: nothing need be read; null: it is no such. */
export function beginLog(row: RunRow): Pick<StoredRunLog, "messages" | "steps" | "summary"> | null {
  const asks = listAsks(row.input);
  if (row.last_seq > 0 || row.message_seq > asks.length) return null;
  const messages = asks.map(({ content, external }, at): Message => {
    return {
      ...{ id: row.id, thread_id: row.thread_id, run_id: row.id, seq: at + 1, role: "user" },
      ...{ content, tool_calls: null, tool_call_id: null, external },
      created_at: row.created_at,
    };
  });
  return { messages, steps: [], summary: null };
}

/** The same, whether the run was interrupted or not. */
export function restoreState(log: StoredRunLog, fence: Fence): RunState {
  const { row, version, steps, summary } = log;
  const messages = trimOrphans(log.messages);
  const own = messages.findIndex(({ run_id }) => run_id === row.id);
  // What the run was asked stands in every view, also when a summary tells of it already.
  const isAskedBefore = own !== -1 && messages[own]!.role !== "user";
  const state: RunState = {
    ...{ row, version, fence },
    said: [],
    first_seq: (messages[0]?.seq ?? row.message_seq + 1) - (isAskedBefore ? 1 : 0),
    present_from: isAskedBefore ? 0 : own === -1 ? messages.length : own,
    said_tokens: 0,
    summary: null,
    refused: null,
    open: [],
    denied: new Set(),
    invalid_rounds: 0,
    results: new Map(),
    told: { characters: 0, wholes: 0 },
    sources: [],
    known: recallAddresses(log, messages),
    told_unpriced: new Set(),
    hung: new Map(),
  };
  if (isAskedBefore) applyMessage(state, { ...NOTHING, role: "user", content: row.input.message });
  if (summary !== null) state.summary = { text: summary, until: isAskedBefore ? 1 : 0 };
  for (const message of messages) applyMessage(state, message);
  for (const step of steps) applyStep(state, step);
  return state;
}

const NOTHING = { tool_calls: null, tool_call_id: null, external: false };

/** Where the oldest messages were not read, the first may be results of calls among those. */
function trimOrphans(messages: readonly Message[]): readonly Message[] {
  const first = messages.findIndex(({ role }) => role !== "tool");
  return first > 0 ? messages.slice(first) : messages;
}

/** Takes over a message that was written. */
export function applyMessage(state: RunState, message: Omit<NewMessage, "id">): void {
  const { role, tool_call_id, external } = message;
  const content =
    external && message.content !== null
      ? state.fence.wrap(message.content, null)
      : message.content;
  const said: ShownMessage = { role, content };
  if (tool_call_id !== null) said.tool_call_id = tool_call_id;
  if (message.tool_calls?.length) {
    said.tool_calls = message.tool_calls.map(({ id, name, arguments: text }) => {
      return { id, type: "function", function: { name, arguments: readable(text) } };
    });
  }
  const tokens = countMessageTokens(said);
  state.said.push({ ...said, tokens });
  state.said_tokens += tokens;
}

/** Servers that read what a model has written refuse the whole question for a text like that. */
function readable(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? text : "{}";
  } catch {
    return "{}";
  }
}

type WrittenStep = Pick<StepRow, "seq" | "kind" | "data">;

/** Takes over a step that was written. */
export function applyStep(state: RunState, { seq, kind, data }: WrittenStep): void {
  switch (kind) {
    case "assistant":
      state.open = [];
      if ((data as AssistantData).tool_calls.length > 0) state.invalid_rounds += 1;
      return;
    case "tool_call":
      state.open = applyCall(state.open, data as ToolCallData);
      return;
    case "approval": {
      const denied = applyDecision(state.open, data as unknown as ApprovalData);
      if (denied !== null) state.denied.add(denied);
      return;
    }
    case "tool_result":
      applyResult(state, seq, data as ToolResultData);
      return;
    case "system":
      applyEvent(state, data as SystemData);
  }
}

function applyResult(state: RunState, seq: number, result: ToolResultData): void {
  const { tool_call_id, name: tool, outcome, external } = result;
  rememberResult(state, result);
  state.open = state.open.filter(({ call }) => call.tool_call_id !== tool_call_id);
  if (outcome !== "invalid_arguments") state.invalid_rounds = 0;
  state.results.set(tool_call_id, result);
  state.told.characters += result.content.length;
  if (result.truncated) state.told.wholes += 1;
  if (external && tool !== READ_OUTPUT && state.sources.length < SOURCES_MAX) {
    state.sources.push({ seq, tool, tool_call_id, url: null });
  }
}

function applyEvent(state: RunState, { event, detail }: SystemData): void {
  if (event === "price_missing") {
    state.told_unpriced.add((detail as { name: string }).name);
  } else if (event === "recovered") {
    const { hung } = detail as { hung?: string };
    if (hung !== undefined) state.hung.set(hung, (state.hung.get(hung) ?? 0) + 1);
  } else if (event === "model_retry") {
    const { room_tokens } = detail as { room_tokens?: number };
    if (room_tokens === undefined) return;
    state.refused = { room_tokens, times: (state.refused?.times ?? 0) + 1 };
  } else if (event === "external_content") {
    const { tool_call_id, url } = detail as { tool_call_id: string; url: string | null };
    const source = state.sources.find((one) => one.tool_call_id === tool_call_id);
    if (source) source.url = url;
  }
}
