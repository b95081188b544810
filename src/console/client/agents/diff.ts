// The difference of two texts by line, bounded for texts of any length.
import { pairLists } from "../../../platform/list-diff.ts";

export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

export function diffLines(before: string, after: string): DiffLine[] {
  const pairs = pairLists(before.split("\n"), after.split("\n"), (line) => line);
  return pairs.map(([one, other]): DiffLine => {
    if (one === undefined) return { kind: "added", text: other! };
    return { kind: other === undefined ? "removed" : "same", text: one };
  });
}
