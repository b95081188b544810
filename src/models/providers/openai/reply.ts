// Reads a chat-completions server's reply, whole or streamed, into pieces and an ending.
import type { Ids } from "../../../platform/ids.ts";
import { parseObject } from "../body.ts";
import type { Completion, ModelRequest, OnRawChunk, UpstreamError } from "../contract.ts";
import {
  createStreamAssembler,
  type RawMessage,
  type StreamAssembler,
} from "../stream-assembler.ts";
import type { RequestTimeouts } from "../timeouts.ts";
import { classifyError, invalidReplyError } from "./errors.ts";

/** Beyond it, it is no model's: 8,192 tokens of text are some 40 KB, as chunks some 3 MB. */
export const REPLY_BYTES_MAX = 16 * 1024 * 1024;
/** Behind the end only usage, [DONE] and the close are to come; nobody waits long for them. */
const LINGER_MS = 2_000;

interface RawChoice {
  index?: unknown;
  message?: RawMessage;
  delta?: RawMessage;
  finish_reason?: unknown;
}
interface RawReply {
  choices?: unknown;
  usage?: unknown;
  error?: unknown;
  object?: unknown;
  code?: unknown;
}

/** What a reply is read with. */
export interface ReplyAssembly {
  request: ModelRequest;
  onChunk: OnRawChunk;
  ids: Ids;
  watch: RequestTimeouts;
  stall_timeout_ms: number;
}

/** Reads a whole reply: one text piece and whole calls. */
export function readReply(
  text: string,
  { request: ask, onChunk, ids }: ReplyAssembly,
): Completion | Promise<Completion> {
  const raw: RawReply | null = parseObject(text);
  if (!raw) return invalidReplyError("its reply is no JSON object");
  const error = findError(raw, text);
  if (error) return error;
  const choice = firstChoice(raw);
  if (!choice?.message || typeof choice.message !== "object")
    return invalidReplyError("its reply has no message");
  const collector = createStreamAssembler(ask, onChunk, ids);
  collector.count(raw.usage);
  const held = collector.take(partCalls(choice.message));
  collector.finish(choice.finish_reason);
  return held ? held.then(() => collector.end()) : collector.end();
}

/** Each call of a whole reply stands for itself: servers number them all 0, or give all one id. */
function partCalls(message: RawMessage): RawMessage {
  const { tool_calls } = message;
  if (!Array.isArray(tool_calls)) return message;
  const parted = tool_calls.map((call: unknown, index) =>
    typeof call === "object" && call !== null ? { ...call, index } : call,
  );
  return { ...message, tool_calls: parted };
}

/** Reads one event; a promise: the ear holds back · a failure: nothing more is to be read. */
export function takeEvent(
  event: string,
  collector: StreamAssembler,
  { watch, stall_timeout_ms }: ReplyAssembly,
): UpstreamError | void | Promise<void> {
  if (collector.isDone) return;
  const wasOver = collector.isOver;
  if (event.startsWith("[DONE]")) {
    collector.done();
    if (!wasOver) watch.allow(LINGER_MS);
    return;
  }
  const raw: RawReply | null = parseObject(event);
  if (!raw) return invalidReplyError("a chunk is no JSON object");
  const error = findError(raw, event);
  if (error) return error;
  collector.count(raw.usage);
  const choice = firstChoice(raw);
  if (choice && !collector.follows(choice.index)) return;
  const held = choice?.delta ? collector.take(choice.delta) : undefined;
  // Text may stand beside the reason: the text was told first.
  if (choice?.finish_reason) collector.finish(choice.finish_reason);
  // Comments and empty deltas prove life only: they are no first token.
  if (collector.isOver) {
    // Once: whoever goes on talking behind the end would be waited for without one.
    if (!wasOver) watch.allow(LINGER_MS);
  } else if (collector.hasBegun) watch.allow(stall_timeout_ms);
  return held;
}

/** An error under status 200: nested, or flat as older vLLM and SGLang send it. */
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
