// The difference of two texts by line: pure, and bounded for texts of any length.

export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

/** Pairs of lines above which the middle is shown as replaced: more would hold up the page. */
const PAIRS_MAX = 4_000_000;

export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.split("\n");
  const fresh = after.split("\n");
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++;
  let tail = 0;
  const most = Math.min(old.length, fresh.length) - start;
  while (tail < most && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  const same = (lines: readonly string[]) =>
    lines.map((text): DiffLine => ({ kind: "same", text }));
  return [
    ...same(old.slice(0, start)),
    ...diffMiddle(old.slice(start, old.length - tail), fresh.slice(start, fresh.length - tail)),
    ...same(old.slice(old.length - tail)),
  ];
}

function diffMiddle(old: readonly string[], fresh: readonly string[]): DiffLine[] {
  const isSmall = (old.length + 1) * (fresh.length + 1) <= PAIRS_MAX;
  const lengths = isSmall ? measureCommon(old, fresh) : null;
  const width = fresh.length + 1;
  const found: DiffLine[] = [];
  let at = 0;
  let to = 0;
  while (at < old.length || to < fresh.length) {
    const isCommon = lengths && at < old.length && to < fresh.length && old[at] === fresh[to];
    if (isCommon) {
      found.push({ kind: "same", text: old[at++]! });
      to++;
      continue;
    }
    const below = lengths?.[(at + 1) * width + to] ?? 0;
    const isRemoved =
      at < old.length && (to >= fresh.length || !lengths || below >= lengths[at * width + to + 1]!);
    if (isRemoved) found.push({ kind: "removed", text: old[at++]! });
    else found.push({ kind: "added", text: fresh[to++]! });
  }
  return found;
}

/** Length of the longest common subsequence behind each pair of positions. */
function measureCommon(old: readonly string[], fresh: readonly string[]): Uint32Array {
  const width = fresh.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let at = old.length - 1; at >= 0; at--) {
    for (let to = fresh.length - 1; to >= 0; to--) {
      const next = (at + 1) * width + to;
      lengths[at * width + to] =
        old[at] === fresh[to]
          ? lengths[next + 1]! + 1
          : Math.max(lengths[next]!, lengths[at * width + to + 1]!);
    }
  }
  return lengths;
}
