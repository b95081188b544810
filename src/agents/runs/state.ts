// The state of a run in memory, rebuilt from its log: the same whether or not it was interrupted.
import type { VersionRow } from "../definitions/version.ts";
import {
  countMessageTokens,
  type ShownMessage,
  type ThreadMessage,
} from "../threads/context-blocks.ts";
import type { Summary } from "../threads/context-view.ts";
import { showParts } from "../threads/parts.ts";
import type { Message, NewMessage } from "../threads/thread.ts";
import type { KnownAddresses } from "../tools/address-memory.ts";
import type { Fence } from "../tools/fence.ts";
import { READ_OUTPUT, recallAddresses, rememberResult } from "./calls/known-addresses.ts";
import {
  type DecidedApproval,
  fingerprint,
  type OpenCall,
  type StoredTask,
  withCall,
  withDecision,
  withTask,
} from "./calls/open-calls.ts";
import { listAsks, type RunRow } from "./run.ts";
import type {
  ApprovalData,
  AssistantData,
  StepRow,
  SystemData,
  ToolCallData,
  ToolResultData,
} from "./step.ts";

const SOURCES_MAX = 100;

export interface ContentSource {
  seq: number;
  tool: string;
  tool_call_id: string;
  url: string | null;
}

export interface RunState {
  row: RunRow;
  readonly version: VersionRow;
  readonly fence: Fence;
  /** The thread from `firstSeq` on, with outside content fenced. */
  readonly messages: ThreadMessage[];
  /** Images by their keys, as `data:` URLs. */
  readonly images: Map<string, string>;
  readonly firstSeq: number;
  readonly runFrom: number;
  messageTokens: number;
  summary: Summary | null;
  /** The thread's last message that `summary` replaces. */
  summarisedTo: number | null;
  /** A summary was made for the next reply. */
  isCompacted: boolean;
  contextLimit: { roomTokens: number; times: number } | null;
  openCalls: readonly OpenCall[];
  /** Fingerprints of denied calls, which are not requested again. */
  readonly deniedCalls: Set<string>;
  invalidRounds: number;
  lastText: string | null;
  /** An answer that did not fit the output schema, which the next round repairs. */
  rejected: RejectedOutput | null;
  readonly results: Map<string, ToolResultData>;
  readonly shown: { characters: number; truncated: number };
  readonly sources: ContentSource[];
  /** Addresses that stay allowed after outside content; null where the run opens none. */
  readonly knownAddresses: KnownAddresses | null;
  readonly unpriced: Set<string>;
  /** Calls that blocked the event loop until the watchdog ended the process, with their count. */
  readonly hungCalls: Map<string, number>;
}

export interface RejectedOutput {
  text: string | null;
  faults: readonly string[];
}

export interface StoredRunLog {
  row: RunRow;
  version: VersionRow;
  messages: readonly Message[];
  steps: readonly StepRow[];
  images?: ReadonlyMap<string, string>;
  /** Replaces the messages before these. */
  summary: string | null;
  summarisedTo: number | null;
}

/** Builds the log of a thread's first run at its start, without reading. */
export function newThreadLog(
  row: RunRow,
): Pick<StoredRunLog, "messages" | "steps" | "summary" | "summarisedTo"> | undefined {
  // The thread of a rerun may begin with a copied summary, which is no message.
  if (row.rerun_of !== null || row.last_seq > 0) return undefined;
  const asks = listAsks(row.input);
  if (row.message_seq > asks.length) return undefined;
  const messages = asks.map(({ content, parts, external }, at): Message => {
    return {
      id: row.id,
      thread_id: row.thread_id,
      run_id: row.id,
      seq: at + 1,
      role: "user",
      content,
      parts,
      tool_calls: null,
      tool_call_id: null,
      external,
      created_at: row.created_at,
    };
  });
  return { messages, steps: [], summary: null, summarisedTo: null };
}

export function restoreState(log: StoredRunLog, fence: Fence): RunState {
  const { row, version, steps, summary } = log;
  const messages = trimOrphans(log.messages);
  const own = messages.findIndex(({ run_id }) => run_id === row.id);
  // Every view shows the run's question, even where a summary covers it.
  const isSummarised = own !== -1 && messages[own]!.role !== "user";
  const state: RunState = {
    row,
    version,
    fence,
    messages: [],
    images: new Map(log.images),
    firstSeq: (messages[0]?.seq ?? row.message_seq + 1) - (isSummarised ? 1 : 0),
    runFrom: isSummarised ? 0 : own === -1 ? messages.length : own,
    messageTokens: 0,
    summary: null,
    summarisedTo: log.summarisedTo,
    isCompacted: false,
    contextLimit: null,
    openCalls: [],
    deniedCalls: new Set(),
    invalidRounds: 0,
    lastText: null,
    rejected: null,
    results: new Map(),
    shown: { characters: 0, truncated: 0 },
    sources: [],
    knownAddresses: recallAddresses(log, messages),
    unpriced: new Set(),
    hungCalls: new Map(),
  };
  if (isSummarised) {
    const { message: content, content: parts = null } = row.input;
    applyMessage(state, { ...NOTHING, role: "user", content, parts, run_id: row.id });
  }
  if (summary !== null) state.summary = { text: summary, until: isSummarised ? 1 : 0 };
  for (const message of messages) applyMessage(state, message);
  for (const step of steps) applyStep(state, step);
  return state;
}

