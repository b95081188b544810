// The budget check of a chat: reserves its tokens and cost before the model is asked, and settles
// what it has used.
import type { Caller } from "../../access/index.ts";
import {
  type Chunk,
  type Complete,
  type Completion,
  type CountTexts,
  costOf,
  countFrame,
  countPromptTokens,
  estimateTokens,
  listTexts,
  type ModelRequest,
  type ServedModel,
  sumTokens,
  type TokenUsage,
  timeoutError,
} from "../../models/index.ts";
import { type CallerBudgets, limitsTokens, type Reservation } from "../budgets/caller-budgets.ts";
import { isUnasked } from "../budgets/unasked.ts";

export interface BudgetCheckOptions {
  budgets: Pick<CallerBudgets, "check" | "reserve">;
  caller: Caller;
  model: ServedModel;
  countTexts: CountTexts;
  /** Maximum times that the model is asked. */
  attempts: number;
}

/** Maximum usage of a request: the counted prompt and the effective `max_tokens`. */
interface ReservedUsage extends TokenUsage {
  attempts: number;
}

/**
 * Refuses used-up budgets before `checkContext`, which may wait for a server, and reserves what
 * passes it.
 */
export function withinBudgets(
  options: BudgetCheckOptions,
  checkContext: (complete: Complete) => Complete,
  complete: Complete,
): Complete {
  const { budgets, caller } = options;
  const { price } = options.model.settings;
  const amountsOf = (usage: TokenUsage) => {
    return { tokens: usage.total_tokens, cost: costOf(usage, price) };
  };
  const need = (prompt: number, { max_tokens }: ModelRequest) => {
    const usage = reserveUsage(prompt, max_tokens, options.attempts);
    return { usage, needed: { requests: 1, ...amountsOf(usage) } };
  };
  const settle = (reservation: Reservation, usage: TokenUsage, isEstimated: boolean) => {
    const { tokens, cost } = amountsOf(usage);
    reservation.settle({ tokens, cost: cost ?? 0 }, isEstimated);
  };
  const reserved: Complete = async (request, onChunk, signal) => {
    const prompt = limitsTokens(caller)
      ? await countPrompt(request, options, signal)
      : estimatePrompt(request);
    if (signal.aborted) return timeoutError("left");
    const { usage: maximum, needed } = need(prompt, request);
    const delivered = new DeliveredTokens();
    const estimate = () => delivered.estimate(maximum);
    const reservation = await budgets.reserve(caller, needed, () => {
      const { tokens, cost } = amountsOf(estimate());
      return { tokens, cost: cost ?? 0 };
    });
    if (!reservation) return complete(request, onChunk, signal);
    try {
      const count = (chunk: Chunk) => {
        delivered.add(chunk);
        return onChunk(chunk);
      };
      const completion = await complete(request, count, signal);
      if (!completion.ok && isUnasked(completion)) reservation.release();
      else if (isReported(completion)) settle(reservation, completion.usage, false);
      else {
        const usage = completion.usage ? limitUsage(completion.usage, maximum) : estimate();
        // The request log marks the usage of a failed reply as an estimate.
        if (!completion.ok) completion.usage = usage;
        settle(reservation, usage, true);
      }
      return completion;
    } catch (bug) {
      settle(reservation, estimate(), true);
      throw bug;
    }
  };
  const checked = checkContext(reserved);
  return async (request, onChunk, signal) => {
    await budgets.check(caller, need(0, request).needed);
    return checked(request, onChunk, signal);
  };
}

/** Estimates a usage that stayed unknown: a server that was cut off has read the prompt. */
export function estimateUsage(completion: Completion, request: ModelRequest): Completion {
  if (completion.ok || completion.usage || isUnasked(completion)) return completion;
  return { ...completion, usage: sumTokens(estimatePrompt(request), 0) };
}

/** Counts at the model's server, else with the bundled tokenizer, else by an estimate. */
export async function countPrompt(
  request: ModelRequest,
  { model, countTexts }: Pick<BudgetCheckOptions, "model" | "countTexts">,
  signal: AbortSignal,
): Promise<number> {
  const counted = await model.backend.countTokens(request, signal);
  if (counted !== null) return counted;
  const queue = { account: request.account, signal };
  const texts = await countTexts(listTexts(request), Number.MAX_SAFE_INTEGER, queue);
  if (texts !== null) return texts + countFrame(request);
  return estimatePrompt(request);
}

export function estimatePrompt(request: ModelRequest): number {
  return Math.ceil(countPromptTokens(request, estimateTokens));
}

function reserveUsage(prompt: number, max_tokens: number, attempts: number): ReservedUsage {
  return { ...sumTokens(prompt * attempts, max_tokens * attempts), attempts };
}

/** A usage that no server has reported is at most the reserved one. */
function limitUsage(usage: TokenUsage, { attempts, ...maximum }: ReservedUsage): TokenUsage {
  // The counted prompt is better than an estimate, but some of several attempts may have none.
  const prompt =
    attempts === 1 ? maximum.prompt_tokens : Math.min(usage.prompt_tokens, maximum.prompt_tokens);
  return sumTokens(prompt, Math.min(usage.completion_tokens, maximum.completion_tokens));
}

class DeliveredTokens {
  #tokens = 0;

  add(chunk: Chunk): void {
    this.#tokens += estimateTokens(chunk.kind === "call" ? chunk.arguments : chunk.text);
  }

  estimate(maximum: ReservedUsage): TokenUsage {
    return limitUsage(sumTokens(maximum.prompt_tokens, Math.ceil(this.#tokens)), maximum);
  }
}

function isReported(completion: Completion): completion is Extract<Completion, { ok: true }> {
  return completion.ok && !completion.usageEstimated;
}
