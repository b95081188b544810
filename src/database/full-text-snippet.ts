// Cuts the piece out of a text in which most of a query's words stand close together.
import { findRuns, foldRun, type Word } from "./full-text-words.ts";

const CHARACTERS_MAX = 240;
/** What is shown in front of the first word that was found. */
const LEAD_CHARACTERS = 40;
/** Words that differ by no longer an ending are taken for one another: `limit`, `limits`. */
const ENDING_MAX = 3;
const START_CHARACTERS = 3;

interface Place {
  at: number;
  end: number;
  word: Word;
}

/** In one line; without any of the words it is the text's beginning. */
export function cutSnippet(text: string, words: readonly Word[]): string {
  const start = chooseStart(listPlaces(text, words));
  const from = start === 0 ? 0 : moveToWord(text, start);
  let until = from + CHARACTERS_MAX;
  if (until < text.length) {
    const gap = text.lastIndexOf(" ", until);
    if (gap > until - LEAD_CHARACTERS) until = gap;
  }
  const piece = text.slice(from, until).toWellFormed().replace("\ufffd", "");
  const line = piece.replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${until < text.length ? "…" : ""}`;
}

/** Where in the text each word stands. */
function listPlaces(text: string, words: readonly Word[]): Place[] {
  const spaced = new Map<string, Word[]>();
  for (const word of words) {
    const start = word.text.slice(0, START_CHARACTERS);
    spaced.set(start, [...(spaced.get(start) ?? []), word]);
  }
  const places: Place[] = [];
  for (const { at, text: run, isUnspaced } of findRuns(text)) {
    if (isUnspaced) {
      for (const word of words) {
        const inside = run.indexOf(word.text);
        if (inside === -1) continue;
        places.push({ at: at + inside, end: at + inside + word.text.length, word });
      }
      continue;
    }
    const folded = foldRun(run);
    const near = spaced.get(folded.slice(0, START_CHARACTERS));
    const word = near?.find((one) => isAlike(one.text, folded));
    if (word) places.push({ at, end: at + run.length, word });
  }
  return places.sort((a, b) => a.at - b.at);
}

function isAlike(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return (
    short.length >= START_CHARACTERS &&
    long.length - short.length <= ENDING_MAX &&
    long.startsWith(short)
  );
}

/** The beginning of the first piece with the most different words in it. */
function chooseStart(places: readonly Place[]): number {
  const counts = new Map<Word, number>();
  let best = { words: 0, at: 0 };
  let first = 0;
  for (const [last, { end, word }] of places.entries()) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
    while (first < last && end - places[first]!.at > CHARACTERS_MAX - LEAD_CHARACTERS) {
      const left = places[first++]!.word;
      const count = counts.get(left)! - 1;
      if (count === 0) counts.delete(left);
      else counts.set(left, count);
    }
    if (counts.size > best.words) best = { words: counts.size, at: places[first]!.at };
  }
  return Math.max(0, best.at - LEAD_CHARACTERS);
}

/** The beginning of the next word, where one begins soon. */
function moveToWord(text: string, from: number): number {
  const gap = text.indexOf(" ", from);
  return gap === -1 || gap >= from + LEAD_CHARACTERS ? from : gap + 1;
}
