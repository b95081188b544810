// What all attempts together have used, and how they came about.
import type { Ending, Journey, Usage } from "../../../models/index.ts";

export interface Spent {
  /** undefined: nothing had been made. */
  usage: Usage | undefined;
  /** A part of it is an estimate. */
  isEstimated: boolean;
  /** The part that servers told; undefined: none of it. */
  told: Usage | undefined;
  journey: Journey;
}

/** gateway.endpoints.chat_completions.think: usage counts all attempts, dropped ones too. */
export function addSpendings(endings: readonly Ending[]): Spent {
  const spent: Spent = { usage: undefined, isEstimated: false, told: undefined, journey: {} };
  const { journey } = spent;
  for (const ending of endings) {
    const { attempts, waited_ms, usage } = ending;
    if (attempts !== undefined) journey.attempts = (journey.attempts ?? 0) + attempts;
    // They waited side by side.
    if (waited_ms !== undefined) journey.waited_ms = Math.max(journey.waited_ms ?? 0, waited_ms);
    if (!usage) continue;
    spent.usage = addUsage(spent.usage, usage);
    const isExact = ending.ok && !ending.usage_estimated;
    if (!isExact) spent.isEstimated = true;
    const told = isExact ? usage : ending.ok ? ending.told : undefined;
    if (told) spent.told = addUsage(spent.told, told);
  }
  return spent;
}

function addUsage(sum: Usage | undefined, usage: Usage): Usage {
  if (!sum) return usage;
  return {
    prompt_tokens: sum.prompt_tokens + usage.prompt_tokens,
    completion_tokens: sum.completion_tokens + usage.completion_tokens,
    total_tokens: sum.total_tokens + usage.total_tokens,
  };
}
