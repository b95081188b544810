// What of a thread cannot be parted: a user's message, or an assistant's with its calls' results.
import { estimateTokens, type ToolCall } from "../../models/index.ts";

/** A message as a model reads it. */
export interface ShownMessage {
  role: "user" | "assistant" | "tool";
  content: string | null;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

/** A message of a thread, as it is stored, with what it costs of the window. */
export interface ThreadMessage extends ShownMessage {
  tokens: number;
}

export interface Block {
  /** Where it lies in the thread; `to` is behind its last message. */
  from: number;
  to: number;
  entries: BlockEntry[];
}

/** One message of a view, and what it costs there. */
export interface BlockEntry {
  /** Its place in the thread; null: it lies in none, since nothing of it was stored. */
  index: number | null;
  message: ShownMessage;
  tokens: number;
}

/** A role and the borders of a message. */
const MESSAGE_TOKENS = 4;
/** A call whose run ended first; model servers refuse calls without results. */
const NO_RESULT = "There is no result: the run ended before this call was made.";

/** What a message costs of the window, about. */
export function countMessageTokens({ content, tool_calls = [] }: ShownMessage): number {
  return MESSAGE_TOKENS + Math.ceil(estimateTokens(content ?? "") + countCallTokens(tool_calls));
}

export function countCallTokens(calls: readonly ToolCall[]): number {
  let tokens = 0;
  for (const { function: called } of calls) {
    tokens += estimateTokens(called.name) + estimateTokens(called.arguments);
  }
  return tokens;
}

/** The blocks of a thread from that message on. Each call has its result behind it. */
export function listBlocks(messages: readonly ThreadMessage[], from: number): Block[] {
  const blocks: Block[] = [];
  for (let index = from; index < messages.length; ) {
    const block = readBlock(messages, index);
    blocks.push(block);
    index = block.to;
  }
  return blocks;
}

function readBlock(messages: readonly ThreadMessage[], from: number): Block {
  const first = messages[from]!;
  const entries = [enter(first, from)];
  const calls = first.tool_calls ?? [];
  const waiting = new Set(calls.map((call) => call.id));
  let to = from + 1;
  for (; messages[to]?.role === "tool"; to++) {
    const result = messages[to]!;
    if (waiting.delete(result.tool_call_id ?? "")) entries.push(enter(result, to));
  }
  for (const tool_call_id of waiting) {
    const missing = { role: "tool", content: NO_RESULT, tool_call_id } as const;
    entries.push({ index: null, message: missing, tokens: countMessageTokens(missing) });
  }
  return { from, to, entries };
}

/** Field by field: what is sent holds nothing else, and what is stored is never handed out. */
function enter(stored: ThreadMessage, index: number): BlockEntry {
  const { role, content, tool_calls, tool_call_id, tokens } = stored;
  const message: ShownMessage = { role, content };
  if (tool_calls) message.tool_calls = tool_calls;
  if (tool_call_id !== undefined) message.tool_call_id = tool_call_id;
  return { index, message, tokens };
}
