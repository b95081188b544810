// Finds the known name that a misspelt one probably means.

const NAME_LENGTH_MAX = 64;

export function findNearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > NAME_LENGTH_MAX) return undefined;
  // One slip per three letters, at most three: "prot" is "port", but "tls" is not "url".
  const slipsMax = name.length < 2 ? 0 : Math.min(3, Math.max(1, Math.floor(name.length / 3)));
  let closest = slipsMax + 1;
  let nearest: string | undefined;
  for (const candidate of known) {
    const slips = countSlips(name.toLowerCase(), candidate.toLowerCase());
    if (slips < closest) {
      closest = slips;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Counts letters that were added, left out, changed or swapped with their neighbour. */
function countSlips(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let slips = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        slips = Math.min(slips, before[j - 2]! + 1);
      }
      row.push(slips);
    }
    before = above;
    above = row;
  }
  return above[b.length]!;
}
