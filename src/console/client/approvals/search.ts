// Exact search of values in long texts, in time that grows with their length only: texts of
// strangers could make the browser's own search take minutes.

/** A value as texts may hold it: as it is, and inside JSON. */
export function listForms(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const inAscii = inJson.replaceAll(/[^\x20-\x7e]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return [...new Set([value, inJson, inAscii])];
}

export interface Match {
  start: number;
  end: number;
}

/** Finds the first place of one of the forms. */
export function findText(text: string, forms: readonly string[], from = 0): Match | null {
  let first: Match | null = null;
  for (const form of forms) {
    const start = findForm(text, form, from);
    if (start !== -1 && (first === null || start < first.start)) {
      first = { start, end: start + form.length };
    }
  }
  return first;
}

/** Knuth, Morris and Pratt: no character of the text is looked at twice. */
function findForm(text: string, form: string, from: number): number {
  if (form.length === 0 || form.length > text.length - from) return -1;
  const borders = findBorders(form);
  let matched = 0;
  for (let at = from; at < text.length; at++) {
    // The browser finds a single character faster.
    if (matched === 0) at = text.indexOf(form[0]!, at);
    if (at === -1) return -1;
    const unit = text.charCodeAt(at);
    while (matched > 0 && form.charCodeAt(matched) !== unit) matched = borders[matched - 1]!;
    if (form.charCodeAt(matched) === unit) matched++;
    if (matched === form.length) return at - matched + 1;
  }
  return -1;
}

/** Length of the longest proper prefix that is also a suffix, of each prefix. */
function findBorders(form: string): Int32Array {
  const borders = new Int32Array(form.length);
  let length = 0;
  for (let at = 1; at < form.length; at++) {
    while (length > 0 && form[at] !== form[length]) length = borders[length - 1]!;
    if (form[at] === form[length]) length++;
    borders[at] = length;
  }
  return borders;
}

export interface Excerpt {
  parts: { text: string; isMark: boolean }[];
  isBegin: boolean;
  isEnd: boolean;
}

const AROUND_CHARACTERS = 140;
/** Maximum characters of a marked value; a longer one is cut. */
const MARK_CHARACTERS_MAX = 200;

/** Cuts the part around a value out of a text, with each value in it marked. */
export function cutExcerpt(
  text: string,
  match: Match,
  values: readonly (readonly string[])[],
): Excerpt {
  const end = Math.min(match.end, match.start + MARK_CHARACTERS_MAX);
  const from = moveOut(text, Math.max(0, match.start - AROUND_CHARACTERS));
  const to = moveOut(text, Math.min(text.length, end + AROUND_CHARACTERS));
  const parts = markAll(text.slice(from, to), [...values, [text.slice(match.start, end)]]);
  return { parts, isBegin: from === 0, isEnd: to === text.length };
}

/** Does not cut a character in halves. */
function moveOut(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}

function markAll(text: string, values: readonly (readonly string[])[]): Excerpt["parts"] {
  const marked = new Uint8Array(text.length);
  for (const forms of values) {
    for (let match = findText(text, forms); match; match = findText(text, forms, match.end)) {
      marked.fill(1, match.start, match.end);
    }
  }
  const parts: Excerpt["parts"] = [];
  let from = 0;
  for (let at = 1; at <= text.length; at++) {
    if (at < text.length && marked[at] === marked[from]) continue;
    parts.push({ text: text.slice(from, at), isMark: marked[from] === 1 });
    from = at;
  }
  return parts;
}
