// The differences of two lists, by a longest common subsequence, and what is near them.

/** Maximum cells of the table; lists with more have their middle shown as replaced. */
const CELLS_MAX = 4_000_000;

/** An item of one list beside the same one of the other; undefined: it has none. */
export type Pair<T> = readonly [one: T | undefined, other: T | undefined];

/** Pairs items with the same key, in the order of both lists. */
export function pairLists<T>(
  ones: readonly T[],
  others: readonly T[],
  keyOf: (item: T) => string,
): Pair<T>[] {
  const [a, b] = [ones.map(keyOf), others.map(keyOf)];
  const shorter = Math.min(a.length, b.length);
  let begin = 0;
  while (begin < shorter && a[begin] === b[begin]) begin++;
  let end = 0;
  while (end < shorter - begin && a.at(-1 - end) === b.at(-1 - end)) end++;
  const pairs: Pair<T>[] = ones.slice(0, begin).map((one, at) => [one, others[at]]);
  const [aEnd, bEnd] = [a.length - end, b.length - end];
  const lengths = measureCommon(a.slice(begin, aEnd), b.slice(begin, bEnd));
  for (let [i, j] = [begin, begin]; i < aEnd || j < bEnd; ) {
    const here = lengths?.[i - begin];
    const isSame = lengths !== null && i < aEnd && j < bEnd && a[i] === b[j];
    if (isSame) pairs.push([ones[i++], others[j++]]);
    else if (
      i < aEnd &&
      (j >= bEnd || !here || lengths[i + 1 - begin]![j - begin]! >= here[j + 1 - begin]!)
    )
      pairs.push([ones[i++], undefined]);
    else pairs.push([undefined, others[j++]]);
  }
  return [...pairs, ...ones.slice(aEnd).map((one, at): Pair<T> => [one, others[bEnd + at]])];
}

/** Replaces items that are far from every change, each run of them by their number. */
export function foldUnchanged<T extends object>(
  items: readonly T[],
  isChange: (item: T) => boolean,
  context: number,
): (T | number)[] {
  const isNear = new Uint8Array(items.length);
  for (const [at, item] of items.entries()) {
    if (isChange(item)) isNear.fill(1, Math.max(0, at - context), at + context + 1);
  }
  const folded: (T | number)[] = [];
  for (const [at, item] of items.entries()) {
    const last = folded.at(-1);
    if (isNear[at]) folded.push(item);
    else if (typeof last === "number") folded[folded.length - 1] = last + 1;
    else folded.push(1);
  }
  return folded;
}

/** Lengths of the common subsequences from each pair of places on; null: there are too many. */
function measureCommon(a: readonly string[], b: readonly string[]): Uint32Array[] | null {
  if (a.length * b.length > CELLS_MAX) return null;
  const rows = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const [row, next] = [rows[i]!, rows[i + 1]!];
      row[j] = a[i] === b[j] ? next[j + 1]! + 1 : Math.max(next[j]!, row[j + 1]!);
    }
  }
  return rows;
}
