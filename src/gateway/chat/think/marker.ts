// Where the answer stands in the text of an attempt: behind its last marker, else in its last line.

/** Lines that are nothing but signs are passed over, but not for ever. */
const LINES_MAX = 50;

/** `Answer:`, `**Final answer**:`, `The answer is:`, `الإجابة:`, `الجواب النهائي:`. */
const LABEL = new RegExp(
  "(?<![\\p{L}\\p{N}])(?:answer(?: is)?|(?:ال[إا]جابة|الجواب)(?: [\\u0621-\\u064a]{1,12})?)" +
    "[ \\t\"'*_`]{0,6}[:：]",
  "giu",
);
/** A line that only says that the answer comes: `### Final Answer`, `**Answer**`. */
const HEADING = new RegExp(
  "^[ \\t#>*_]{0,12}(?:(?:the )?(?:final )?answer|(?:ال[إا]جابة|الجواب)(?: النهائية?)?)" +
    "[ \\t*_:：\\r]{0,6}$",
  "gimu",
);
const BOX = /\\boxed[ \t]{0,4}\{/y;
/** `x = \boxed{2} \text{ or } x = \boxed{3}` is one answer, of so many boxes at most. */
const BOXES_MAX = 20;
const LISTING = new RegExp(
  "^[\\s$\\\\]{0,9}(?:[,;&]|(?:\\\\text\\{)?\\s?(?:and|or)\\s?\\}?)" +
    "[\\s$\\\\]{0,9}(?:(?:and|or)\\s)?[\\s$]{0,4}(?:[a-z](?:_\\d)?\\s?=)?[\\s$\\\\]{0,4}$",
  "i",
);
const LISTING_MAX = 50;
const HASHES = /(?<!#)####(?!#)([^\n]*)/g;
const DECORATION = /^[\s*_"'`>]*$/;
/** What a list or a quotation puts in front of a line. */
const BULLET = /^[ \t>]{0,12}(?:[-*+•][ \t]+)?/;

interface Marked {
  at: number;
  answer: string;
}

/** What may be the answer, the likeliest first; some of it may say nothing. */
export function* listAnswers(text: string): Generator<string> {
  const marked = [findBoxed(text), findLabelled(text, LABEL), findLabelled(text, HEADING)];
  marked.push(findHashes(text));
  const found = marked.filter((one) => one !== null).sort((one, other) => other.at - one.at);
  for (const { answer } of found) yield answer;
  yield* listLastLines(text);
}

/**
 * What stands in the braces of the last `\boxed{}`, and of those that it is listed with; one that
 * was cut short has no end.
 */
function findBoxed(text: string): Marked | null {
  const answers: string[] = [];
  let last = -1;
  /** Where the one behind it begins. */
  let next = -1;
  for (let at = text.lastIndexOf("\\boxed"); at >= 0; at = findBefore(text, at)) {
    BOX.lastIndex = at;
    if (!BOX.test(text)) continue;
    const start = BOX.lastIndex;
    const end = findBraceEnd(text, start);
    if (next === -1) last = at;
    else if (next - end > LISTING_MAX || !LISTING.test(text.slice(end + 1, next))) break;
    answers.unshift(text.slice(start, end));
    next = at;
    if (answers.length === BOXES_MAX) break;
  }
  return last === -1 ? null : { at: last, answer: answers.join(", ") };
}

function findBefore(text: string, at: number): number {
  return at === 0 ? -1 : text.lastIndexOf("\\boxed", at - 1);
}

function findBraceEnd(text: string, start: number): number {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    const letter = text[at];
    if (letter === "\\") at++;
    else if (letter === "{") depth++;
    else if (letter === "}" && --depth === 0) return at;
  }
  return text.length;
}

/** What follows on the same line; where nothing does, the paragraph below. */
function findLabelled(text: string, label: RegExp): Marked | null {
  let last: RegExpExecArray | null = null;
  for (const match of text.matchAll(label)) last = match;
  if (!last) return null;
  const start = last.index + last[0].length;
  const line = text.slice(start, findLineEnd(text, start));
  const answer = DECORATION.test(line) ? readParagraph(text, start + line.length) : line;
  return { at: last.index, answer };
}

/** The lines from here to the next empty one, without bullets. */
function readParagraph(text: string, from: number): string {
  const lines: string[] = [];
  for (let at = from + 1; at < text.length; ) {
    const end = findLineEnd(text, at);
    const line = text.slice(at, end);
    if (!DECORATION.test(line)) lines.push(line.replace(BULLET, ""));
    else if (lines.length > 0) break;
    at = end + 1;
  }
  return lines.join("\n");
}

/**
 * `#### 42`. In Markdown it opens a heading as well: so it counts at the end of the text, and
 * before that only in front of a bare number.
 */
function findHashes(text: string): Marked | null {
  let last: Marked | null = null;
  const end = text.trimEnd().length;
  for (const match of text.matchAll(HASHES)) {
    const answer = match[1]!;
    const isBare = /\p{N}/u.test(answer) && !/\p{L}/u.test(answer);
    if (isBare || match.index + match[0].length >= end) last = { at: match.index, answer };
  }
  return last;
}

function* listLastLines(text: string): Generator<string> {
  let end = text.length;
  for (let count = 0; count < LINES_MAX && end >= 0; count++) {
    const start = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
    const line = text.slice(start, end);
    if (line.search(HEADING) === -1) yield line.replace(BULLET, "");
    end = start - 1;
  }
}

function findLineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}
