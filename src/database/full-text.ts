// An index of texts in memory, through SQLite's FTS5: pages go in by parts, and the best come out.
import { Database as Connection } from "bun:sqlite";
import { cutSnippet } from "./full-text-snippet.ts";
import { listWords, type Word, writeForIndex } from "./full-text-words.ts";

const WORDS_MAX = 32;
const QUERY_CHARACTERS_MAX = 1_000;
/** A word in the title says more of a page than one in its text. */
const TITLE_WEIGHT = 5;
/**
 * To rank a part costs about a microsecond in which nobody else is served: where a query's words
 * stand in more parts than these, its most frequent words, which say the least, are left out.
 */
const RANKED_MAX = 2_000;
/** A word in more parts than these is as frequent as any other. */
const COUNTED_MAX = 10_000;
/** What a part's text is at most: a snippet is looked for in all of it. */
export const PART_CHARACTERS_MAX = 16_384;

export interface FullTextPage {
  title: string;
  url: string;
  /** Two small letters; null: it is found whatever language is asked for. */
  language: string | null;
}

/** A page of the index: by it parts are added, and the page is taken out. */
export interface FullTextMark {
  number: number;
  title: string;
}

export interface FullTextQuery {
  limit: number;
  /** null: any. */
  language: string | null;
}

export interface FullTextResult {
  title: string;
  url: string;
  /** One line of the text. */
  snippet: string;
}

export interface FullText {
  /** Does all in one transaction, which is much cheaper than each by itself. */
  write<R>(work: () => R): R;
  addPage(page: FullTextPage): FullTextMark;
  /** At most `PART_CHARACTERS_MAX` of a page's text. */
  addPart(page: FullTextMark, text: string): void;
  remove(page: FullTextMark): void;
  /**
   * The best page first, of those with one url the best. The query is anybody's text: no character
   * in it has a meaning.
   */
  search(query: string, wish: FullTextQuery): FullTextResult[];
  count(): number;
  close(): void;
}

interface PageRow {
  title: string;
  url: string;
  text: string;
}

export function createFullText(): FullText {
  const connection = new Connection(":memory:", { create: true, strict: true });
  connection.run(
    "CREATE TABLE pages (number INTEGER PRIMARY KEY, title TEXT, url TEXT, language TEXT)",
  );
  connection.run("CREATE TABLE parts (number INTEGER PRIMARY KEY, page INTEGER, text TEXT)");
  connection.run("CREATE INDEX parts_of_page ON parts (page)");
  // What it is given is folded already, and not what is shown: so it keeps no texts of its own.
  connection.run(
    `CREATE VIRTUAL TABLE words USING fts5(title, text, content = '', contentless_delete = 1,
     tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'")`,
  );
  const addPage = connection.query("INSERT INTO pages (title, url, language) VALUES (?, ?, ?)");
  const addPart = connection.query("INSERT INTO parts (page, text) VALUES (?, ?)");
  const addWords = connection.query("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)");
  const removeWords = connection.query(
    "DELETE FROM words WHERE rowid IN (SELECT number FROM parts WHERE page = ?)",
  );
  const removeParts = connection.query("DELETE FROM parts WHERE page = ?");
  const removePage = connection.query("DELETE FROM pages WHERE number = ?");
  const countPages = connection.query<{ count: number }, []>("SELECT count(*) count FROM pages");
  const countParts = connection.query<{ count: number }, [string]>(
    `SELECT count(*) count FROM
     (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${COUNTED_MAX})`,
  );
  // Of each link its best part, for pages may name the same one; the texts are touched of those
  // only that are wanted.
  const findPages = connection.query<PageRow, [string, string | null, number]>(
    `SELECT title, url, parts.text FROM
     (SELECT pages.title, url, parts.number, min(words.rank) best
      FROM words JOIN parts ON parts.number = words.rowid JOIN pages ON pages.number = parts.page
      WHERE words MATCH ?1 AND words.rank MATCH 'bm25(${TITLE_WEIGHT}.0, 1.0)'
      AND (?2 IS NULL OR language IS NULL OR language = ?2)
      GROUP BY pages.url ORDER BY best, pages.number LIMIT ?3) found
     JOIN parts ON parts.number = found.number ORDER BY best, found.number`,
  );

  /** The rarest words first, for as long as what they stand in can be ranked in a moment. */
  const chooseWords = (words: readonly Word[]): string => {
    const counted = words
      .map(writeMatch)
      .map((match) => ({ match, count: countParts.get(match)?.count ?? 0 }))
      .sort((a, b) => a.count - b.count);
    let ranked = 0;
    const chosen = counted.filter(({ count }) => {
      const isFirst = ranked === 0;
      ranked += count;
      return isFirst || ranked <= RANKED_MAX;
    });
    return chosen.map(({ match }) => match).join(" OR ");
  };
  return {
    write: (work) => connection.transaction(work)(),
    addPage({ title, url, language }) {
      const { lastInsertRowid } = addPage.run(title, url, language);
      return { number: Number(lastInsertRowid), title };
    },
    addPart({ number, title }, text) {
      const { lastInsertRowid } = addPart.run(number, text);
      addWords.run(lastInsertRowid, writeForIndex(title), writeForIndex(text));
    },
    remove({ number }) {
      removeWords.run(number);
      removeParts.run(number);
      removePage.run(number);
    },
    search(query, { limit, language }) {
      const words = listWords(query.slice(0, QUERY_CHARACTERS_MAX), WORDS_MAX);
      if (words.length === 0) return [];
      const rows = findPages.all(chooseWords(words), language, limit);
      return rows.map(({ title, url, text }) => ({ title, url, snippet: cutSnippet(text, words) }));
    },
    count: () => countPages.get()?.count ?? 0,
    close: () => connection.close(),
  };
}

/** A word has no other characters than letters and digits, and in quotes none has a meaning. */
function writeMatch({ text, isStart }: Word): string {
  const quoted = `"${text.replaceAll('"', '""')}"`;
  return isStart ? `${quoted}*` : quoted;
}
