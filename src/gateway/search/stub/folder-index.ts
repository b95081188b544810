// Brings the index of a folder's pages to what the files are now, a little in each turn.

import { type FullText, type FullTextMark, PART_CHARACTERS_MAX } from "../../../database/index.ts";
import { nextTurn } from "../../../platform/clock.ts";
import { readLink } from "../hits.ts";
import { type FolderFile, listFiles, readText } from "./folder.ts";
import { readMarkdown } from "./markdown.ts";

/** Reserved by RFC 2606: nobody can be asked for a page of it. */
export const SITE = "https://search.example/";
/** What is put into the index, or read for it, in one turn: some ten milliseconds. */
const TURN_CHARACTERS = 32_768;
const TURN_FILES = 32;
/** Files whose text is read at once. */
const READS_MAX = 8;
/** Of all pages together: the index lies in memory, and takes about three times as much. */
const CHARACTERS_MAX = 268_435_456;

export interface FolderIndex {
  /** Takes in what is new or has changed, takes out what has gone; `false` ends it early. */
  update(mayGoOn: () => boolean): Promise<Update>;
}

export interface Update {
  /** Every file was looked at. */
  isWhole: boolean;
  /** Files and folders that could not be read, are too large, or too many. */
  leftOut: number;
}

interface Known {
  stamp: string;
  mark: FullTextMark;
  characters: number;
}

interface Part {
  mark: FullTextMark;
  text: string;
}

export function createFolderIndex(folder: string, index: FullText): FolderIndex {
  const known = new Map<string, Known>();
  let characters = 0;
  let waiting: Part[] = [];
  let waitingCharacters = 0;
  let waitingFiles = 0;
  /** Also of files without a word, which take their time too. */
  let readCharacters = 0;

  const forget = (path: string) => {
    const page = known.get(path);
    if (!page) return;
    index.write(() => index.remove(page.mark));
    characters -= page.characters;
    known.delete(path);
  };
  const flush = async () => {
    const parts = waiting;
    waiting = [];
    waitingCharacters = 0;
    waitingFiles = 0;
    readCharacters = 0;
    index.write(() => {
      for (const { mark, text } of parts) index.addPart(mark, text);
    });
    await nextTurn();
  };
  /** False: nobody could be given its link, so that it would never be found. */
  const take = async (file: FolderFile, text: string): Promise<boolean> => {
    const page = readMarkdown(text);
    const url = page.url ?? linkOf(file.path);
    if (!url) return false;
    const title = page.title ?? nameOf(file.path);
    const mark = index.addPage({ title, url, language: page.language });
    const noted: Known = { stamp: file.stamp, mark, characters: 0 };
    known.set(file.path, noted);
    for (const part of cutParts(page.lines)) {
      waiting.push({ mark, text: part });
      waitingCharacters += part.length;
      noted.characters += part.length;
      characters += part.length;
      if (waitingCharacters >= TURN_CHARACTERS) await flush();
    }
    waitingFiles += 1;
    readCharacters += text.length;
    if (waitingFiles >= TURN_FILES || readCharacters >= TURN_CHARACTERS) await flush();
    return true;
  };
  return {
    async update(mayGoOn) {
      const { files, leftOut, isCut } = await listFiles(folder);
      const sights = new Map(files.map((file) => [file.path, file]));
      for (const [at, path] of [...known.keys()].entries()) {
        if (!sights.has(path)) forget(path);
        if (at % TURN_FILES === 0) await nextTurn();
      }
      const fresh = files.filter(({ path, stamp }) => known.get(path)?.stamp !== stamp);
      let missed = leftOut + (isCut ? 1 : 0);
      let isWhole = true;
      for (let at = 0; at < fresh.length && isWhole; at += READS_MAX) {
        if (characters >= CHARACTERS_MAX) {
          missed += fresh.length - at;
          break;
        }
        const some = fresh.slice(at, at + READS_MAX);
        const texts = await Promise.all(some.map(readText));
        for (const [nth, file] of some.entries()) {
          const text = texts[nth];
          forget(file.path);
          if (typeof text !== "string" || !(await take(file, text))) missed += 1;
        }
        isWhole = mayGoOn();
      }
      await flush();
      return { isWhole, leftOut: missed };
    },
  };
}

/** Lines in pieces that the index takes; a page without a word still has one. */
function* cutParts(lines: Iterable<string>): Generator<string> {
  let part = "";
  let isFirst = true;
  for (const line of lines) {
    if (part !== "" && part.length + 1 + line.length > PART_CHARACTERS_MAX) {
      yield part;
      isFirst = false;
      part = "";
    }
    part += part === "" ? line : `\n${line}`;
  }
  if (isFirst || part !== "") yield part;
}

function nameOf(path: string): string {
  return cutEnding(path.slice(path.lastIndexOf("/") + 1));
}

/** null: it is too long for one. */
function linkOf(path: string): string | null {
  const names = cutEnding(path).split("/");
  const link = SITE + names.map((name) => encodeURIComponent(name.toWellFormed())).join("/");
  return readLink(link)?.href ?? null;
}

function cutEnding(name: string): string {
  return name.slice(0, name.lastIndexOf("."));
}
