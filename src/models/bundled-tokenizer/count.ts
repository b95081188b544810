// The bundled tokenizer, o200k: about how long a text is, where its model's server cannot count.
import { brotliDecompressSync } from "node:zlib";
import ranksPath from "gpt-tokenizer/data/o200k_base.tiktoken" with { type: "file" };
import { O200K_TOKEN_SPLIT_REGEX } from "gpt-tokenizer/encodingParams/constants";

/** Maximum characters at once, since the pattern takes more than linear time on some texts. */
const SLICE_CHARACTERS = 2_048;

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

/** Cuts before a space, which costs no token, or else behind a line. */
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

/** Ranks of tokens by their bytes as Latin-1; lower ranks are merged first. */
type Ranks = ReadonlyMap<string, number>;

/** 45 MB, kept as long as the Worker; never loaded where servers count themselves. */
let loading: Promise<Ranks> | null = null;

function getRanks(): Promise<Ranks> {
  loading ??= loadRanks();
  return loading;
}

async function loadRanks(): Promise<Ranks> {
  const ranks = new Map<string, number>();
  const bytes = await Bun.file(ranksPath).bytes();
  for (const token of isPlain(bytes) ? parseTokens(bytes) : unpackTokens(bytes)) {
    ranks.set(token, ranks.size);
  }
  return ranks;
}

/** Each line of the package's file is a token's bytes in base64 and its rank, in order. */
function* parseTokens(bytes: Uint8Array): Generator<string> {
  const lines = Buffer.from(bytes).toString("latin1");
  for (let start = 0; start < lines.length; start = lines.indexOf("\n", start) + 1) {
    yield atob(lines.slice(start, lines.indexOf(" ", start)));
  }
}

/** Reads what scripts/packer.ts packs: the ranks of both parts of each token, byte by byte. */
function* unpackTokens(bytes: Uint8Array): Generator<string> {
  const packed = brotliDecompressSync(bytes);
  const count = packed.length / 6;
  const rankAt = (at: number, plane: number) =>
    packed[at + plane * count]! +
    packed[at + (plane + 1) * count]! * 256 +
    packed[at + (plane + 2) * count]! * 65_536;
  const tokens: string[] = [];
  for (let at = 0; at < count; at++) {
    const [first, second] = [rankAt(at, 0), rankAt(at, 3)];
    // A single byte stands as itself, with its own rank.
    const token = second === at ? String.fromCharCode(first) : `${tokens[first]}${tokens[second]}`;
    tokens.push(token);
    yield token;
  }
}

/** The first line of the package's file is "IQ== 0". */
function isPlain(bytes: Uint8Array): boolean {
  return bytes[0] === 0x49 && bytes[1] === 0x51 && bytes[2] === 0x3d;
}

/** Maximum bytes merged at once; a cut adds at most one token. */
const BYTES_MAX = 8_192;
const NO_PAIR = -1;

// Per token, by its first byte: the previous token, its end, the rank joined with the next.
const before = new Int32Array(BYTES_MAX + 1);
const ends = new Int32Array(BYTES_MAX + 1);
const joined = new Int32Array(BYTES_MAX + 1);
const heap = new Float64Array(2 * BYTES_MAX);
let pairs = 0;

/** Counts the tokens of a piece, given as its UTF-8 bytes, one character each. */
function countMerged(bytes: string, ranks: Ranks): number {
  if (ranks.has(bytes)) return 1;
  let count = 0;
  for (let at = 0; at < bytes.length; at += BYTES_MAX) {
    count += merge(bytes.slice(at, at + BYTES_MAX), ranks);
  }
  return count;
}

/** Merges the pair of the lowest rank while any pair is a token, in n log n steps. */
function merge(bytes: string, ranks: Ranks): number {
  const { length } = bytes;
  let count = length;
  const join = (at: number) => {
    const next = ends[at]!;
    const rank = next === length ? undefined : ranks.get(bytes.slice(at, ends[next]));
    joined[at] = rank ?? NO_PAIR;
    if (rank !== undefined) push(rank * BYTES_MAX + at);
  };
  pairs = 0;
  for (let at = 0; at <= length; at++) {
    before[at] = at - 1;
    ends[at] = at + 1;
  }
  for (let at = 0; at < length; at++) join(at);
  while (pairs > 0) {
    const lowest = pop();
    const at = lowest % BYTES_MAX;
    // One half has been merged with another meanwhile.
    if (joined[at] !== (lowest - at) / BYTES_MAX) continue;
    const next = ends[at]!;
    joined[next] = NO_PAIR;
    ends[at] = ends[next]!;
    before[ends[next]!] = at;
    count--;
    join(at);
    if (at > 0) join(before[at]!);
  }
  return count;
}

function push(pair: number): void {
  let at = pairs++;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (heap[parent]! <= pair) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = pair;
}

function pop(): number {
  const lowest = heap[0]!;
  const last = heap[--pairs]!;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child + 1 < pairs && heap[child + 1]! < heap[child]!) child++;
    if (child >= pairs || heap[child]! >= last) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return lowest;
}
