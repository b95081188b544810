// The bundled tokenizer, o200k: about how long a text is, where its model's server cannot say.
import { O200K_TOKEN_SPLIT_REGEX } from "gpt-tokenizer/encodingParams/constants";
import { nextTurn } from "../../platform/clock.ts";
import { createLine } from "./line.ts";
import { countMerged } from "./merge.ts";
import { getRanks } from "./ranks.ts";

/** So much is counted in one turn of the event loop: a few milliseconds of everyone's time. */
const CHARS_A_TURN = 2_048;
/** One counts at a time in the whole process: a turn holds one slice, however many callers wait. */
const WAITING_MAX = 64;
const serve = createLine(WAITING_MAX);

/**
 * Tokens of all the texts, or some number beyond `tokens_max`, where it stops to count; as it does
 * when `signal` aborts. null: not counted, because too many wait or the caller left. Others get
 * their turns meanwhile, whatever the texts are.
 */
export function countBundled(
  texts: Iterable<string>,
  tokens_max: number,
  signal: AbortSignal,
): Promise<number | null> {
  return serve(async () => {
    const ranks = await getRanks();
    let count = 0;
    let chars = 0;
    for (const text of texts) {
      for (const slice of cutSlices(text)) {
        for (const [piece] of slice.matchAll(O200K_TOKEN_SPLIT_REGEX)) {
          count += countMerged(Buffer.from(piece).toString("latin1"), ranks);
        }
        if (count > tokens_max || signal.aborted) return count;
        chars += slice.length;
        if (chars < CHARS_A_TURN) continue;
        chars = 0;
        await nextTurn();
      }
    }
    return count;
  }, signal);
}

/** Cuts in front of a space where there is one, which costs no token, or else behind a line. */
function* cutSlices(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const slice = text.slice(start, start + CHARS_A_TURN);
    const isLast = start + slice.length === text.length;
    const space = slice.lastIndexOf(" ");
    const border = space > 0 ? space : slice.lastIndexOf("\n") + 1;
    const end = (!isLast && border) || slice.length;
    yield slice.slice(0, end);
    start += end;
  }
}
