// The model inside the program: deterministic, at a settable pace, without network or weights.
import { type Clock, wait } from "../../../platform/clock.ts";
import { apiError, type ErrorCode } from "../../../platform/errors.ts";
import type { Ids } from "../../../platform/ids.ts";
import { countPromptTokens } from "../../tokens.ts";
import { abortOnDisconnect } from "../abort.ts";
import type {
  Chunk,
  Completion,
  ModelRequest,
  OnRawChunk,
  RawComplete,
  TokenUsage,
  UpstreamCode,
  UpstreamError,
} from "../contract.ts";
import { planReply, type StubToken } from "./reply.ts";

export interface StubOptions {
  clock: Clock;
  ids: Ids;
  /** 0: as fast as it can. */
  tokens_per_second: number;
  first_token_delay_ms: number;
}

/** So many tokens go out in one turn of the event loop, about a millisecond of everyone's time. */
const TOKENS_A_TURN = 64;

/** The codes that end an answer, and whether another replica could do better. */
const FAILURES: Record<UpstreamCode, boolean> = {
  context_length_exceeded: false,
  upstream_rate_limited: true,
  upstream_error: true,
  upstream_timeout: true,
  model_unavailable: true,
  model_offline: true,
  client_closed_request: false,
};

/** It does not cost it a token. */
const THOUGHT = { kind: "thought", text: "" } as const;

/** The codes that always name the same field: gateway.errors.model_not_permitted and its like. */
const PARAMS: Partial<Record<ErrorCode, string>> = {
  model_not_permitted: "model",
  model_not_found: "model",
};

/** What one reply has come to so far. */
interface Made {
  tokens: number;
}

/** A scripted code that no model server can cause is thrown as a refusal. */
export function createStub(options: StubOptions): RawComplete {
  return (ask, onChunk, signal) => {
    const made: Made = { tokens: 0 };
    const answer = abortOnDisconnect<OnRawChunk>(
      (...given) => reply(...given, options, made),
      () => leave(ask, made),
    );
    return answer(ask, onChunk, signal);
  };
}

async function reply(
  request: ModelRequest,
  onChunk: OnRawChunk,
  signal: AbortSignal,
  options: StubOptions,
  made: Made,
): Promise<Completion> {
  // Like a server, it says nothing before the call has returned.
  await Promise.resolve();
  const { beats, finish_reason } = planReply(request, () => `call_${options.ids.token(24)}`);
  const pace = createPace(options, signal, request.stream);
  if (request.reasoning) void onChunk(THOUGHT);
  const whole: Chunk[] = [];
  for (const beat of beats) {
    if (beat.do === "tell") {
      const pause = pace.next();
      if (pause) await pause;
      if (signal.aborted) return leave(request, made);
      made.tokens++;
      const held = request.stream ? onChunk(beat.piece) : join(whole, beat.piece);
      if (held) await held;
    } else if (beat.do === "delay") await pace.delay(beat.delay_ms);
    else return end(beat, request, made);
    if (signal.aborted) return leave(request, made);
  }
  for (const piece of whole) {
    await onChunk(piece);
    if (signal.aborted) return leave(request, made);
  }
  return { ok: true, finishReason: finish_reason, usage: countUsage(request, made) };
}

/** When the next token may go. */
function createPace(options: StubOptions, signal: AbortSignal, isStream: boolean) {
  const { clock, tokens_per_second, first_token_delay_ms } = options;
  const interval_ms = tokens_per_second > 0 ? 1_000 / tokens_per_second : 0;
  let due_ms: number | null = null;
  let unbroken = 0;
  return {
    /** Nothing when it may go at once. Late tokens catch up: a late timer costs no pace. */
    next(): Promise<boolean> | undefined {
      const now_ms = clock.monotonic();
      due_ms = due_ms === null ? now_ms + first_token_delay_ms : due_ms + interval_ms;
      const pause_ms = Math.max(0, due_ms - now_ms);
      if (pause_ms === 0 && (!isStream || ++unbroken < TOKENS_A_TURN)) return undefined;
      unbroken = 0;
      return wait(clock, pause_ms, signal);
    },
    async delay(delay_ms: number): Promise<void> {
      await wait(clock, delay_ms, signal);
      // What was due meanwhile is not caught up.
      if (due_ms !== null) due_ms = clock.monotonic();
    },
  };
}

/** Adds a piece to a whole reply: one piece for each text and each call. */
function join(whole: Chunk[], piece: Chunk): void {
  const last = whole.at(-1);
  if (last?.kind === "text" && piece.kind === "text") last.text += piece.text;
  else if (last?.kind === "call" && piece.kind === "call" && last.index === piece.index) {
    last.arguments += piece.arguments;
  } else whole.push({ ...piece });
}

function end(
  beat: Extract<StubToken, { do: "stall" } | { do: "fail" }>,
  request: ModelRequest,
  made: Made,
): UpstreamError | Promise<never> {
  // Nothing comes any more; only the race with the caller's leaving ends it.
  if (beat.do === "stall") return new Promise(() => undefined);
  const { code, why } = beat;
  if (Object.hasOwn(FAILURES, code)) return failWith(code as UpstreamCode, why, request, made);
  // gateway.errors.headers.retry_after
  const needsWait = code === "rate_limit_exceeded" || code === "capacity_exceeded";
  throw apiError(code, {
    param: PARAMS[code],
    headers: needsWait ? { "retry-after": "1" } : {},
  });
}

function leave(request: ModelRequest, made: Made): UpstreamError {
  return failWith("client_closed_request", "the caller left", request, made);
}

/** A failure, with what had been made until then. */
function failWith(
  code: UpstreamCode,
  why: string,
  request: ModelRequest,
  made: Made,
): UpstreamError {
  const failure: UpstreamError = { ok: false, code, retryable: FAILURES[code], reason: why };
  return made.tokens === 0 ? failure : { ...failure, usage: countUsage(request, made) };
}

function countUsage(request: ModelRequest, { tokens: completion_tokens }: Made): TokenUsage {
  const prompt_tokens = countPromptTokens(request);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
