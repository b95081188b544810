// Blocks of a thread that stay together: a user's message, or an assistant's with the results of
// its calls. Also counts a message's tokens and truncates one that is too long.

import { estimateTokens, type ToolCall } from "../../models/index.ts";
import { countShownImages, type ShownPart } from "./parts.ts";

export interface ShownMessage {
  role: "user" | "assistant" | "tool";
  content: string | null;
  /** Texts and images in their order, which stand for `content`. */
  parts?: readonly ShownPart[];
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

export interface ThreadMessage extends ShownMessage {
  tokens: number;
}

export interface Block {
  from: number;
  to: number;
  entries: BlockEntry[];
}

export interface BlockEntry {
  /** Index in the thread; null for a message that is not stored there. */
  index: number | null;
  message: ShownMessage;
  tokens: number;
}

export const MESSAGE_TOKENS = 4;
/** Estimate for an image, between those of small and of large ones. */
const IMAGE_TOKENS = 1_000;
/** Result of a call whose run ended first; model servers require one. */
const NO_RESULT = "There is no result: the run ended before this call was made.";

export function countMessageTokens({ content, parts, tool_calls = [] }: ShownMessage): number {
  const tokens = estimateTokens(content ?? "") + countCallTokens(tool_calls);
  return MESSAGE_TOKENS + Math.ceil(tokens) + IMAGE_TOKENS * countShownImages(parts);
}

function countCallTokens(calls: readonly ToolCall[]): number {
  let tokens = 0;
  for (const { function: called } of calls) {
    tokens += estimateTokens(called.name) + estimateTokens(called.arguments);
  }
  return tokens;
}

/** Splits a thread from a message on, and adds missing results of calls. */
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
  const entries = [copyEntry(first, from)];
  const calls = first.tool_calls ?? [];
  const waiting = new Set(calls.map((call) => call.id));
  let to = from + 1;
  for (; messages[to]?.role === "tool"; to++) {
    const result = messages[to]!;
    if (waiting.delete(result.tool_call_id ?? "")) entries.push(copyEntry(result, to));
  }
  for (const tool_call_id of waiting) {
    const missing = { role: "tool", content: NO_RESULT, tool_call_id } as const;
    entries.push({ index: null, message: missing, tokens: countMessageTokens(missing) });
  }
  return { from, to, entries };
}

/** Copies field by field, so that nothing else is sent and the stored message stays unchanged. */
function copyEntry(stored: ThreadMessage, index: number): BlockEntry {
  const { role, content, parts, tool_calls, tool_call_id, tokens } = stored;
  const message: ShownMessage = { role, content };
  if (parts) message.parts = parts;
  if (tool_calls) message.tool_calls = tool_calls;
  if (tool_call_id !== undefined) message.tool_call_id = tool_call_id;
  return { index, message, tokens };
}

const NO_IMAGES = "[Images stood here, which are left out to save room.]";

/** Share of the kept text that comes from its end, which often holds the conclusion. */
const TAIL_SHARE = 0.25;
const KEPT_CHARACTERS_MIN = 256;
/** Maximum tokens of the sentence that says how much is left out. */
const MARK_TOKENS = 20;

/** Truncates a message to about `tokensMax`, or as near as possible. */
export function truncateMessage(message: ShownMessage, tokensMax: number): ShownMessage {
  if (message.parts) return truncateParts(message, tokensMax);
  const { content, tool_calls = [] } = message;
  const calls = countCallTokens(tool_calls);
  if (calls <= tokensMax / 2) {
    return { ...message, content: truncateText(content, tokensMax - calls) };
  }
  // A part of a JSON text is not JSON; the results behind show what the calls did.
  const emptied = tool_calls.map((call) => {
    return { ...call, function: { ...call.function, arguments: "{}" } };
  });
  const left = tokensMax - countCallTokens(emptied);
  return { ...message, content: truncateText(content, left), tool_calls: emptied };
}

/** Keeps all images, or none where they alone are too long. */
function truncateParts({ parts = [], ...message }: ShownMessage, tokensMax: number): ShownMessage {
  const images = parts.filter(({ type }) => type === "image");
  const left = tokensMax - IMAGE_TOKENS * images.length;
  const content = truncateText(message.content, Math.max(left, tokensMax / 2));
  const text = content === null || content === "" ? [] : [{ type: "text" as const, text: content }];
  if (left >= tokensMax / 2) return { ...message, content, parts: [...text, ...images] };
  return { ...message, content: [content, NO_IMAGES].filter(Boolean).join("\n\n") };
}

function truncateText(text: string | null, tokensMax: number): string | null {
  if (text === null) return null;
  const tokens = estimateTokens(text);
  if (tokens <= tokensMax) return text;
  let kept = Math.floor((text.length * Math.max(0, tokensMax - MARK_TOKENS)) / tokens);
  for (;;) {
    kept = Math.max(kept, KEPT_CHARACTERS_MIN);
    if (kept >= text.length) return text;
    const truncated = cutMiddle(text, kept);
    if (kept === KEPT_CHARACTERS_MIN || estimateTokens(truncated) <= tokensMax) return truncated;
    // The remaining parts have more tokens than the average.
    kept = Math.floor(kept * 0.75);
  }
}

function cutMiddle(text: string, kept: number): string {
  const tail = Math.floor(kept * TAIL_SHARE);
  const head = text.slice(0, kept - tail);
  const mark = `\n\n[… About ${text.length - kept} characters are left out here. …]\n\n`;
  return (head + mark + text.slice(text.length - tail)).toWellFormed();
}
