// Assembles a chat-completions reply, whole or in deltas, into chunks and a completion.
import type { Ids } from "../../../platform/ids.ts";
import { isDeeper, parseJson } from "../../../platform/json.ts";
import { countPromptTokens, estimateTokens } from "../../tokens.ts";
import {
  type Chunk,
  type Completion,
  type ModelRequest,
  type OnRawChunk,
  type ReasoningChunk,
  sumTokens,
  type TokenUsage,
  type UpstreamError,
} from "../contract.ts";
import { invalidReplyError } from "./errors.ts";

export interface RawMessage {
  content?: unknown;
  tool_calls?: unknown;
  reasoning?: unknown;
  reasoning_content?: unknown;
  thinking?: unknown;
}

type RawPart = { type?: unknown; text?: unknown; thinking?: unknown } | null;

/** Words of one line; longer reasons are a server's own text, which is not passed on. */
const REASON = /^\w{1,32}$/;
/** Maximum tokens that are believed, so that sums fit a database. */
const TOKENS_MAX = 1_000_000_000;
/** Maximum nesting of arguments that are sent as an object. */
const ARGUMENTS_DEPTH_MAX = 1_000;
/** TGI's words for a normal end. */
const NORMAL_ENDS = new Set(["eos_token", "stop_sequence"]);

export class StreamAssembler {
  readonly #request: ModelRequest;
  readonly #onChunk: OnRawChunk;
  readonly #ids: Ids;
  #calls: CallNormalizer | null = null;
  #finishReason: string | null = null;
  #stopSequence: string | undefined;
  #choice: unknown = null;
  #usage: TokenUsage | null = null;
  #estimatedTokens = 0;
  hasBegun = false;
  /** The server has sent an end: a later failure leaves the completion whole. */
  isOver = false;
  /** [DONE] has come, and nothing behind it belongs to the completion. */
  isDone = false;

  constructor(request: ModelRequest, onChunk: OnRawChunk, ids: Ids) {
    this.#request = request;
    this.#onChunk = onChunk;
    this.#ids = ids;
  }

  /** One choice was asked for: deltas of a second one must not be mixed into it. */
  follows(index: unknown): boolean {
    this.#choice ??= index ?? null;
    return (index ?? this.#choice) === this.#choice;
  }

  take(raw: RawMessage): void | Promise<void> {
    const { content, tool_calls } = raw;
    const reasoning = raw.reasoning ?? raw.reasoning_content ?? raw.thinking;
    if (reasoning) void this.#send({ kind: "reasoning", text: readText(reasoning) });
    if (Array.isArray(content)) this.#takeThinking(content);
    const text = readText(content);
    const held = text === "" ? undefined : this.#send({ kind: "text", text });
    if (!Array.isArray(tool_calls) || tool_calls.length === 0) return held;
    return this.#takeCalls(tool_calls, held);
  }

  finish(reason: unknown, matched: unknown): void {
    this.isOver = true;
    this.#stopSequence ??= this.#request.stop.find((one) => one === matched);
    if (typeof reason === "string" && REASON.test(reason)) this.#finishReason = reason;
  }

  done(): void {
    this.isOver = true;
    this.isDone = true;
  }

  count(raw: unknown): void {
    this.#usage = readUsage(raw) ?? this.#usage;
  }

  breakOff(failure: UpstreamError): UpstreamError {
    return this.hasBegun ? { ...failure, usage: this.#usage ?? this.#estimateUsage() } : failure;
  }

  end(): Completion {
    // Without a reason or [DONE] the server died in the middle.
    if (!this.isOver) return this.breakOff(invalidReplyError("its stream ended in the middle"));
    const finishReason = chooseFinishReason(this.#finishReason, this.#calls?.hasCalls ?? false);
    const stopSequence = this.#stopSequence;
    const end = { ok: true as const, finishReason, ...(stopSequence && { stopSequence }) };
    if (this.#usage) return { ...end, usage: this.#usage };
    return { ...end, usage: this.#estimateUsage(), usageEstimated: true };
  }

  #send(chunk: Chunk | ReasoningChunk): void | Promise<void> {
    this.hasBegun = true;
    // Counted on the way, so that nothing of a long stream is kept.
    if (!this.#usage) {
      this.#estimatedTokens += estimateTokens(chunk.kind === "call" ? chunk.arguments : chunk.text);
    }
    return this.#onChunk(chunk);
  }

  async #takeCalls(rawCalls: unknown[], held: void | Promise<void>): Promise<void> {
    await held;
    this.#calls ??= new CallNormalizer(this.#ids);
    for (const raw of rawCalls) {
      if (typeof raw !== "object" || raw === null) continue;
      const chunk = this.#calls.take(raw as RawCall);
      if (chunk) await this.#send(chunk);
    }
  }

  #takeThinking(parts: readonly RawPart[]): void {
    for (const part of parts) {
      if (part?.type !== "thinking") continue;
      void this.#send({ kind: "reasoning", text: readText(part.thinking) });
    }
  }

  /** Zeros would look like a free completion. */
  #estimateUsage(): TokenUsage {
    const prompt_tokens = Math.ceil(countPromptTokens(this.#request, estimateTokens));
    return sumTokens(prompt_tokens, Math.ceil(this.#estimatedTokens));
  }
}

/** Most servers send text; some send parts, of which `text` is one kind. */
function readText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part: RawPart) => (part?.type === "text" ? part.text : ""));
  return texts.filter((text) => typeof text === "string").join("");
}

/** gateway.resources.reply.p3: `tool_calls` if there are calls, even if the server disagrees. */
function chooseFinishReason(reason: string | null, hasCalls: boolean): string {
  const isNormal = reason === null || reason === "stop" || NORMAL_ENDS.has(reason);
  if (isNormal || reason === "tool_calls") return hasCalls ? "tool_calls" : "stop";
  return reason;
}

function readUsage(raw: unknown): TokenUsage | null {
  if (typeof raw !== "object" || raw === null) return null;
  const { prompt_tokens, completion_tokens } = raw as Record<string, unknown>;
  if (!isCount(prompt_tokens) || !isCount(completion_tokens)) return null;
  return sumTokens(prompt_tokens, completion_tokens);
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX;
}

/** A tool call or a part of one as servers send it; any field can be missing. */
export interface RawCall {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown };
}

interface AssembledCall {
  /** Our index, once sent. */
  index: number | null;
  id: string;
  serverId: string;
  name: string;
  arguments: string;
  /** The arguments end like an object; parsing them at each part would take quadratic time. */
  isClosed: boolean;
}

/** Brings parts of tool calls into one form: always an index, id and name in the first. */
export class CallNormalizer {
  readonly #ids: Ids;
  /** Calls by the server's index, or by its id where it sends no index. */
  readonly #calls = new Map<unknown, AssembledCall>();
  readonly #callIds = new Set<string>();
  #last: AssembledCall | undefined;
  #sent = 0;

