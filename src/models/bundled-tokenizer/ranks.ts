// The tokens of o200k by rank: read at first need.
import ranksPath from "gpt-tokenizer/data/o200k_base.tiktoken" with { type: "file" };

/** The rank of every token, by its bytes as Latin-1: the lower, the earlier it is merged. */
export type Ranks = ReadonlyMap<string, number>;

/** Kept as long as the Worker: 45 MB that a server whose models count themselves never takes. */
let loading: Promise<Ranks> | null = null;

/** However many ask, they are read once. */
export function getRanks(): Promise<Ranks> {
  loading ??= loadRanks();
  return loading;
}

/** A line of the file is a token's bytes in base64 and its rank; the ranks are in order. */
async function loadRanks(): Promise<Ranks> {
  const ranks = new Map<string, number>();
  const lines = await Bun.file(ranksPath).text();
  for (let start = 0; start < lines.length; start = lines.indexOf("\n", start) + 1) {
    ranks.set(atob(lines.slice(start, lines.indexOf(" ", start))), ranks.size);
  }
  return ranks;
}
