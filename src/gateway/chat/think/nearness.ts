// How much of their words texts share: a cheap measure of what is said by most of them.

/** So many words of a text are read, and so many different ones count. */
const WORDS_READ_MAX = 20_000;
const WORDS_MAX = 2_000;

/** Chinese and Japanese part no words: each of their letters counts as one. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}]{1,64}/gu;

/** Of each text how near it is to all the others. */
export function measureNearness(texts: readonly string[]): number[] {
  const sets = texts.map(listWords);
  return sets.map((words, i) => {
    let sum = 0;
    for (const [j, others] of sets.entries()) if (j !== i) sum += compare(words, others);
    return sum;
  });
}

function listWords(text: string): Set<string> {
  const words = new Set<string>();
  let read = 0;
  for (const [word] of text.matchAll(WORD)) {
    words.add(word.toLowerCase());
    if (++read === WORDS_READ_MAX || words.size === WORDS_MAX) break;
  }
  return words;
}

/** The share of the words of either that stand in both. */
function compare(one: Set<string>, other: Set<string>): number {
  const both = one.intersection(other).size;
  const all = one.size + other.size - both;
  return all === 0 ? 1 : both / all;
}
