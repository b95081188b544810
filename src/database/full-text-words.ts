// The words of a text as they are compared: without case, accents and vowel signs, and in pieces
// where a script puts no spaces between them.

/** Scripts without spaces between words: there, every two letters side by side count as one. */
const UNSPACED =
  "\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}";
const SPACED = `(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}]`;
const RUN = new RegExp(`[${UNSPACED}]+|(?:${SPACED})+`, "gu");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");

const ASCII = /^[\0-\x7f]*$/;
/** Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs and tatweel of Arabic. */
const MARKS = new RegExp(
  "[\\u0300-\\u036f\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7" +
    "\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e8\\u06ea-\\u06ed]",
  "g",
);
/** Letters that writers of Arabic take for one another, and two more rows of digits. */
const ALIKE = /[\u0629\u0649\u0671\u06a9\u06cc\u0660-\u0669\u06f0-\u06f9]/g;
const LETTERS: Readonly<Record<string, string>> = {
  "\u0629": "\u0647",
  "\u0649": "\u064a",
  "\u0671": "\u0627",
  "\u06a9": "\u0643",
  "\u06cc": "\u064a",
};
/** The Arabic article, with what is written in one with it, before a word of three letters. */
const ARTICLE = /^[\u0648\u0641]?(?:[\u0628\u0643]?\u0627\u0644|\u0644\u0644)(?=\p{L}{3})/u;

/** Words with which people ask rather than what they ask for. */
const ASKING = new Set(
  (
    "a an and are as at be by can could do does for from how i in is it me my of on or should " +
    "that the there this to was we what when where which who why will with you your " +
    "في من على الي عن ما ماذا هل كيف اين متي هو هي هذا هذه و او ان"
  ).split(" "),
);

export interface Run {
  at: number;
  text: string;
  /** It is of a script that puts no spaces between words. */
  isUnspaced: boolean;
}

/** Letters and digits that stand together, as they are in the text. */
export function* findRuns(text: string): Generator<Run> {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    yield { at: index, text: run, isUnspaced: IS_UNSPACED.test(run) };
  }
}

/** A run as it is compared. */
export function foldRun(run: string): string {
  if (ASCII.test(run)) return run.toLowerCase();
  const bare = run.normalize("NFKD").replace(MARKS, "").normalize("NFC").toLowerCase();
  const alike = bare.replace(
    ALIKE,
    (letter) => LETTERS[letter] ?? String(letter.charCodeAt(0) & 0xf),
  );
  return alike.replace(ARTICLE, "");
}

/** What the index is given of a text, in which words stand apart. */
export function writeForIndex(text: string): string {
  // The tokenizer finds the words of plain ASCII by itself.
  if (ASCII.test(text)) return text;
  const words: string[] = [];
  for (const { text: run, isUnspaced } of findRuns(text)) {
    const folded = foldRun(run);
    if (isUnspaced) words.push(...pair(folded), [...folded].at(-1) ?? "");
    else words.push(folded);
  }
  return words.join(" ");
}

export interface Word {
  text: string;
  /** A single letter of an unspaced script: it stands for all that begins with it. */
  isStart: boolean;
}

/** The different words that a query asks for, the first ones of too many. */
export function listWords(query: string, wordsMax: number): Word[] {
  const words = listAllWords(query, wordsMax);
  const telling = words.filter(({ text }) => !ASKING.has(text));
  return telling.length > 0 ? telling : words;
}

function listAllWords(query: string, wordsMax: number): Word[] {
  const found = new Map<string, Word>();
  for (const { text: run, isUnspaced } of findRuns(query)) {
    const folded = foldRun(run);
    const pairs = isUnspaced ? pair(folded) : [];
    for (const text of pairs.length > 0 ? pairs : [folded]) {
      if (found.size === wordsMax) return [...found.values()];
      if (text !== "") found.set(text, { text, isStart: isUnspaced && pairs.length === 0 });
    }
  }
  return [...found.values()];
}

/** Every two letters that stand side by side. */
function pair(run: string): string[] {
  const letters = [...run];
  return letters.slice(1).map((letter, at) => letters[at]! + letter);
}
