// Deep thinking: a model answers several times, and the answer that the attempts agree on is told.
import {
  type Complete,
  type Completion,
  type ModelRequest,
  timeoutError,
  type UpstreamError,
} from "../../../models/index.ts";
import type { Settings } from "../../../settings/index.ts";
import { type Attempt, type Attempted, startAttempt, writeAttempt } from "./attempt.ts";
import { addSpendings, type Spent } from "./usage.ts";
import { findWinner, isDecided, isUnanimous } from "./vote.ts";

/** How often a model answers at once, and how often more where the answers do not agree. */
export type Thinking = Settings["think"];

/**
 * gateway.endpoints.chat_completions.think: nothing is told before it is known which attempt wins;
 * then its whole reply is, as one piece. Attempts that fail have no voice.
 */
export function think(answer: Complete, { attempts, attempts_more }: Thinking): Complete {
  return async (ask, onChunk, signal) => {
    if (signal.aborted) return timeoutError("left");
    const panel = new Panel(answer, ask);
    const leave = () => panel.abort();
    signal.addEventListener("abort", leave, { once: true });
    try {
      await panel.hold(attempts, attempts_more);
      if (!signal.aborted && panel.needs(attempts_more)) await panel.hold(attempts_more, 0);
    } finally {
      signal.removeEventListener("abort", leave);
    }
    const spent = addSpendings(panel.endings);
    if (signal.aborted) return { ...timeoutError("left"), ...writeFailed(spent) };
    const { voices, failures } = panel;
    if (voices.length === 0) return { ...failures[0]!, ...writeFailed(spent) };
    const { text, calls, finish_reason } = findWinner(voices);
    // The model is done: there is nobody whom an ear could hold back.
    if (text !== "") void onChunk({ kind: "text", text });
    for (const call of calls) void onChunk(call);
    return { ok: true, finishReason: finish_reason, ...writeSucceeded(spent) };
  };
}

/** The attempts at one request, in the order in which they were started. */
class Panel {
  readonly #answer: Complete;
  readonly request: ModelRequest;
  readonly #attempts: Attempt[] = [];
  /** Of those that have ended, by their place. */
  readonly #endings = new Map<Attempt, Completion>();

  constructor(answer: Complete, request: ModelRequest) {
    this.#answer = answer;
    this.request = request;
  }

  get endings(): Completion[] {
    return this.#attempts.flatMap((attempt) => this.#endings.get(attempt) ?? []);
  }

  /** Those that have ended well. */
  get voices(): Attempted[] {
    return this.#attempts.flatMap(({ result }) => (result?.ok ? result : []));
  }

  get failures(): UpstreamError[] {
    return this.#attempts.flatMap(({ result }) => (result && !result.ok ? result : []));
  }

  /**
   * Starts so many at once and waits for their end; `later`: so many may still follow. As soon as
   * none of those that run or follow could change which answer wins, the rest is aborted.
   */
  async hold(count: number, later: number): Promise<void> {
    const from = this.#attempts.length;
    let running = count;
    const thrown: unknown[] = [];
    const started = Array.from({ length: count }, (_, i) =>
      startAttempt(this.#answer, writeAttempt(this.request, from + i)),
    );
    this.#attempts.push(...started);
    const watch = async (attempt: Attempt) => {
      try {
        this.#endings.set(attempt, await attempt.ended);
      } catch (failure) {
        thrown.push(failure);
        this.abort();
      }
      running -= 1;
      if (isDecided(this.voices, running + later)) this.abort();
    };
    await Promise.all(started.map(watch));
    // Only now, when none of the others runs any more.
    if (thrown.length > 0) throw thrown[0];
  }

  /** Whether `more` of them could change which answer wins; where all failed, so would they. */
  needs(more: number): boolean {
    const { voices } = this;
    return voices.length > 0 && !isUnanimous(voices) && !isDecided(voices, more);
  }

  /** Those that have ended are left alone: what is left of their replies keeps a connection. */
  abort(): void {
    for (const attempt of this.#attempts) if (!attempt.result) attempt.abort();
  }
}

function writeFailed({ usage, journey }: Spent) {
  return { usage, ...journey };
}

/** What servers have told is paid for, also beside what nobody told. */
function writeSucceeded({ usage, isEstimated, reportedUsage, journey }: Spent) {
  // An attempt that has ended well always has a usage.
  const sum = { usage: usage!, ...journey };
  if (!isEstimated) return sum;
  return { ...sum, usageEstimated: true as const, ...(reportedUsage && { reportedUsage }) };
}
