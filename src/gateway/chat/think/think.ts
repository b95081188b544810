// Deep thinking: a model answers several times, and the answer of most attempts is returned.
import {
  type Complete,
  type Completion,
  type CompletionStats,
  type ModelRequest,
  sumTokens,
  type TokenUsage,
  timeoutError,
} from "../../../models/index.ts";
import type { Settings } from "../../../settings/index.ts";
import { Attempt, type AttemptReply } from "./attempt.ts";

export type ThinkSettings = Settings["think"];

/**
 * gateway.endpoints.chat_completions.think: the caller gets the winner's whole reply as one chunk,
 * once it is known. Attempts that fail have no vote.
 */
export function think(complete: Complete, settings: ThinkSettings): Complete {
  return async (request, onChunk, signal) => {
    if (signal.aborted) return timeoutError("left");
    const vote = new Vote(complete, request);
    const abort = () => vote.abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const { attempts, attempts_more } = settings;
      await vote.run(attempts, attempts_more);
      if (!signal.aborted && vote.needs(attempts_more)) await vote.run(attempts_more, 0);
    } finally {
      signal.removeEventListener("abort", abort);
    }
    const { usage, isEstimated, ...stats } = sumUsage(vote.completions);
    if (signal.aborted) return { ...timeoutError("left"), ...stats, usage };
    const winner = findWinner(vote.replies);
    if (!winner) return { ...vote.failures[0]!, ...stats, usage };
    // The attempt has ended, so a slow caller cannot hold it back.
    if (winner.text !== "") void onChunk({ kind: "text", text: winner.text });
    for (const call of winner.calls) void onChunk(call);
    const { finishReason } = winner;
    // A successful attempt always has a usage.
    const completion = { ok: true as const, finishReason, usage: usage!, ...stats };
    return isEstimated ? { ...completion, usageEstimated: true } : completion;
  };
}

class Vote {
  readonly #complete: Complete;
  readonly #request: ModelRequest;
  readonly #attempts: Attempt[] = [];

  constructor(complete: Complete, request: ModelRequest) {
    this.#complete = complete;
    this.#request = request;
  }

  get completions(): Completion[] {
    return this.#attempts.flatMap(({ completion }) => completion ?? []);
  }

  get replies(): AttemptReply[] {
    return this.#attempts.flatMap(({ result }) => (result?.ok ? result : []));
  }

  get failures() {
    return this.#attempts.flatMap(({ result }) => (result && !result.ok ? result : []));
  }

  /**
   * Runs `count` attempts at once. When neither those nor `later` ones can change the winner, the
   * remaining ones are aborted.
   */
  async run(count: number, later: number): Promise<void> {
    let running = count;
    const first = this.#attempts.length;
    const started = Array.from(
      { length: count },
      (_, nth) => new Attempt(this.#complete, this.#request, first + nth),
    );
    this.#attempts.push(...started);
    const watches = started.map(async ({ ended }) => {
      await ended;
      running -= 1;
      if (hasWinner(this.replies, running + later)) this.abort();
    });
    await Promise.all(watches).catch(async (bug: unknown) => {
      this.abort();
      // Attempts must not outlive their request.
      await Promise.allSettled(watches);
      throw bug;
    });
  }

  /** If all attempts failed, further ones would, too. */
  needs(more: number): boolean {
    const { replies } = this;
    const isUnanimous = replies.length > 1 && countVotes(replies).size === 1;
    return replies.length > 0 && !isUnanimous && !hasWinner(replies, more);
  }

  abort(): void {
    for (const attempt of this.#attempts) attempt.abort();
  }
}

/** Empty answers count only where all are empty. */
function countVotes(replies: readonly AttemptReply[]): Map<string, number> {
  const votes = new Map<string, number>();
  for (const { answer } of replies)
    votes.set(answer, answer === "" ? 0 : (votes.get(answer) ?? 0) + 1);
  return votes;
}

function hasWinner(replies: readonly AttemptReply[], more: number): boolean {
  const [first = 0, second = 0] = [...countVotes(replies).values()].sort((a, b) => b - a);
  return first - second > more;
}

/** Returns the first reply with a most frequent answer: the order of the ends changes nothing. */
function findWinner(replies: readonly AttemptReply[]): AttemptReply | undefined {
  const votes = countVotes(replies);
  const most = Math.max(...votes.values());
  return replies.find(({ answer }) => votes.get(answer) === most);
}

interface UsageSum extends CompletionStats {
  usage?: TokenUsage;
  isEstimated: boolean;
}

/** gateway.endpoints.chat_completions.think: usage counts all attempts, dropped ones too. */
function sumUsage(completions: readonly Completion[]): UsageSum {
  const sum: UsageSum = { isEstimated: false };
  const prompt_tokens = findPromptTokens(completions);
  for (const completion of completions) {
    const { attempts, waitedMs, replica, inFlight, inFlightMax, usage } = completion;
    if (attempts !== undefined) sum.attempts = (sum.attempts ?? 0) + attempts;
    if (replica !== undefined) sum.replica ??= replica;
    if (inFlight !== undefined) sum.inFlight ??= inFlight;
    if (inFlightMax !== undefined) sum.inFlightMax ??= inFlightMax;
    // Attempts wait side by side.
    if (waitedMs !== undefined) sum.waitedMs = Math.max(sum.waitedMs ?? 0, waitedMs);
    const isPromptRead = prompt_tokens !== undefined && isCutShort(completion);
    const used = usage ?? (isPromptRead ? sumTokens(prompt_tokens, 0) : undefined);
    if (!used) continue;
    sum.usage = addUsage(sum.usage, used);
    if (!completion.ok || completion.usageEstimated) sum.isEstimated = true;
  }
  return sum;
}

function findPromptTokens(completions: readonly Completion[]): number | undefined {
  const known = completions.filter(({ usage }) => usage !== undefined);
  const reported = known.find((completion) => completion.ok && !completion.usageEstimated);
  return (reported ?? known[0])?.usage?.prompt_tokens;
}

/** A server that was cut off before its first word has read the prompt at least. */
function isCutShort(completion: Completion): boolean {
  if (completion.ok || !completion.attempts || completion.upstreamStatus !== undefined)
    return false;
  return completion.code === "client_closed_request" || completion.code === "upstream_timeout";
}

function addUsage(sum: TokenUsage | undefined, usage: TokenUsage): TokenUsage {
  if (!sum) return usage;
  const { prompt_tokens, completion_tokens } = usage;
  return sumTokens(sum.prompt_tokens + prompt_tokens, sum.completion_tokens + completion_tokens);
}