  constructor(ids: Ids) {
    this.#ids = ids;
  }

  get hasCalls(): boolean {
    return this.#sent > 0;
  }

  /** Returns null while there is nothing to pass on yet. */
  take(raw: RawCall): Extract<Chunk, { kind: "call" }> | null {
    const id = typeof raw.id === "string" ? raw.id : "";
    const name = typeof raw.function?.name === "string" ? raw.function.name : "";
    const text = readArguments(raw.function?.arguments);
    const key = typeof raw.index === "number" ? raw.index : id;
    const call = this.#find(key, id, name) ?? this.#begin(key, id);
    this.#last = call;
    call.arguments += text;
    if (text.trim() !== "") call.isClosed = text.trimEnd().endsWith("}");
    if (call.index !== null) {
      return text === "" ? null : { kind: "call", index: call.index, arguments: text };
    }
    call.name = name;
    // The first chunk carries the name, and waits for it.
    if (name === "") return null;
    call.index = this.#sent++;
    return { kind: "call", index: call.index, id: call.id, name, arguments: call.arguments };
  }

  #find(key: unknown, id: string, name: string): AssembledCall | undefined {
    // A part without index and name cannot begin a call, even with a new id each time.
    const isContinuation = typeof key !== "number" && name === "";
    const call = this.#calls.get(key) ?? (isContinuation || key === "" ? this.#last : undefined);
    if (!call || name === "") return call;
    // Some servers number every call 0, some repeat the name, some send a new id with each part.
    const isSame = id === "" ? typeof key === "number" : id === call.serverId;
    if (isSame) return call;
    // Parsed only here, since it costs much.
    const isWhole =
      name !== call.name || (call.isClosed && parseJson(call.arguments) !== undefined);
    return isWhole ? undefined : call;
  }

  #begin(key: unknown, serverId: string): AssembledCall {
    // Results are matched by id, so an empty one or one in use would mix them up.
    const isFree = serverId !== "" && !this.#callIds.has(serverId);
    const id = isFree ? serverId : `call_${this.#ids.token(24)}`;
    const call: AssembledCall = {
      index: null,
      id,
      serverId,
      name: "",
      arguments: "",
      isClosed: false,
    };
    this.#callIds.add(id);
    if (key !== "") this.#calls.set(key, call);
    return call;
  }
}

/** The format says text; Ollama sends an object. */
function readArguments(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  // A text instead of an object fails every check; `{}` could run without its arguments.
  return isDeeper(value, ARGUMENTS_DEPTH_MAX) ? '"nested too deep"' : JSON.stringify(value);
}
