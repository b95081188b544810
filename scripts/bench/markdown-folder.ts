// Makes a folder of Markdown files for searches, always with the same files and words.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const WORDS = 20_000;
const FOLDERS = 100;
const SECTIONS = 6;
const SYLLABLES = "ka lo mi ter sun ra ve no chi dal por en us gri tha wo".split(" ");

/** The same numbers from 0 to 1 every time. */
const createDice = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};

/** Writes the files; returns queries with frequent and rare words of theirs. */
export const makeMarkdown = (folder: string, files: number, queries: number): string[] => {
  const roll = createDice(1);
  const pick = (count: number) => Math.floor(roll() * count);
  const list = <T>(length: number, make: () => T) => Array.from({ length }, make);
  const vocabulary = list(WORDS, () =>
    list(2 + pick(3), () => SYLLABLES[pick(SYLLABLES.length)]).join(""),
  );
  // Few words are frequent and most are rare, as in any language.
  const write = (count: number) =>
    list(count, () => vocabulary[Math.floor(WORDS * roll() ** 3)]).join(" ");
  const writeSection = () =>
    `## ${write(3)}\n\n${write(60)}, [${write(2)}](https://a.example/x) and **${write(1)}**.\n\n` +
    `- ${write(8)}\n- \`${write(1)}\`\n`;
  for (let at = 0; at < files; at++) {
    const inside = join(folder, String(at % FOLDERS));
    mkdirSync(inside, { recursive: true });
    const text = [`# ${write(4)}\n`, ...list(SECTIONS, writeSection)].join("\n");
    writeFileSync(join(inside, `page-${at}.md`), text);
  }
  return list(queries, () => write(3));
};
