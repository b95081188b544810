// What all attempts together have used, and how they came about.
import type { Completion, CompletionStats, TokenUsage } from "../../../models/index.ts";

export interface Spent {
  /** undefined: nothing had been made. */
  usage: TokenUsage | undefined;
  /** A part of it is an estimate. */
  isEstimated: boolean;
  /** The part that servers told; undefined: none of it. */
  reportedUsage: TokenUsage | undefined;
  journey: CompletionStats;
}

/** gateway.endpoints.chat_completions.think: usage counts all attempts, dropped ones too. */
export function addSpendings(endings: readonly Completion[]): Spent {
  const spent: Spent = {
    usage: undefined,
    isEstimated: false,
    reportedUsage: undefined,
    journey: {},
  };
  const { journey } = spent;
  const prompt_tokens = findPromptTokens(endings);
  for (const ending of endings) {
    const { attempts, waitedMs: waited_ms, usage } = ending;
    if (attempts !== undefined) journey.attempts = (journey.attempts ?? 0) + attempts;
    // They waited side by side.
    if (waited_ms !== undefined) journey.waitedMs = Math.max(journey.waitedMs ?? 0, waited_ms);
    if (!usage) {
      // It read the prompt at least, as the others did: what nobody told is not nothing.
      if (prompt_tokens === null || !isCutShort(ending)) continue;
      const read = { prompt_tokens, completion_tokens: 0, total_tokens: prompt_tokens };
      spent.usage = addUsage(spent.usage, read);
      spent.isEstimated = true;
      continue;
    }
    spent.usage = addUsage(spent.usage, usage);
    if (ending.ok && !ending.usageEstimated)
      spent.reportedUsage = addUsage(spent.reportedUsage, usage);
    else spent.isEstimated = true;
  }
  return spent;
}

/** Of an attempt whose server told them, else an estimate; null: nothing is known. */
function findPromptTokens(endings: readonly Completion[]): number | null {
  const known = endings.filter(({ usage }) => usage !== undefined);
  const told = known.find((ending) => ending.ok && !ending.usageEstimated);
  return (told ?? known[0])?.usage?.prompt_tokens ?? null;
}

/** A server was at it, and was left before it had said anything. */
function isCutShort(ending: Completion): boolean {
  if (ending.ok || !ending.attempts || ending.upstreamStatus !== undefined) return false;
  return ending.code === "client_closed_request" || ending.code === "upstream_timeout";
}

function addUsage(sum: TokenUsage | undefined, usage: TokenUsage): TokenUsage {
  if (!sum) return usage;
  return {
    prompt_tokens: sum.prompt_tokens + usage.prompt_tokens,
    completion_tokens: sum.completion_tokens + usage.completion_tokens,
    total_tokens: sum.total_tokens + usage.total_tokens,
  };
}
