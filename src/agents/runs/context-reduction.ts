// Reduces what the model is shown of a thread that is too long for it: by a summary of older
// messages, or by less room after the model rejected a prompt.
import type { SummaryNeed } from "../threads/context-view.ts";
import { cleanText } from "../tools/output.ts";
import { checkBudgets } from "./budget.ts";
import { addReply, formatAmount, priceRound } from "./cost.ts";
import { type ModelReply, measureReply } from "./measures.ts";
import { buildPrompt, type Prompt } from "./prompt.ts";
import type { FinalState, RunContext, StepResult } from "./run-context.ts";

const TOO_LONG = "context_length_exceeded";
/** Maximum halvings of the room; estimates are not wrong by more than that. */
const HALVINGS_MAX = 3;
/** Maximum summaries before a reply; a thread still too long is left to the model's server. */
const SUMMARIES_MAX = 4;
/** Maximum characters of a summary, since a server may ignore `max_tokens`. */
const SUMMARY_CHARACTERS_MAX = 16_384;

/** A budget that a summary has used up is left to the reply that the summary was made for. */
export function maySummarise({ summaries, state, workedMs }: RunContext): boolean {
  return summaries < SUMMARIES_MAX && checkBudgets(state.row, workedMs) === null;
}

/**
 * Halves the room after the model rejected a prompt as too long; false: that changes nothing. The
 * token count is an estimate, and one odd message must not fail every later run on its thread.
 */
export async function reduceContext(
  context: RunContext,
  { error }: FinalState,
  { view: { tokens, roomTokens } }: Prompt,
): Promise<boolean> {
  const { state } = context;
  const times = (state.contextLimit?.times ?? 0) + 1;
  if (error?.code !== TOO_LONG || times > HALVINGS_MAX) return false;
  const room = Math.max(0, Math.floor(Math.min(tokens, roomTokens) / 2));
  const reduced = { ...state, contextLimit: { roomTokens: room, times } };
  const { deps, findTool } = context;
  const prompt = buildPrompt({ state: reduced, deps, findTool }, maySummarise(context));
  if (prompt.view.tokens >= tokens && !prompt.summary) return false;
  const entry = context.newEntry();
  const message = "The thread is too long for the model; it is asked with less of it.";
  const detail = { code: TOO_LONG, attempt: times, wait_ms: 0, roomTokens: room };
  entry.addEvent("model_retry", message, detail);
  await context.write("note", entry);
  return true;
}

/** Stores a summary; messages are never rewritten, but later prompts show the summary instead. */
export async function takeSummary(
  context: RunContext,
  need: SummaryNeed,
  answer: ModelReply,
): Promise<StepResult> {
  const { content, usage, usage_estimated, model } = answer.reply;
  const { state } = context;
  const { row } = state;
  const cost = priceRound(row.cost.prices, row.model, usage, usage_estimated);
  const text = cleanText((content ?? "").trim().slice(0, SUMMARY_CHARACTERS_MAX));
  const through_seq = text === "" ? null : state.firstSeq + need.to - 1;
  const message =
    through_seq === null
      ? "The model wrote no summary of older messages; it is asked without one."
      : "Older messages were summarised for the model.";
  const entry = context.newEntry(addReply(row, usage, cost, 0));
  const detail = { through_seq, model, usage, cost: formatAmount(cost) };
  const execution = { ...measureReply(answer), summary: text };
  entry.addEvent("compacted", message, detail, execution);
  context.reportUnpriced(entry, row.model, cost);
  if (through_seq !== null) entry.summary = { through_seq, content: text };
  await context.write("note", entry);
  if (through_seq === null) {
    context.summaries = SUMMARIES_MAX;
  } else {
    context.summaries += 1;
    state.summary = { text, until: need.to };
    state.summarisedTo = through_seq;
  }
  return "next";
}
