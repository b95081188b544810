// What a reply and a result add to their run: usage and cost, and a word where a price is unknown.
import type { InternalCompletion } from "../../gateway/index.ts";
import { type Amount, addCost, addPriced } from "./cost.ts";
import type { RunRow } from "./run.ts";
import type { RunContext } from "./run-context.ts";
import { systemStep } from "./run-log.ts";
import type { NewStep } from "./step.ts";

/** `rounds`: 1 of a reply; 0 of a summary, which costs like one and is none. */
export function addReply(
  row: RunRow,
  reply: Pick<InternalCompletion, "usage">,
  cost: Amount,
  rounds: 0 | 1,
): RunRow {
  const { usage } = row;
  const prompt_tokens = usage.prompt_tokens + reply.usage.prompt_tokens;
  const completion_tokens = usage.completion_tokens + reply.usage.completion_tokens;
  return {
    ...row,
    cost: addCost(row.cost, "model", cost),
    priced: addPriced(row.priced, cost),
    usage: {
      ...{ prompt_tokens, completion_tokens },
      total_tokens: prompt_tokens + completion_tokens,
      rounds: usage.rounds + rounds,
      tool_calls: usage.tool_calls,
    },
  };
}

export function addCall(row: RunRow, cost: Amount, isExternal: boolean): RunRow {
  return {
    ...row,
    cost: addCost(row.cost, "tools", cost),
    priced: addPriced(row.priced, cost),
    usage: { ...row.usage, tool_calls: row.usage.tool_calls + 1 },
    external_content: row.external_content || isExternal,
  };
}

/** agents.does.cost.2: what is used at an unknown price is told of, once for each name. */
export function createTelling({ state, deps: { ids } }: Pick<RunContext, "state" | "deps">) {
  const told = new Set<string>();
  return (round: number, name: string, cost: Amount): NewStep[] => {
    if (cost !== null || told.has(name) || state.told_unpriced.has(name)) return [];
    told.add(name);
    const message = `What ${name} cost is not known, and with it the cost of the run.`;
    return [systemStep(ids, round, "price_missing", message, { name })];
  };
}
