// The conductor: puts the parts of the chat pipeline around a model's own answer.
import type { Complete, CountTexts, ServedModel } from "../../models/index.ts";
import { checkContext } from "./context-check.ts";
import { type ThinkSettings, think } from "./think/think.ts";

/** What answers for a model, from the context check to its server; null: it answers once. */
export function buildPipeline(
  { settings, backend: supply }: ServedModel,
  countTexts: CountTexts,
  thinking: ThinkSettings | null,
): Complete {
  const answer = thinking ? think(supply.complete, thinking) : supply.complete;
  // All attempts are asked the same, so it is looked at once for all of them.
  return checkContext(settings, supply.countTokens, countTexts, answer);
}
