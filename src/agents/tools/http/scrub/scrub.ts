// Takes a connection's secret out of what came back, in whatever form it was said again.
import { nextTurn } from "../../../../platform/clock.ts";
import { listNeedles, type Needle } from "./needle.ts";
import { openView, unescapeView, type View } from "./view.ts";

/** What stands where the secret stood. */
const REMOVED = "[secret]";

/** Texts in texts in texts: so often a text is unescaped. */
const DEPTH_MAX = 3;
/** Every escape is shorter: within so many characters of a cut one may have been cut in half. */
const ESCAPE_CHARACTERS_MAX = 12;
const ESCAPE_STARTS = /[%\\&]/;

/** Behind each look through so long a text, some milliseconds, the others have their turn. */
const TURN_CHARACTERS = 64 * 1024;

type Range = readonly [from: number, to: number];

/**
 * The text without the secret. `isCut`: it ends where it was cut, perhaps in the middle of the
 * secret. The time is linear in the text's length, whoever wrote it.
 */
export async function scrub(text: string, secret: string, isCut: boolean): Promise<string> {
  const needles = listNeedles(secret);
  let kept = isCut ? dropHalfEscape(text) : text;
  const found: Range[] = [];
  let view: View | null = openView(kept);
  for (let depth = 0; view !== null && depth <= DEPTH_MAX; depth++) {
    for (const needle of needles) {
      const halfFrom = findAll(view, needle, found);
      if (isCut) kept = kept.slice(0, halfFrom);
      if (text.length > TURN_CHARACTERS) await nextTurn();
    }
    view = unescapeView(view);
  }
  return found.length === 0 ? kept : removeRanges(kept, found);
}

/**
 * After Knuth, Morris and Pratt. Adds where the needle stands, and tells where the beginning of
 * one stands at the very end; there is none: the end.
 */
function findAll({ units, starts }: View, needle: Needle, found: Range[]): number {
  const { pattern, fallback, fold, skipsLineBreaks, standsAlone } = needle;
  let taken = 0;
  // Line breaks inside the match; some may lie in front of it, and then go with it.
  let skipped = 0;
  for (let at = 0; at < units.length; at++) {
    const unit = units[at]!;
    if (skipsLineBreaks && (unit === 10 || unit === 13)) {
      if (taken > 0) skipped++;
      continue;
    }
    const folded = unit < 128 ? fold[unit]! : 0;
    while (taken > 0 && pattern[taken] !== folded) taken = fallback[taken - 1]!;
    if (pattern[taken] === folded) taken++;
    else skipped = 0;
    if (taken === pattern.length) {
      const begin = at + 1 - taken - skipped;
      if (!standsAlone || (isApart(units[begin - 1]) && isApart(units[at + 1]))) {
        found.push([starts[begin]!, starts[at + 1]!]);
      }
      taken = fallback[taken - 1]!;
    }
  }
  return starts[standsAlone ? units.length : units.length - taken - (taken > 0 ? skipped : 0)]!;
}

/** No letter or digit; undefined: there is nothing. */
function isApart(unit: number | undefined): boolean {
  return unit === undefined || !/^[\p{L}\p{N}]/u.test(String.fromCharCode(unit));
}

/** What an escape that was cut in half says is read by nobody. */
function dropHalfEscape(text: string): string {
  const from = Math.max(0, text.length - ESCAPE_CHARACTERS_MAX);
  const at = text.slice(from).search(ESCAPE_STARTS);
  return at === -1 ? text : text.slice(0, from + at);
}

function removeRanges(text: string, found: Range[]): string {
  found.sort(([one], [other]) => one - other);
  let rest = "";
  let end = 0;
  for (const [from, to] of found) {
    if (from >= text.length) break;
    // Of those that overlap the first one has said it.
    if (from >= end) rest += text.slice(end, from) + REMOVED;
    end = Math.max(end, to);
  }
  return rest + text.slice(end);
}
