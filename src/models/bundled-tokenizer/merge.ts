// Merges a piece of text to tokens as o200k does, in no more than n log n steps.
import type { Ranks } from "./ranks.ts";

/** So many bytes are merged at once; what is longer is cut, which adds a token at most. */
const BYTES_MAX = 8_192;
const NO_PAIR = -1;

// Of the token that begins at a byte: where the one before begins, where it ends itself (which is
// where the next begins), and the rank that it would have together with the next.
const before = new Int32Array(BYTES_MAX + 1);
const ends = new Int32Array(BYTES_MAX + 1);
const joined = new Int32Array(BYTES_MAX + 1);
/** Pairs to merge, a heap: their rank, and among equals the place, the lowest first. */
const heap = new Float64Array(2 * BYTES_MAX);
let pairs = 0;

/** Tokens of a piece, given as the bytes of its UTF-8, each a character. */
export function countMerged(bytes: string, ranks: Ranks): number {
  if (ranks.has(bytes)) return 1;
  let count = 0;
  for (let at = 0; at < bytes.length; at += BYTES_MAX) {
    count += merge(bytes.slice(at, at + BYTES_MAX), ranks);
  }
  return count;
}

/** Merges neighbours, the pair of the lowest rank first, while any pair is a token. */
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
    // One of its halves has been merged with another meanwhile.
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
