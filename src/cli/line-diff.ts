// The difference of two texts as people see it, line by line and without control characters.
import { foldUnchanged, type Pair, pairLists } from "../platform/list-diff.ts";
import { escapeHidden } from "./output.ts";

/** Unchanged lines that stay before and after a change. */
const CONTEXT = 3;
const LINES_MAX = 400;

/** Draws lines of both as `    a`, of the first only as `  - a`, of the other only as `  + a`. */
export function drawLineDiff(before: string, after: string): string {
  const pairs = pairLists(before.split("\n"), after.split("\n"), (line) => line);
  const lines = foldUnchanged(pairs, isChange, CONTEXT);
  const left = lines.length - LINES_MAX;
  const shown = lines.slice(0, LINES_MAX).map(drawLine).join("");
  return left > 0 ? `${shown}  … ${countLines(left, "more")}, which --json shows\n` : shown;
}

const isChange = ([one, other]: Pair<string>) => one === undefined || other === undefined;

const countLines = (count: number, which: string) =>
  `${count} ${which} ${count === 1 ? "line" : "lines"}`;

function drawLine(line: Pair<string> | number): string {
  if (typeof line === "number") return `  … ${countLines(line, "unchanged")}\n`;
  const [one, other] = line;
  const mark = one === undefined ? "+" : other === undefined ? "-" : " ";
  return `  ${mark} ${escapeHidden(one ?? other ?? "")}\n`;
}
