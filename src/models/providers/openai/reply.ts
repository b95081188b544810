// Reads chat-completions replies and stream events.
import type { Ids } from "../../../platform/ids.ts";
import { parseObject } from "../../../platform/json.ts";
import type { Completion, ModelRequest, OnRawChunk, UpstreamError } from "../contract.ts";
import type { RequestTimeouts } from "../timeouts.ts";
import { type RawMessage, StreamAssembler } from "./assembler.ts";
import { classifyError, invalidReplyError } from "./errors.ts";

/** Maximum size of a reply: 8,192 tokens are some 40 KB of text, and some 3 MB as a stream. */
export const REPLY_BYTES_MAX = 16 * 1024 * 1024;
/** Time for usage, [DONE] and the close behind the end. */
const LINGER_MS = 2_000;

interface RawChoice {
  index?: unknown;
  message?: RawMessage;
  delta?: RawMessage;
  finish_reason?: unknown;
  /** vLLM's name of the string that ended the reply; other ends have other values. */
  stop_reason?: unknown;
  /** SGLang's name of it. */
  matched_stop?: unknown;
}
interface RawReply {
  choices?: unknown;
  usage?: unknown;
  error?: unknown;
  object?: unknown;
  code?: unknown;
}

export interface ReplyContext {
  request: ModelRequest;
  onChunk: OnRawChunk;
  ids: Ids;
  timeouts: RequestTimeouts;
  stall_timeout_ms: number;
}

export function readReply(
  text: string,
  { request, onChunk, ids }: ReplyContext,
): Completion | Promise<Completion> {
  const raw: RawReply | null = parseObject(text);
  if (!raw) return invalidReplyError("its reply is no JSON object");
  const error = findError(raw, text);
  if (error) return error;
  const choice = firstChoice(raw);
  if (!choice?.message || typeof choice.message !== "object")
    return invalidReplyError("its reply has no message");
  const assembler = new StreamAssembler(request, onChunk, ids);
  assembler.count(raw.usage);
  const held = assembler.take(numberCalls(choice.message));
  assembler.finish(choice.finish_reason, choice.stop_reason ?? choice.matched_stop);
  return held ? held.then(() => assembler.end()) : assembler.end();
}

/** Servers number all calls of a whole reply 0, or give them one id. */
function numberCalls(message: RawMessage): RawMessage {
  const { tool_calls } = message;
  if (!Array.isArray(tool_calls)) return message;
  const numbered = tool_calls.map((call: unknown, index) =>
    typeof call === "object" && call !== null ? { ...call, index } : call,
  );
  return { ...message, tool_calls: numbered };
}

export function takeEvent(
  event: string,
  assembler: StreamAssembler,
  { timeouts, stall_timeout_ms }: ReplyContext,
): UpstreamError | void | Promise<void> {
  if (assembler.isDone) return;
  const wasOver = assembler.isOver;
  if (event.startsWith("[DONE]")) {
    assembler.done();
    if (!wasOver) timeouts.allow(LINGER_MS);
    return;
  }
  const raw: RawReply | null = parseObject(event);
  if (!raw) return invalidReplyError("a chunk is no JSON object");
  const error = findError(raw, event);
  if (error) return error;
  assembler.count(raw.usage);
  const choice = firstChoice(raw);
  if (choice && !assembler.follows(choice.index)) return;
  const held = choice?.delta ? assembler.take(choice.delta) : undefined;
  if (choice?.finish_reason) {
    assembler.finish(choice.finish_reason, choice.stop_reason ?? choice.matched_stop);
  }
  if (assembler.isOver) {
    // Set once, so that a server cannot continue after the end.
    if (!wasOver) timeouts.allow(LINGER_MS);
    // Comments and empty deltas are no first token.
  } else if (assembler.hasBegun) timeouts.allow(stall_timeout_ms);
  return held;
}

/** Finds an error under status 200: nested, or flat as in older vLLM and SGLang. */
function findError(raw: RawReply, text: string): UpstreamError | null {
  if (!raw.error && raw.object !== "error") return null;
  const inner = typeof raw.error === "object" && raw.error !== null ? (raw.error as RawReply) : raw;
  const status = Number(inner.code);
  return classifyError(status >= 400 && status < 600 ? status : null, text);
}

function firstChoice(raw: RawReply): RawChoice | null {
  const choice = Array.isArray(raw.choices) ? raw.choices[0] : null;
  return typeof choice === "object" ? (choice as RawChoice | null) : null;
}
