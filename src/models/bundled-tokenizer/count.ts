// The bundled tokenizer, o200k: about how long a text is, where its model's server cannot say.
import { O200K_TOKEN_SPLIT_REGEX } from "gpt-tokenizer/encodingParams/constants";
import { countMerged } from "./merge.ts";
import { getRanks } from "./ranks.ts";

/** So much is counted at once, since the pattern's time is not linear in every text. */
const SLICE_CHARACTERS = 2_048;

/** Tokens of all the texts, or some number beyond `tokensMax`, where it stops to count. */
export async function countBundled(texts: Iterable<string>, tokensMax: number): Promise<number> {
  const ranks = await getRanks();
  let count = 0;
  for (const text of texts) {
    for (const slice of cutSlices(text)) {
      for (const [piece] of slice.matchAll(O200K_TOKEN_SPLIT_REGEX)) {
        count += countMerged(Buffer.from(piece).toString("latin1"), ranks);
      }
      if (count > tokensMax) return count;
    }
  }
  return count;
}

/** Cuts in front of a space where there is one, which costs no token, or else behind a line. */
function* cutSlices(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const slice = text.slice(start, start + SLICE_CHARACTERS);
    const isLast = start + slice.length === text.length;
    const space = slice.lastIndexOf(" ");
    const border = space > 0 ? space : slice.lastIndexOf("\n") + 1;
    const end = (!isLast && border) || slice.length;
    yield slice.slice(0, end);
    start += end;
  }
}
