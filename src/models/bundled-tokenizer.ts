// The bundled tokenizer, o200k: about how long a text is, where its model's server cannot say.
import ranks_path from "gpt-tokenizer/data/o200k_base.tiktoken" with { type: "file" };
import { O200K_TOKEN_SPLIT_REGEX } from "gpt-tokenizer/encodingParams/constants";
import { nextTurn } from "../platform/clock.ts";

/** So much is counted in one turn of the event loop: a few milliseconds of everyone's time. */
const CHARS_A_TURN = 4_096;
/** Merging is quadratic: what has no border within this is cut, which adds a token at most. */
const PIECE_CHARS = 64;
/** So many ranks are read in one turn of the event loop. */
const RANKS_A_TURN = 16_384;

/** The rank of every token, by its bytes as Latin-1: the lower, the earlier it is merged. */
type Ranks = Map<string, number>;

/** Read at first need and kept: 45 MB that a server whose models count themselves never takes. */
let loading: Promise<Ranks> | null = null;

/**
 * Tokens of all the texts, or some number beyond `tokens_max`, where it stops to count; as it does
 * when `signal` aborts. Others get their turns meanwhile, whatever the texts are.
 */
export async function countBundled(
  texts: Iterable<string>,
  tokens_max: number,
  signal: AbortSignal,
): Promise<number> {
  loading ??= loadRanks();
  const ranks = await loading;
  let count = 0;
  let chars = 0;
  for (const text of texts) {
    for (const slice of cutSlices(text)) {
      for (const [piece] of slice.matchAll(O200K_TOKEN_SPLIT_REGEX)) {
        for (let at = 0; at < piece.length; at += PIECE_CHARS) {
          count += countPiece(piece.slice(at, at + PIECE_CHARS), ranks);
        }
      }
      if (count > tokens_max || signal.aborted) return count;
      chars += slice.length;
      if (chars < CHARS_A_TURN) continue;
      chars = 0;
      await nextTurn();
    }
  }
  return count;
}

/** A line of the file is a token's bytes in base64 and its rank; the ranks are in order. */
async function loadRanks(): Promise<Ranks> {
  const ranks: Ranks = new Map();
  for (const line of (await Bun.file(ranks_path).text()).trimEnd().split("\n")) {
    ranks.set(atob(line.slice(0, line.indexOf(" "))), ranks.size);
    if (ranks.size % RANKS_A_TURN === 0) await nextTurn();
  }
  return ranks;
}

/** Cuts in front of a space where there is one, which costs no token. */
function* cutSlices(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const slice = text.slice(start, start + CHARS_A_TURN);
    const isLast = start + slice.length === text.length;
    const border = isLast ? -1 : slice.lastIndexOf(" ");
    const end = border > 0 ? border : slice.length;
    yield slice.slice(0, end);
    start += end;
  }
}

/** Merges neighbours, the pair of the lowest rank first, while any pair is a token. */
function countPiece(piece: string, ranks: Ranks): number {
  const bytes = Buffer.from(piece).toString("latin1");
  if (ranks.has(bytes)) return 1;
  // Where each part begins, and the rank that it would have together with the next one.
  const starts = Array.from({ length: bytes.length + 1 }, (_, at) => at);
  const rankAt = (part: number): number => {
    const end = starts[part + 2];
    return (end && ranks.get(bytes.slice(starts[part], end))) ?? Number.POSITIVE_INFINITY;
  };
  const joined = starts.slice(0, -1).map((_, part) => rankAt(part));
  for (;;) {
    let lowest = 0;
    for (let part = 1; part < joined.length; part++) {
      if (joined[part]! < joined[lowest]!) lowest = part;
    }
    if (joined[lowest] === Number.POSITIVE_INFINITY) return joined.length;
    starts.splice(lowest + 1, 1);
    joined.splice(lowest, 1);
    joined[lowest] = rankAt(lowest);
    if (lowest > 0) joined[lowest - 1] = rankAt(lowest - 1);
  }
}
