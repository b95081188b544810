// Requests to model servers and their completions: the types of the chat pipeline.
import type { ErrorCode } from "../../platform/errors.ts";
import type { Trace } from "../../platform/trace.ts";

export type Role = "system" | "user" | "assistant" | "tool";

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
  /** An assistant message with tool calls may have null. */
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

/** Form that the text of a reply must have; only models with the capability get one. */
export type ResponseFormat =
  | { type: "text" | "json_object" }
  | { type: "json_schema"; json_schema: { name: string; schema: object; strict?: boolean } };

export interface ModelRequest {
  request_id: string;
  trace: Trace | null;
  /** Account, or key without one, in whose turn a slot is taken; not sent. */
  account: string;
  messages: ModelMessage[];
  /** Effective output budget in tokens. */
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
  /** The model reasons first; its reasoning is not returned. */
  reasoning: boolean;
  /** Chunks are wanted as they come; a whole reply is cheaper. */
  stream: boolean;
}

type OwnFields = Pick<ModelRequest, "request_id" | "account" | "messages" | "max_tokens">;

/** Creates a request without tools, sampling settings or a stream. */
export function createPlainRequest(own: OwnFields): ModelRequest {
  return {
    trace: null,
    tools: [],
    tool_choice: null,
    temperature: null,
    top_p: null,
    presence_penalty: null,
    frequency_penalty: null,
    seed: null,
    stop: [],
    response_format: null,
    reasoning: false,
    stream: false,
    ...own,
  };
}

export type Chunk =
  | { kind: "text"; text: string }
  /** Only the first chunk of a call has `id` and `name`; `arguments` are joined by `index`. */
  | { kind: "call"; index: number; id?: string; name?: string; arguments: string };

/** Reasoning that a server sends apart; it reaches no caller. */
export interface ReasoningChunk {
  kind: "reasoning";
  text: string;
}

/** Receives chunks; a returned promise holds the server back. */
export type OnChunk = (chunk: Chunk) => void | Promise<void>;

export type OnRawChunk = (chunk: Chunk | ReasoningChunk) => void | Promise<void>;

export interface TokenUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

export function sumTokens(prompt_tokens: number, completion_tokens: number): TokenUsage {
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

export const UPSTREAM_CODES = [
  "context_length_exceeded",
  "upstream_rate_limited",
  "upstream_error",
  "upstream_timeout",
  "model_unavailable",
  "model_offline",
  "client_closed_request",
] as const satisfies readonly ErrorCode[];
export type UpstreamCode = (typeof UPSTREAM_CODES)[number];

export interface UpstreamError {
  ok: false;
  code: UpstreamCode;
  /** Another replica could do better: the request itself is not at fault. */
  retryable: boolean;
  /** Sentence for the operator's log, never in the server's own words. */
  reason: string;
  /** Set if this server, not the model server, ended the answer. */
  endedBy?: "stop" | "revocation";
  upstreamStatus?: number;
  /**
   * Set if the server sent no status. `perhaps`: it may still be computing a reply that is not
   * streamed.
   */
  noResponse?: "surely" | "perhaps";
  /** The connection failed, so that the server has not read the request. */
  isUnsent?: true;
  retryAfterMs?: number;
  promptTokens?: number;
  usage?: TokenUsage;
}

export interface CompletionOk {
  ok: true;
  /** `stop`, `tool_calls`, or another reason of the server's. */
  finishReason: string;
  usage: TokenUsage;
  /** The string of `stop` at which the reply ended, from the few servers that tell. */
  stopSequence?: string;
  /** The server reported no usage, so `usage` is an estimate. */
  usageEstimated?: true;
}

export type UpstreamResult = { ok: true } | UpstreamError;

export interface CompletionStats {
  attempts?: number;
  waitedMs?: number;
  /** Requests in work when this one got its place, itself included, and the places there. */
  inFlight?: number;
  inFlightMax?: number;
  /** Name of the replica that was asked last. */
  replica?: string;
}

/** Made for one request, so each stage may add to it. */
export type Completion = (CompletionOk | UpstreamError) & CompletionStats;

/** Performs a request; failures outside are values, never thrown. */
export type Complete = (
  request: ModelRequest,
  onChunk: OnChunk,
  signal: AbortSignal,
) => Promise<Completion>;

/** Performs a request at one replica within the time left for its first token. */
export type CompleteAttempt<E = OnChunk> = (
  request: ModelRequest,
  onChunk: E,
  signal: AbortSignal,
  firstTokenMs?: number,
) => Promise<Completion>;

export type RawComplete = CompleteAttempt<OnRawChunk>;

/** Counts exactly what the model would read, template and tools included; null if it cannot. */
export type CountTokens = (request: ModelRequest, signal: AbortSignal) => Promise<number | null>;