const NOTHING = { tool_calls: null, tool_call_id: null, external: false };

/** Removes leading results whose calls were not read. */
function trimOrphans(messages: readonly Message[]): readonly Message[] {
  const first = messages.findIndex(({ role }) => role !== "tool");
  return first > 0 ? messages.slice(first) : messages;
}

type AddedMessage = Omit<NewMessage, "id"> & Partial<Pick<Message, "parts" | "run_id">>;

export function applyMessage(state: RunState, message: AddedMessage): void {
  const { role, tool_call_id, external } = message;
  const content =
    external && message.content !== null
      ? state.fence.wrap(message.content, null)
      : message.content;
  const shown: ShownMessage = { role, content };
  if (message.parts) shown.parts = showParts(message.run_id!, message.parts);
  if (tool_call_id !== null) shown.tool_call_id = tool_call_id;
  if (message.tool_calls?.length) {
    shown.tool_calls = message.tool_calls.map(({ id, name, arguments: text }) => {
      return { id, type: "function", function: { name, arguments: repairJson(text) } };
    });
  }
  const tokens = countMessageTokens(shown);
  state.messages.push({ ...shown, tokens });
  state.messageTokens += tokens;
}

/** Model servers that parse arguments reject the whole request for invalid JSON. */
function repairJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? text : "{}";
  } catch {
    return "{}";
  }
}

type WrittenStep = Pick<StepRow, "seq" | "kind" | "data">;

export function applyStep(state: RunState, { seq, kind, data }: WrittenStep): void {
  switch (kind) {
    case "assistant":
      state.openCalls = [];
      state.isCompacted = false;
      state.lastText = (data as AssistantData).content;
      // Undone by the first result other than `invalid_arguments`.
      if ((data as AssistantData).tool_calls.length > 0) state.invalidRounds += 1;
      return;
    case "tool_call":
      state.openCalls = withCall(state.openCalls, data as ToolCallData);
      return;
    case "approval":
      applyDecision(state, data as unknown as ApprovalData);
      return;
    case "tool_result":
      applyResult(state, seq, data as ToolResultData);
      return;
    case "system":
      applyEvent(state, data as SystemData);
  }
}

function applyDecision(state: RunState, { event, approval }: ApprovalData): void {
  if (event === "requested" || event === "closed") return;
  const decided = approval as unknown as DecidedApproval;
  state.openCalls = withDecision(state.openCalls, event, decided);
  if (event === "approved") return;
  state.deniedCalls.add(fingerprint(decided.tool, decided.arguments_sha256));
}

function applyResult(state: RunState, seq: number, result: ToolResultData): void {
  const { tool_call_id, name: tool, outcome, external } = result;
  rememberResult(state, result);
  state.openCalls = state.openCalls.filter(({ call }) => call.tool_call_id !== tool_call_id);
  if (outcome !== "invalid_arguments") state.invalidRounds = 0;
  state.results.set(tool_call_id, result);
  state.shown.characters += result.content.length;
  if (result.truncated) state.shown.truncated += 1;
  if (external && tool !== READ_OUTPUT && state.sources.length < SOURCES_MAX) {
    state.sources.push({ seq, tool, tool_call_id, url: null });
  }
}

function applyEvent(state: RunState, { event, detail }: SystemData): void {
  if (event === "price_missing") {
    state.unpriced.add((detail as { name: string }).name);
  } else if (event === "recovered") {
    const { hung } = detail as { hung?: string };
    if (hung !== undefined) state.hungCalls.set(hung, (state.hungCalls.get(hung) ?? 0) + 1);
  } else if (event === "compacted") {
    state.isCompacted = true;
  } else if (event === "task_started") {
    state.openCalls = withTask(state.openCalls, detail as StoredTask);
  } else if (event === "output_invalid") {
    const { faults, asked_again } = detail as { faults: string[]; asked_again: boolean };
    if (asked_again) state.rejected = { text: state.lastText, faults };
  } else if (event === "model_retry") {
    const { roomTokens } = detail as { roomTokens?: number };
    if (roomTokens === undefined) return;
    const times = (state.contextLimit?.times ?? 0) + 1;
    state.contextLimit = { roomTokens: roomTokens, times };
  } else if (event === "external_content") {
    const { tool_call_id, url } = detail as { tool_call_id: string; url: string | null };
    const source = state.sources.find((one) => one.tool_call_id === tool_call_id);
    if (source) source.url = url;
  }
}
