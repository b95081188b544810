// What becomes of a question that is too long for its model, whatever we had reckoned.
import { buildPrompt, type Prompt } from "./prompt.ts";
import type { RunContext } from "./run-context.ts";
import { type FinalState, systemStep } from "./run-log.ts";

const TOO_LONG = "context_length_exceeded";
/** Each halves the room: nothing is misjudged by more than that. */
const TIMES_MAX = 3;

/**
 * What a text costs is an estimate, of which an odd text is worth twice as much: nobody's one such
 * message may end every later run on its thread. false: with less room the model is asked the same.
 */
export async function reduceContext(
  context: RunContext,
  { error }: FinalState,
  { tokens, room_tokens }: Prompt,
  maySummarise: boolean,
): Promise<boolean> {
  const { state, runLog, deps } = context;
  const times = (state.refused?.times ?? 0) + 1;
  if (error?.code !== TOO_LONG || times > TIMES_MAX) return false;
  const room = Math.max(0, Math.floor(Math.min(tokens, room_tokens) / 2));
  const next = { ...state, refused: { room_tokens: room, times } };
  const less = buildPrompt({ ...context, state: next }, maySummarise);
  if (less.tokens >= tokens && !less.needsSummary) return false;
  const message = "The thread is too long for the model; it is asked with less of it.";
  const detail = { code: TOO_LONG, attempt: times, wait_ms: 0, room_tokens: room };
  const steps = [systemStep(deps.ids, state.row.usage.rounds, "model_retry", message, detail)];
  await runLog.note({ progress: state.row, steps });
  return true;
}
