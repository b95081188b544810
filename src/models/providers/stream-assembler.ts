// Gathers what a chat-completions server says, whole or in deltas, into pieces and an ending.
import type { Ids } from "../../platform/ids.ts";
import { countPromptTokens, estimateTokens } from "../tokens.ts";
import type {
  Chunk,
  Completion,
  ModelRequest,
  OnRawChunk,
  ReasoningChunk,
  TokenUsage,
  UpstreamError,
} from "./contract.ts";
import { invalidReplyError } from "./openai/errors.ts";
import { type CallNormalizer, createCallNormalizer, type RawCall } from "./tool-calls.ts";

/** A message or a delta; nothing in it can be relied upon. */
export interface RawMessage {
  content?: unknown;
  tool_calls?: unknown;
  /** What it thinks, under the names that servers give it. */
  reasoning?: unknown;
  reasoning_content?: unknown;
  thinking?: unknown;
}

type RawPart = { type?: unknown; text?: unknown; thinking?: unknown } | null;

/** A reason is one word; anything longer is the server talking, and told to nobody. */
const REASON = /^\w{1,32}$/;
/** No window is so long. Sums of what servers tell must stay numbers that a database keeps. */
const TOKENS_MAX = 1_000_000_000;
/** TGI's words for a normal end. */
const NORMAL_ENDS = new Set(["eos_token", "stop_sequence"]);

export function createStreamAssembler(request: ModelRequest, onChunk: OnRawChunk, ids: Ids) {
  /** Made at the first call: most answers have none. */
  let calls: CallNormalizer | null = null;
  let finish_reason: string | null = null;
  let isOver = false;
  let isDone = false;
  let followed: unknown = null;
  let hasBegun = false;
  let usage: TokenUsage | null = null;
  let estimated_tokens = 0;

  const tell = (piece: Chunk | ReasoningChunk): void | Promise<void> => {
    hasBegun = true;
    // Counted as it goes, so that nothing of a long stream has to be kept.
    if (!usage)
      estimated_tokens += estimateTokens(piece.kind === "call" ? piece.arguments : piece.text);
    return onChunk(piece);
  };
  const tellCalls = async (raw_calls: unknown[], held: void | Promise<void>): Promise<void> => {
    await held;
    calls ??= createCallNormalizer(ids);
    for (const raw of raw_calls) {
      if (typeof raw !== "object" || raw === null) continue;
      const piece = calls.take(raw as RawCall);
      if (piece) await tell(piece);
    }
  };
  const tellThoughts = (parts: readonly RawPart[]) => {
    for (const part of parts) {
      if (part?.type === "thinking") tell({ kind: "thought", text: readText(part.thinking) });
    }
  };
  /** A failure with what had been made until then: nobody gets that back. */
  const breakOff = (failure: UpstreamError): UpstreamError =>
    hasBegun ? { ...failure, usage: usage ?? estimateUsage(request, estimated_tokens) } : failure;
  return {
    /** True once the model has begun, be it with thoughts that nobody is shown. */
    get hasBegun() {
      return hasBegun;
    },
    /** True once it has told an end: whatever breaks afterwards, the answer is whole. */
    get isOver() {
      return isOver;
    },
    /** True behind [DONE]: nothing that comes now belongs to the answer. */
    get isDone() {
      return isDone;
    },
    /** One answer was asked for: pieces of a second one must not be mixed into the first. */
    follows(index: unknown): boolean {
      followed ??= index ?? null;
      return (index ?? followed) === followed;
    },
    /** Tells the ear what is new; a promise: it holds back. */
    take(raw: RawMessage): void | Promise<void> {
      const { content, tool_calls } = raw;
      const thought = raw.reasoning ?? raw.reasoning_content ?? raw.thinking;
      if (thought) void tell({ kind: "thought", text: readText(thought) });
      if (Array.isArray(content)) void tellThoughts(content);
      const text = readText(content);
      const held = text === "" ? undefined : tell({ kind: "text", text });
      if (!Array.isArray(tool_calls) || tool_calls.length === 0) return held;
      return tellCalls(tool_calls, held);
    },
    /** null: an end without a reason. */
    finish(reason: unknown) {
      isOver = true;
      if (typeof reason === "string" && REASON.test(reason)) finish_reason = reason;
    },
    done() {
      isOver = true;
      isDone = true;
    },
    count(raw: unknown) {
      usage = readUsage(raw) ?? usage;
    },
    breakOff,
    end(): Completion {
      // Without a reason or [DONE] the server died: a clean end would be a lie.
      if (!isOver) return breakOff(invalidReplyError("its stream ended in the middle"));
      const reason = nameEnd(finish_reason, calls?.hasCalls ?? false);
      if (usage) return { ok: true, finishReason: reason, usage };
      const estimate = estimateUsage(request, estimated_tokens);
      return { ok: true, finishReason: reason, usage: estimate, usageEstimated: true };
    },
  };
}
export type StreamAssembler = ReturnType<typeof createStreamAssembler>;

/** Most servers send text; some send parts, of which one kind is text and another is thought. */
function readText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part: RawPart) => (part?.type === "text" ? part.text : ""));
  return texts.filter((text) => typeof text === "string").join("");
}

/** gateway.resources.reply.p3: `tool_calls` when there are calls, whatever the server says. */
function nameEnd(reason: string | null, hasCalls: boolean): string {
  const isNormal = reason === null || reason === "stop" || NORMAL_ENDS.has(reason);
  if (isNormal || reason === "tool_calls") return hasCalls ? "tool_calls" : "stop";
  return reason;
}

function readUsage(raw: unknown): TokenUsage | null {
  if (typeof raw !== "object" || raw === null) return null;
  const { prompt_tokens, completion_tokens } = raw as Record<string, unknown>;
  if (!isCount(prompt_tokens) || !isCount(completion_tokens)) return null;
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX;
}

/** Where the server tells no usage an estimate stands in: zeros would look like a free answer. */
function estimateUsage(request: ModelRequest, told_tokens: number): TokenUsage {
  const prompt_tokens = Math.ceil(countPromptTokens(request, estimateTokens));
  const completion_tokens = Math.ceil(told_tokens);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
