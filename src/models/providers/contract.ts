// What a model server is asked and how it answers: the one type of the chat pipeline.
import type { ErrorCode } from "../../platform/errors.ts";
import type { Trace } from "../../platform/trace.ts";

export type Role = "system" | "user" | "assistant" | "tool";

/** A part of a message's content, in the standard format. */
export type ContentPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string; detail?: string } };

export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export interface ModelMessage {
  role: Role;
  /** null only on an assistant message that carries tool calls. */
  content: string | ContentPart[] | null;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

export interface ModelTool {
  type: "function";
  function: { name: string; description?: string; parameters?: Record<string, unknown> };
}

export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  | { type: "function"; function: { name: string } };

/** What form the text of a reply must have; only models of the capability are asked for one. */
export type ResponseFormat =
  | { type: "text" | "json_object" }
  | { type: "json_schema"; json_schema: { name: string; schema: object; strict?: boolean } };

/** What one model server is asked: judged, normalised, nothing in it that should not be sent. */
export interface ModelRequest {
  request_id: string;
  /** Where the caller's own trace goes on; null: it sent none. */
  trace: Trace | null;
  /** The account, or the key of none, in whose turn a place is taken; it is not sent. */
  account: string;
  messages: ModelMessage[];
  /** The effective output budget in tokens. */
  max_tokens: number;
  tools: ModelTool[];
  tool_choice: ToolChoice | null;
  temperature: number | null;
  top_p: number | null;
  presence_penalty: number | null;
  frequency_penalty: number | null;
  seed: number | null;
  stop: string[];
  response_format: ResponseFormat | null;
  /** true: the model is to reason first; what it reasons is told to nobody. */
  reasoning: boolean;
  /** true: pieces are wanted as they come; false: the whole reply at once is cheaper. */
  stream: boolean;
}

/** One piece of an answer, in the order in which the model made it. */
export type Chunk =
  | { kind: "text"; text: string }
  /** `id` and `name` stand in the first piece of a call only; `arguments` are joined by `index`. */
  | { kind: "call"; index: number; id?: string; name?: string; arguments: string };

/** What a model thinks, where its server tells it apart; it reaches no caller. */
export interface ReasoningChunk {
  kind: "thought";
  text: string;
}

/** Hears pieces; a promise holds the upstream back. */
export type OnChunk = (piece: Chunk) => void | Promise<void>;

/** Hears what a server says, thoughts included. */
export type OnRawChunk = (piece: Chunk | ReasoningChunk) => void | Promise<void>;

export interface TokenUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** The codes with which an upstream's failure can reach a caller. */
export type UpstreamCode = Extract<
  ErrorCode,
  | "context_length_exceeded"
  | "upstream_rate_limited"
  | "upstream_error"
  | "upstream_timeout"
  | "model_unavailable"
  | "model_offline"
  | "client_closed_request"
>;

export interface UpstreamError {
  ok: false;
  code: UpstreamCode;
  /** True when another replica could do better: nothing about the request itself was wrong. */
  retryable: boolean;
  /** What happened, for the operator's log: never the upstream's own words. */
  reason: string;
  upstreamStatus?: number;
  /**
   * Nothing of a reply came, not even its status: its server may be gone. `perhaps`: or it was
   * still at a whole reply, which begins only when it is made.
   */
  noResponse?: "surely" | "perhaps";
  /** It said when it would take requests again: so long from then on. */
  retryAfterMs?: number;
  /** Of `context_length_exceeded`: how long the messages are, where that was counted. */
  promptTokens?: number;
  /** What had been made until then, always an estimate; left out: nothing had. */
  usage?: TokenUsage;
}

export interface CompletionOk {
  ok: true;
  /** `stop`, `tool_calls`, or another reason of the upstream's that passes through. */
  finishReason: string;
  usage: TokenUsage;
  /** Its server told no usage: what stands there is our estimate, and nobody pays by it. */
  usageEstimated?: true;
  /**
   * The part of the usage that servers told: what is paid by. Left out: all of it, or none where
   * it is an estimate.
   */
  reportedUsage?: TokenUsage;
}

/** What a request to a server came to, whatever it was about. */
export type UpstreamResult = { ok: true } | UpstreamError;

/** How an answer came about; left out: nobody on its way has noted it. */
export interface CompletionStats {
  /** How often a replica was asked for it, whichever; 0: none was. */
  attempts?: number;
  /** How long it waited for a unit's start or for a place, in all. */
  waitedMs?: number;
}

/** It is made for one answer alone: whoever hands it on may add to it. */
export type Completion = (CompletionOk | UpstreamError) & CompletionStats;

/** Asks, tells the ear what comes, and ends; what fails outside is a value, never a throw. */
export type Complete = (
  request: ModelRequest,
  onChunk: OnChunk,
  signal: AbortSignal,
) => Promise<Completion>;

/** One replica's answer; its first token is waited for as long as the request has time left. */
export type CompleteAttempt = (
  request: ModelRequest,
  onChunk: OnChunk,
  signal: AbortSignal,
  first_token_ms?: number,
) => Promise<Completion>;

/** An answer with the thoughts still in it. */
export type RawComplete = (
  request: ModelRequest,
  onChunk: OnRawChunk,
  signal: AbortSignal,
  first_token_ms?: number,
) => Promise<Completion>;

/** Exactly how many tokens the model would read, template and tools included; null: it cannot. */
export type CountTokens = (request: ModelRequest, signal: AbortSignal) => Promise<number | null>;
