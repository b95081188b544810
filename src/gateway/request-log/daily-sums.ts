// From entries to what they add to the sums of their days.

import { type Static, Type } from "@sinclair/typebox";
import { writeDay } from "../../platform/calendar.ts";
import { Money, maybe } from "../../platform/schema.ts";
import type { LogEntry } from "./entry.ts";

/** What one key's requests of one model came to on one day. */
export const DaySum = Type.Object({
  /** In UTC: `2026-11-20`. */
  day: Type.String(),
  /** Empty: a key without an owner. A null would be another one each time in a unique key. */
  account_id: Type.String(),
  key_id: Type.String(),
  /** Empty: refused before it was known. */
  model: Type.String(),
  route: Type.String(),
  requests: Type.Integer(),
  /** Those that were told a code, be it inside a stream; who left is among them. */
  failed: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  /** Of those whose cost is known; null: of none it is. */
  cost: maybe(Money("SAR.")),
  /** Those that used tokens at a cost that nobody knows. */
  unpriced: Type.Integer(),
});
export type DaySum = Static<typeof DaySum>;

/** One sum for each day, account, key, model and route, in the order in which they come. */
export function sumByDay(entries: readonly LogEntry[]): DaySum[] {
  const sums = new Map<string, DaySum>();
  for (const entry of entries) {
    const sum = makeSum(entry);
    const { day, key_id, model, route } = sum;
    // A key has one account for good.
    const name = `${day} ${key_id} ${route} ${model}`;
    const found = sums.get(name);
    if (found) join(found, sum);
    else sums.set(name, sum);
  }
  return [...sums.values()];
}

function makeSum(entry: LogEntry): DaySum {
  const { prompt_tokens, completion_tokens, cost } = entry;
  return {
    day: writeDay(entry.at),
    account_id: entry.account_id ?? "",
    key_id: entry.key_id,
    model: entry.model ?? "",
    route: entry.route,
    requests: 1,
    failed: entry.code === null ? 0 : 1,
    prompt_tokens: prompt_tokens ?? 0,
    completion_tokens: completion_tokens ?? 0,
    cost,
    unpriced: prompt_tokens !== null && cost === null ? 1 : 0,
  };
}

function join(sum: DaySum, other: DaySum): void {
  sum.requests += other.requests;
  sum.failed += other.failed;
  sum.prompt_tokens += other.prompt_tokens;
  sum.completion_tokens += other.completion_tokens;
  sum.cost = other.cost === null ? sum.cost : (sum.cost ?? 0) + other.cost;
  sum.unpriced += other.unpriced;
}
