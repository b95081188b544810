// The model inside the program: deterministic, at a settable pace, without network or weights.
import { type Clock, wait } from "../../../platform/clock.ts";
import { apiError, type ErrorCode } from "../../../platform/errors.ts";
import type { Ids } from "../../../platform/ids.ts";
import { countPromptTokens } from "../../tokens.ts";
import {
  type Chunk,
  type Completion,
  type ModelRequest,
  type OnRawChunk,
  type RawComplete,
  sumTokens,
  type TokenUsage,
  UPSTREAM_CODES,
  type UpstreamCode,
  type UpstreamError,
} from "../contract.ts";
import { upstreamError } from "../openai/errors.ts";
import { abortOnDisconnect } from "../timeouts.ts";
import { planReply, type StubToken } from "./reply.ts";

export interface StubOptions {
  clock: Clock;
  ids: Ids;
  /** 0: as fast as possible. */
  tokens_per_second: number;
  first_token_delay_ms: number;
}

/** Maximum tokens in one turn of the event loop, about a millisecond. */
const TOKENS_PER_TURN = 64;

/** Codes that every replica would answer with. */
const FINAL: readonly UpstreamCode[] = ["context_length_exceeded", "client_closed_request"];

/** Codes that always name the same field: gateway.errors.model_not_permitted and others. */
const PARAMS: Partial<Record<ErrorCode, string>> = {
  model_not_permitted: "model",
  model_not_found: "model",
};

/** Throws an ApiError for a scripted code that no model server can cause. */
export function createStub(options: StubOptions): RawComplete {
  return (request, onChunk, signal) => {
    const reply = new StubStream(request, options);
    const run = abortOnDisconnect<OnRawChunk>(
      (_, hear, leaving) => reply.run(hear, leaving),
      () => reply.leave(),
    );
    return run(request, onChunk, signal);
  };
}

class StubStream {
  readonly #request: ModelRequest;
  readonly #options: StubOptions;
  #tokens = 0;
  #dueMs: number | null = null;
  #unbroken = 0;

  constructor(request: ModelRequest, options: StubOptions) {
    this.#request = request;
    this.#options = options;
  }

  async run(onChunk: OnRawChunk, signal: AbortSignal): Promise<Completion> {
    const { stream } = this.#request;
    const { clock, ids } = this.#options;
    // Like a server, it sends nothing before the call has returned.
    await Promise.resolve();
    const plan = planReply(this.#request, () => `call_${ids.token(24)}`);
    const { tokens, ...end } = plan;
    const whole: Chunk[] = [];
    for (const token of tokens) {
      if (token.do === "send") {
        const pause = this.#pause(signal);
        if (pause) await pause;
        if (signal.aborted) return this.leave();
        this.#tokens++;
        const held = stream ? onChunk(token.chunk) : append(whole, token.chunk);
        if (held) await held;
      } else if (token.do === "delay") {
        await wait(clock, token.delayMs, signal);
        // Tokens due meanwhile are not caught up.
        if (this.#dueMs !== null) this.#dueMs = clock.monotonic();
      } else return this.#end(token);
      if (signal.aborted) return this.leave();
    }
    for (const chunk of whole) {
      await onChunk(chunk);
      if (signal.aborted) return this.leave();
    }
    return { ok: true, ...end, usage: this.#countUsage() };
  }

  leave(): UpstreamError {
    return this.#fail("client_closed_request", "the caller left");
  }

  /** Waits for the next token's time; late tokens catch up, so a late timer costs no pace. */
  #pause(signal: AbortSignal): Promise<boolean> | undefined {
    const { clock, tokens_per_second, first_token_delay_ms } = this.#options;
    const intervalMs = tokens_per_second > 0 ? 1_000 / tokens_per_second : 0;
    const nowMs = clock.monotonic();
    this.#dueMs = this.#dueMs === null ? nowMs + first_token_delay_ms : this.#dueMs + intervalMs;
    const pauseMs = Math.max(0, this.#dueMs - nowMs);
    const mayGo = !this.#request.stream || ++this.#unbroken < TOKENS_PER_TURN;
    if (pauseMs === 0 && mayGo) return undefined;
    this.#unbroken = 0;
    return wait(clock, pauseMs, signal);
  }

  #end(
    token: Extract<StubToken, { do: "stall" } | { do: "fail" }>,
  ): UpstreamError | Promise<never> {
    // A stall ends only when the caller leaves.
    if (token.do === "stall") return new Promise(() => undefined);
    const { code, reason } = token;
    const upstreamCode = UPSTREAM_CODES.find((known) => known === code);
    if (upstreamCode) return this.#fail(upstreamCode, reason);
    // gateway.errors.headers.retry_after
    const needsWait = code === "rate_limit_exceeded" || code === "capacity_exceeded";
    const headers: Record<string, string> = needsWait ? { "retry-after": "1" } : {};
    throw apiError(code, { param: PARAMS[code], headers });
  }

  #fail(code: UpstreamCode, reason: string): UpstreamError {
    const usage = this.#tokens === 0 ? undefined : this.#countUsage();
    return upstreamError(code, reason, { retryable: !FINAL.includes(code), usage });
  }

  #countUsage(): TokenUsage {
    return sumTokens(countPromptTokens(this.#request), this.#tokens);
  }
}

function append(whole: Chunk[], chunk: Chunk): void {
  const last = whole.at(-1);
  if (last?.kind === "text" && chunk.kind === "text") last.text += chunk.text;
  else if (last?.kind === "call" && chunk.kind === "call" && last.index === chunk.index) {
    last.arguments += chunk.arguments;
  } else whole.push(chunk);
}
