// What becomes of a summary that a model wrote of a thread which is too long for it.
import type { InternalCompletion } from "../../gateway/index.ts";
import type { SummaryNeed } from "../threads/context-view.ts";
import { cleanText } from "../tools/output.ts";
import { priceRound, writeAmount } from "./cost.ts";
import type { RunContext, StepResult } from "./run-context.ts";
import { systemStep } from "./run-log.ts";
import { addReply, createTelling } from "./usage.ts";

/** A server may not keep to the tokens that it was asked for. */
const SUMMARY_CHARACTERS_MAX = 16_384;

/** The thread is as it was; later rounds, and later runs on it, are shown this instead. */
export async function takeSummary(
  context: RunContext,
  need: SummaryNeed,
  { content, usage, usage_estimated, model }: InternalCompletion,
): Promise<StepResult> {
  const { state, runLog } = context;
  const { ids } = context.deps;
  const { row } = state;
  const cost = priceRound(row.cost.prices, row.model, usage, usage_estimated);
  const text = cleanText((content ?? "").trim().slice(0, SUMMARY_CHARACTERS_MAX));
  const isOne = text !== "";
  const through_seq = isOne ? state.first_seq + need.to - 1 : null;
  const detail = { through_seq, model, usage, cost: writeAmount(cost) };
  const message = isOne
    ? "Older messages were summarised for the model."
    : "The model wrote no summary of older messages; it is asked without one.";
  const { rounds } = row.usage;
  await runLog.note({
    progress: addReply(row, { usage }, cost, 0),
    steps: [
      systemStep(ids, rounds, "compacted", message, detail),
      ...createTelling(context)(rounds, row.model, cost),
    ],
    summary: through_seq === null ? null : { through_seq, content: text },
  });
  if (!isOne) return "not_summarised";
  state.summary = { text, until: need.to };
  return "summarised";
}
